"""Do our runs have the published means? Judges runs that were made on a GPU; trains nothing.

    python benchmarks/make_runs.py sanity --precision bf16 --store STORE --known benchmarks/results/runs/gate.json
    python benchmarks/sanity.py benchmarks/results/runs/gate.json benchmarks/results/runs/sanity.json

24 runs, of which 8 are the gate's. Stores and archives of them are fine, too.

The rule, written before the runs were made
-------------------------------------------
*Runs.* CIFAR-10H with all votes, the published recipe, bf16; soft, SLS, multipass, majority vote, label smoothing and
mixup, seeds 100 to 103. The evaluation items pick the best epoch, as published, and are scored at that epoch.

*Rule.* For each method and each metric that was published for it (``basins.toml``),
z = (ours - published) / sqrt(SD_ours² / 4 + SD_published² / n) with n seeds published (10; multipass 5). It **agrees**
if |z| <= 3, else it **differs**. What differs is explained by a note in ``sanity_notes.toml`` (a key for the method, in
it a key for the metric), which a test asks for before the result can be committed. A run that diverged differs.

There are 34 comparisons, and an SD of four seeds is a rough one: if nothing differed, each z would be beyond 3 in one
to three cases of a hundred, so one that differs is no surprise. Soft NLL, KL and soft Brier of a method move together.
Nothing else depends on this table: it says whether data, net, recipe and metrics are those of the paper, and not which
method is better.
"""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from stored_runs import HERE, Scores, asked_for, find, gathered, table, tell, write

from dissensus.experiment.papers import read_paper

PLAN = "sanity.toml"
PRECISION = "bf16"
PAPER = "basins"
METHODS = {  # by table: 2 and 5 are one place; 3 has neither KL nor soft Brier
    "table2": ("label-smoothing", "majority", "mixup", "sls", "soft"),
    "table3": ("multipass",),
}
MOST = 3.0  # |z| that still agrees
AGREES, DIFFERS = "agrees", "differs"
METRICS = ("soft_nll", "accuracy", "ece", "entropy_correlation", "kl", "soft_brier")


def published() -> dict[str, Any]:
    """By method: the number of seeds, and mean and SD of each metric."""
    papers: dict[str, Any] = {}
    for where, number in read_paper(PAPER).published.numbers.items():
        if where.method in METHODS.get(where.place, ()):
            told = papers.setdefault(where.method, {"seeds": number.seeds})
            told[where.metric] = {"mean": number.mean, "sd": number.sd}
    return papers


def notes() -> dict[str, dict[str, str]]:
    """By method and metric: why a number differs; there need not be any."""
    path = HERE / "sanity_notes.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def judge(values: Sequence[float], told: Mapping[str, float], seeds: int) -> dict[str, Any]:
    """Ours against a published mean and SD over so many seeds."""
    if not all(map(math.isfinite, values)):
        return {"published": told["mean"], "published_sd": told["sd"], "verdict": DIFFERS, "diverged": True}
    ours, sd = mean(values), stdev(values)
    z = (ours - told["mean"]) / math.sqrt(sd**2 / len(values) + told["sd"] ** 2 / seeds)
    return {
        "ours": ours,
        "ours_sd": sd,
        "published": told["mean"],
        "published_sd": told["sd"],
        "z": z,
        "verdict": AGREES if abs(z) <= MOST else DIFFERS,
    }


def judge_all(found: Mapping[str, Mapping[int, Scores]]) -> list[dict[str, Any]]:
    """A row a method and metric; ``found`` holds the scores by method and seed."""
    papers, why = published(), notes()
    rows = []
    for method, by_seed in found.items():
        for metric in METRICS:
            if metric not in papers[method]:
                continue
            values = [scores["best"][metric] for scores in by_seed.values()]
            row = {"method": method, "metric": metric, "published_seeds": papers[method]["seeds"]}
            row |= judge(values, papers[method][metric], papers[method]["seeds"])
            if note := why.get(method, {}).get(metric):
                row["note"] = note
            rows.append(row)
    return rows


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    shown = table("method", "metric", "ours", "published", "z", "")
    for row in rows:
        ours = "diverged" if "diverged" in row else f"{row['ours']:.4f} ± {row['ours_sd']:.4f}"
        z = "-" if "diverged" in row else f"{row['z']:+.1f}"
        cells = [row["method"], row["metric"], ours, f"{row['published']:.4f} ± {row['published_sd']:.4f}", z]
        shown.add_row(*cells, row["verdict"])
    tell(shown)
    differ = [row for row in rows if row["verdict"] == DIFFERS]
    tell(f"{len(rows) - len(differ)} of {len(rows)} agree.")
    for row in differ:
        note = row.get("note", "say why in benchmarks/sanity_notes.toml")
        tell(f"{row['method']}, {row['metric']}: {note}", markup=False)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="files of scores, run stores, archives, folders of archives")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "sanity.json")
    given = parser.parse_args(arguments)
    chosen = find(gathered(given.sources), asked_for(PLAN, PRECISION))
    found: dict[str, dict[int, Scores]] = {}
    for (method, _, seed, _), run in chosen.items():
        found.setdefault(method, {})[seed] = run.scores
    rows = judge_all(found)
    show(rows)
    result = {
        "rows": rows,
        "runs": [
            {"run": chosen[method, "all", seed, PRECISION].name, "method": method, "seed": seed}
            | {metric: value for metric in METRICS if math.isfinite(value := scores["best"][metric])}
            for method, by_seed in found.items()
            for seed, scores in by_seed.items()
        ],
    }
    made_by = [f"python benchmarks/make_runs.py sanity --precision {PRECISION} --store STORE"]
    write(given.out, result, [run.about for run in chosen.values()], "python benchmarks/sanity.py SCORES", made_by)


if __name__ == "__main__":
    main()
