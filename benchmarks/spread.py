"""How much does a run scatter when it is made again, and is it another beside seven others? Trains nothing.

    python benchmarks/make_runs.py spread --seeds 100,101,102,103 --width 1 --store ALONE-1 --scores ALONE-1.json
    ...                                                        # 4 runs; again into ALONE-2 and ALONE-3
    python benchmarks/make_runs.py spread --width 8 --store BESIDE --scores BESIDE.json     # 8 runs
    python benchmarks/spread.py ALONE-1.json ALONE-2.json ALONE-3.json BESIDE.json          # or stores, or archives

There is no rule: it is measured and reported. Runs of one name in several sources are one plan trained several times.
Those made at width 1 were alone, the others beside as many as their width says. For soft NLL and accuracy at the best
and at the last epoch:

- the spread: SD over identical repetitions alone, pooled over plans;
- beside minus alone: the mean over plans of the difference of their means, and the standard error that the spread by
  itself would give it. A difference of less than two of these is none that could be seen.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from stored_runs import CHECKPOINTS, HERE, Measured, Scores, gathered, table, tell, write

METRICS = ("soft_nll", "accuracy")
CHANGE = {"beside_minus_alone": "+.5f", "se_from_spread": ".5f"}  # how they are shown


@dataclass(frozen=True)
class Repetition:
    """A plan trained once more."""

    run: str
    width: int
    about: Mapping[str, Any]
    plan: Mapping[str, Any]
    scores: Scores
    logits: str  # a digest

    @classmethod
    def of(cls, run: Measured) -> Repetition:
        width = run.about.get("width")
        if not isinstance(width, int):
            raise SystemExit(f"run {run.name} does not tell how many were trained side by side; make it again.")
        if not all(np.isfinite(run.scores[checkpoint]["soft_nll"]) for checkpoint in CHECKPOINTS):
            raise SystemExit(f"run {run.name} has diverged; there is no spread of its numbers.")
        return cls(run.name, width, run.about, run.plan, run.scores, run.last_logits)


Plans = Mapping[str, Sequence[Repetition]]


def repeated(sources: Sequence[str | Path]) -> dict[str, list[Repetition]]:
    """By name, the repetitions of the plans that were trained alone at least twice; a run given twice is one."""
    found: dict[str, list[Repetition]] = {}
    for source in sources:
        for one in map(Repetition.of, gathered([source])):
            known = found.setdefault(one.run, [])
            if all(one.about != other.about for other in known):  # the seconds alone tell two trainings apart
                known.append(one)
    chosen = {name: ones for name, ones in found.items() if sum(one.width == 1 for one in ones) > 1}
    if not chosen:
        raise SystemExit("no run is there twice at width 1; give the stores of at least two repetitions.")
    return chosen


def pooled_sd(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The SD within groups, and its degrees of freedom."""
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum((value - mean(group)) ** 2 for group in groups for value in group)
    return math.sqrt(squares / freedom), freedom


def measure(plans: Plans, checkpoint: str, metric: str) -> dict[str, Any]:
    """The spread alone, and what being beside others changes."""

    def values(ones: Sequence[Repetition], alone: bool) -> list[float]:
        return [one.scores[checkpoint][metric] for one in ones if (one.width == 1) == alone]

    sd, freedom = pooled_sd([values(ones, alone=True) for ones in plans.values()])
    told: dict[str, Any] = {"checkpoint": checkpoint, "metric": metric, "sd_alone": sd, "degrees_of_freedom": freedom}
    both = [(values(ones, True), values(ones, False)) for ones in plans.values()]
    both = [(alone, beside) for alone, beside in both if beside]
    if both:
        told["beside_minus_alone"] = mean(mean(beside) - mean(alone) for alone, beside in both)
        variance = sum(1 / len(alone) + 1 / len(beside) for alone, beside in both)
        told["se_from_spread"] = sd * math.sqrt(variance) / len(both)
    return told


def same_bits(plans: Plans) -> dict[str, int]:
    """How many pairs of repetitions alone there are, and how many of them agree to the last bit."""
    pairs = [
        one.logits == other.logits
        for ones in plans.values()
        for i, one in enumerate(ones)
        for other in ones[:i]
        if one.width == other.width == 1
    ]
    return {"pairs": len(pairs), "identical": sum(pairs)}


def show(result: Mapping[str, Any]) -> None:
    rows = table("epoch", "metric", "SD of repetitions", "beside - alone", "SE that the spread gives it")
    for row in result["rows"]:
        change = [f"{row[key]:{form}}" if key in row else "-" for key, form in CHANGE.items()]
        rows.add_row(row["checkpoint"], row["metric"], f"{row['sd_alone']:.5f}", *change)
    tell(rows)
    bits = result["same_bits"]
    tell(f"{result['plans']} plans; {bits['identical']} of {bits['pairs']} pairs of repetitions agree to the last bit.")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="a run store, an archive or a folder of archives each")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "spread.json")
    given = parser.parse_args(arguments)
    plans = repeated(given.sources)
    everything = [one for ones in plans.values() for one in ones]
    result = {
        "plans": len(plans),
        "widths": sorted({one.width for one in everything}),
        "rows": [measure(plans, checkpoint, metric) for checkpoint in CHECKPOINTS for metric in METRICS],
        "same_bits": same_bits(plans),
        "runs": [
            {"run": one.run, "method": one.plan["method"], "seed": one.plan["seeds"]["split"], "width": one.width}
            | {checkpoint: {metric: one.scores[checkpoint][metric] for metric in METRICS} for checkpoint in CHECKPOINTS}
            for one in everything
        ],
    }
    show(result)
    made_by = [
        "python benchmarks/make_runs.py spread --seeds 100,101,102,103 --width 1 --store ALONE-N --scores ALONE-N.json",
        "python benchmarks/make_runs.py spread --width 8 --store BESIDE --scores BESIDE.json",
    ]
    command = "python benchmarks/spread.py ALONE-1.json ALONE-2.json ALONE-3.json BESIDE.json"
    write(given.out, result, [one.about for one in everything], command, made_by)


if __name__ == "__main__":
    main()
