"""Make the runs that gate.py, init.py, sanity.py and spread.py judge, on a GPU and in slices, and keep their scores.

    python benchmarks/make_runs.py gate --precision tf32 --store STORE --budget 9m
    python benchmarks/make_runs.py sanity --precision bf16 --store STORE --known benchmarks/results/runs/gate.json

The plans are those of gate.toml and so on, beside this file. Runs whose scores are known already, in the file that is
written or in another, are not made again: a store need not outlive the machine that it is on. A call that is broken off
leaves what it has, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from stored_runs import HERE, Measured, read_scores, tell, write_scores

from dissensus.base.errors import DissensusError
from dissensus.experiment import Comparison, Event, Plan, compare
from dissensus.experiment.budget import seconds_of
from dissensus.records import RunStore

PLANS = ("gate", "init", "sanity", "spread")
SCORES = HERE / "results" / "runs"
LEFT = 3  # exit status where runs are left, as of `dissensus compare`


def missing(plans: Sequence[Plan], known: Sequence[Measured]) -> list[Plan]:
    """Those that nobody has made yet."""
    names = {run.name for run in known}
    return [plan for plan in plans if plan.name not in names]


def kept(plans: Sequence[Plan], before: Sequence[Measured], store: RunStore) -> list[Measured]:
    """What was known before, and the runs of these plans that are in the store."""
    new = [Measured.of(store.read(plan.name)) for plan in plans if plan.name in store]
    return [*{run.name: run for run in [*new, *before]}.values()]


def whole_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def tell_event(event: Event) -> None:
    if event.kind in ("done", "failed"):
        nll = "" if event.soft_nll is None else f", soft NLL {event.soft_nll:.4f}"
        name = f"{event.method}, {event.votes} votes, seed {event.seed}"
        tell(f"{name}: {event.kind} after {event.seconds:.0f} s{nll} {event.message}".rstrip(), markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", help=f"{', '.join(PLANS)}, or a plan file of one's own")
    parser.add_argument("--precision", choices=("tf32", "bf16", "fp32"), help="of the training; the plan's own")
    parser.add_argument("--seeds", type=whole_numbers, help="A,B,... in place of the plan's own")
    parser.add_argument("--store", required=True, help="a folder for the runs, which may be thrown away")
    parser.add_argument("--budget", help="stop before so long is over, such as 9m or 590s")
    parser.add_argument("--width", type=int, default=4, help="so many side by side")
    parser.add_argument("--scores", type=Path, help="where the scores go; results/runs/PLAN.json")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="files of scores of runs to leave out")
    try:
        return make(parser.parse_args(arguments))
    except DissensusError as error:
        raise SystemExit(str(error)) from None


def make(given: argparse.Namespace) -> int:
    """What is left of a plan; the exit status."""
    end = None if given.budget is None else time.monotonic() + seconds_of(given.budget)
    path = HERE / f"{given.plan}.toml" if given.plan in PLANS else Path(given.plan)
    out = given.scores or SCORES / f"{path.stem}.json"
    recipe = {"recipe": {"precision": given.precision}} if given.precision else {}
    seeds = {"seeds": given.seeds} if given.seeds else {}
    comparison = Comparison.read(path, **recipe, **seeds)
    plans = comparison.plans(comparison.data.load())
    before = read_scores(out) if out.exists() else []
    elsewhere = [run for file in given.known for run in read_scores(file)]
    left = missing(plans, [*before, *elsewhere])
    tell(f"{len(plans)} runs: {len(plans) - len(left)} known, {len(left)} to make")
    store = RunStore(given.store)
    budget = None if end is None else max(1.0, end - time.monotonic())  # reading the data has taken its share
    try:
        outcome = compare(
            left, comparison.data, store, jobs=1, progress=tell_event, width=given.width, budget=budget, say=tell
        )
    finally:
        if runs := kept(left, before, store):
            write_scores(runs, out)
    tell(f"{len(outcome.done)} made, {len(outcome.left)} left, {len(outcome.failed)} failed; scores: {out.name}")
    return LEFT if outcome.left or outcome.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
