"""May bf16 stand for TF32? Judges runs that were made on a GPU; trains nothing.

    python benchmarks/make_runs.py gate --precision tf32 --store STORE --budget 9m     # 24 runs
    python benchmarks/make_runs.py gate --precision bf16 --store STORE --budget 9m     # 24 runs
    python benchmarks/gate.py benchmarks/results/runs/gate.json   # or a store, or archives; several are fine

The rule, written before the runs were made
-------------------------------------------
*Runs.* CIFAR-10H, the published recipe; soft and multipass, with 5 votes an item (drawn as published) and with all;
seeds 100 to 105, each in TF32 and in bf16. The evaluation items pick the best epoch, as published.

*Cells.* For each of the four (method, votes), at the best and at the last epoch, for each metric with a margin of the
protocol (soft NLL .025, KL .025, accuracy .01, soft Brier .01, entropy correlation .02): bf16 minus TF32 over the
paired seeds is

- **within**, if the 90 % interval of the equivalence test (two one-sided t-tests at 5 %) lies inside the margin;
- **outside**, if the mean is beyond the margin, or a run has diverged;
- **undecided (more seeds)** otherwise.

*Contrasts.* For 5 votes and for all, soft minus multipass in soft NLL at the best epoch. Where that difference is more
than 2 standard errors (over paired seeds) from zero in either precision, it must have the same sign in both, and the
difference of the two differences must be within 2 of its own standard errors. Where it is in neither, there is no
finding that a precision could change. The last epoch is shown beside and does not count.

*The gate* has **failed** if a cell is outside. It is **passed** if none is, soft NLL and accuracy at the best epoch are
within in all four (method, votes), and both contrasts hold. Else it is **undecided (more seeds)**: seeds 106 to 111 are
added (``--seeds 106,107,108,109,110,111`` in both commands above, then ``gate.py --look 2 SCORES``), and the rule is
applied to all twelve; if that decides nothing, so are 112 to 117 (``--look 3``). What is undecided then has not passed,
and TF32 stays the default.

*The third look* was added to the rule when the six bf16 seeds of He's way had been made and no run of his in TF32. The
same six plans of soft labels with all votes had by then been trained twice in bf16 (once for ``init.py``), and the two
differ by an SD of .025: what a GPU does to one plan is as much as what a seed does.

*How the convolutions begin* was asked after the first 48 runs were made (``init.py``), and He's way was chosen. Those
runs begin in PyTorch's way: they are judged by the same rule with ``--init torch`` (undecided at six seeds; pairs
scattered by .02 to .05) and shown beside. The gate that counts is made with He's, by the rule as it stands.

Is it sensible with six seeds?
------------------------------
A GPU does not repeat itself, so a pair shares items, votes, initial weights and order, but not its rounding, and within
some epochs the two have gone different ways. Published runs differ by .02 in soft NLL from seed to seed, different
evaluation items included. If the difference of a pair has that SD, its standard error with six pairs is .008, and the
interval reaches 2.015 x .008 = .0165 to each side, less than the margin of .025: a cell can be decided. But with no
true difference at all only 68 % of such cells would be, and the eight that must be (soft NLL and accuracy, SD .008)
all at once in 5 % of cases, with 2 % falsely outside; with SDs of .014 and .006, in 64 %. Hence the second look, after
which these are 87 % and more than 99 % (with .028 and .010: 23 %, and 16 % falsely outside). With SDs of .025 for soft
labels and .015 for multipass, and .010 and .006 in accuracy, 2 % pass at the first look, 62 % by the second and 90 % by
the third. Looks make the 5 % of a wrong "within" 8 % (two) and 11 % (three) for one cell; a gate that passes wrongly
must be wrong in that cell while seven others are right.
(Simulated, cells taken as independent. KL differs from soft NLL by the entropy of the votes, the same in both runs of a
pair: its differences are those of soft NLL, and it decides nothing by itself.)
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stored_runs import CHECKPOINTS, HERE, Key, Scores, asked_for, find, gathered, table, tell, write

from dissensus.stats import equivalence

PLAN = "gate.toml"
METHODS = ("soft", "multipass")
VOTES = (5, "all")
PRECISIONS = ("tf32", "bf16")
SEEDS = (100, 101, 102, 103, 104, 105)  # of the first look; every later one adds as many
LOOKS = 3
MARGINS = {"soft_nll": 0.025, "kl": 0.025, "accuracy": 0.01, "soft_brier": 0.01, "entropy_correlation": 0.02}
MUST = ("soft_nll", "accuracy")  # at the best epoch, in every cell
CLEAR = 2.0  # standard errors

WITHIN, OUTSIDE, UNDECIDED = "within", "outside", "undecided (more seeds)"
PASSED, FAILED = "passed", "failed"

Found = Mapping[Key, Scores]


def judge_cell(tf32: Sequence[float], bf16: Sequence[float], margin: float) -> dict[str, Any]:
    """bf16 minus TF32 over paired seeds, and what the rule says of it."""
    if not np.isfinite([*tf32, *bf16]).all():
        return {"verdict": OUTSIDE, "diverged": True}
    test = equivalence(bf16, tf32, margin=margin)
    verdict = WITHIN if test.equivalent else OUTSIDE if abs(test.difference) > margin else UNDECIDED
    numbers = {"tf32": np.mean(tf32), "bf16": np.mean(bf16), "difference": test.difference}
    numbers |= {"low": test.low, "high": test.high, "sd": np.std(np.subtract(bf16, tf32), ddof=1)}
    return {"verdict": verdict, "margin": margin} | {name: float(value) for name, value in numbers.items()}


def judge_contrast(tf32: np.ndarray, bf16: np.ndarray) -> dict[str, Any]:
    """Soft minus multipass, a number a seed, in both precisions: a clear difference has one sign and one size."""
    if not np.isfinite([*tf32, *bf16]).all():
        return {"holds": False, "diverged": True}
    first, second, change = map(_mean_and_error, (tf32, bf16, bf16 - tf32))
    clear = any(abs(one["difference"]) > CLEAR * one["se"] for one in (first, second))
    same_sign = first["difference"] * second["difference"] > 0
    same_size = abs(change["difference"]) <= CLEAR * change["se"]
    return {
        "tf32": first,
        "bf16": second,
        "bf16_minus_tf32": change,
        "clear": clear,
        "same_sign": same_sign,
        "same_size": same_size,
        "holds": not clear or (same_sign and same_size),
    }


def _mean_and_error(differences: np.ndarray) -> dict[str, float]:
    return {
        "difference": float(differences.mean()),
        "se": float(differences.std(ddof=1) / np.sqrt(len(differences))),
    }


def judge(found: Found, seeds: Sequence[int]) -> dict[str, Any]:
    """Every cell, both contrasts, and the gate."""

    def values(method: str, votes: int | str, precision: str, checkpoint: str, metric: str) -> list[float]:
        return [found[method, votes, seed, precision][checkpoint][metric] for seed in seeds]

    def soft_minus_multipass(votes: int | str, precision: str, checkpoint: str) -> np.ndarray:
        soft, multipass = (np.array(values(method, votes, precision, checkpoint, "soft_nll")) for method in METHODS)
        return soft - multipass

    cells = [
        {"method": method, "votes": votes, "checkpoint": checkpoint, "metric": metric}
        | judge_cell(*(values(method, votes, p, checkpoint, metric) for p in PRECISIONS), margin=margin)
        for method in METHODS
        for votes in VOTES
        for checkpoint in CHECKPOINTS
        for metric, margin in MARGINS.items()
    ]
    contrasts = [
        {"votes": votes, "checkpoint": checkpoint, "counts": checkpoint == "best"}
        | judge_contrast(*(soft_minus_multipass(votes, p, checkpoint) for p in PRECISIONS))
        for votes in VOTES
        for checkpoint in CHECKPOINTS
    ]
    return {"seeds": list(seeds), "verdict": gate(cells, contrasts), "cells": cells, "contrasts": contrasts}


def gate(cells: Sequence[Mapping[str, Any]], contrasts: Sequence[Mapping[str, Any]]) -> str:
    """The rule's last paragraph."""
    if any(cell["verdict"] == OUTSIDE for cell in cells):
        return FAILED
    must = [cell for cell in cells if cell["checkpoint"] == "best" and cell["metric"] in MUST]
    within = all(cell["verdict"] == WITHIN for cell in must)
    hold = all(contrast["holds"] for contrast in contrasts if contrast["counts"])
    return PASSED if within and hold else UNDECIDED


def seeds_of(number: int) -> tuple[int, ...]:
    """All seeds of a look, the first being 1.

    >>> seeds_of(2)[-1], len(seeds_of(3))
    (111, 18)
    """
    return tuple(range(SEEDS[0], SEEDS[0] + number * len(SEEDS)))


def look(found: Found, number: int) -> dict[str, Any]:
    """The verdict of a look, which comes only where those before it have decided nothing."""
    for earlier in range(1, number):
        if (verdict := judge(found, seeds_of(earlier))["verdict"]) != UNDECIDED:
            raise SystemExit(f"look {earlier} has decided: {verdict}. The rule has no further one then.")
    return judge(found, seeds_of(number)) | {"look": number}


def by_run(found: Found, names: Mapping[Key, str]) -> list[dict[str, Any]]:
    """A row a run with its metrics, but for those that are not finite since it diverged."""
    return [
        {"run": names[key], "method": key[0], "votes": key[1], "seed": key[2], "precision": key[3]}
        | {
            checkpoint: {metric: value for metric in MARGINS if np.isfinite(value := scores[checkpoint][metric])}
            for checkpoint in CHECKPOINTS
        }
        for key, scores in found.items()
    ]


def show(result: Mapping[str, Any]) -> None:
    rows = table("method", "votes", "epoch", "metric", "TF32", "bf16", "bf16 - TF32", "90 % interval", "margin", "")
    for cell in result["cells"]:
        place = [cell["method"], str(cell["votes"]), cell["checkpoint"], cell["metric"]]
        if "diverged" in cell:
            rows.add_row(*place, *["-"] * 5, "outside: a run diverged")
            continue
        numbers = [f"{cell['tf32']:.4f}", f"{cell['bf16']:.4f}", f"{cell['difference']:+.4f}"]
        interval = f"[{cell['low']:+.4f}, {cell['high']:+.4f}]"
        rows.add_row(*place, *numbers, interval, f"{cell['margin']:g}", cell["verdict"])
    tell(rows)
    for contrast in result["contrasts"]:
        told = f"soft - multipass, soft NLL, {contrast['votes']} votes, {contrast['checkpoint']} epoch: "
        if "diverged" in contrast:
            tell(told + "a run diverged")
            continue
        parts = [
            f"{name} {contrast[key]['difference']:+.4f} ± {contrast[key]['se']:.4f}"
            for key, name in (("tf32", "TF32"), ("bf16", "bf16"), ("bf16_minus_tf32", "change"))
        ]
        holds = "holds" if contrast["holds"] else "does not hold"
        tell(told + ", ".join(parts) + f" (SE): {holds}" + ("" if contrast["counts"] else ", does not count"))
    tell(f"The gate, seeds {result['seeds'][0]} to {result['seeds'][-1]}: [bold]{result['verdict']}[/]")


def commands(number: int) -> list[str]:
    """What made the runs of a look."""
    first = [f"python benchmarks/make_runs.py gate --precision {p} --store STORE" for p in PRECISIONS]
    added = [",".join(map(str, seeds_of(n)[-len(SEEDS) :])) for n in range(2, number + 1)]
    return first + [f"{command} --seeds {seeds}" for seeds in added for command in first]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="files of scores, run stores, archives, folders of archives")
    parser.add_argument("--look", type=int, default=1, choices=range(1, LOOKS + 1), help="each has six seeds more")
    parser.add_argument("--init", default="he", help="how the convolutions begin: he, or torch as in the first runs")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "gate.json")
    given = parser.parse_args(arguments)
    seeds = seeds_of(given.look)
    asked = {key: plan for p in PRECISIONS for key, plan in asked_for(PLAN, p, seeds, given.init).items()}
    chosen = find(gathered(given.sources), asked)
    found = {key: run.scores for key, run in chosen.items()}
    result = look(found, given.look)
    result["runs"] = by_run(found, {key: run.name for key, run in chosen.items()})
    show(result)
    options = [f"--look {given.look}"] * (given.look > 1) + ["--init torch"] * (given.init == "torch")
    command = " ".join(["python benchmarks/gate.py", *options, "SCORES"])
    write(given.out, result, [run.about for run in chosen.values()], command, commands(given.look))


if __name__ == "__main__":
    main()
