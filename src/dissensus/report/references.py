"""What scores are held against: human ceilings, noise floors, and a model that never looks at an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dissensus.evaluation import human_shares
from dissensus.metrics import METRICS, Estimate, ceiling, floor
from dissensus.records import StoredRun

DRAWS = 20  # over all seeds together


def ceilings(runs: Sequence[StoredRun], metrics: Iterable[str]) -> dict[str, Estimate]:
    """How well half of the annotators predict the other half, on the evaluation items that have two votes or more."""

    def one(metric: str, run: StoredRun, draws: int, seed: int) -> Estimate | None:
        counts = run.predictions["counts"]
        divisible = counts[counts.sum(1) > 1]
        return ceiling(metric, divisible, draws=draws, seed=seed) if len(divisible) > 1 else None

    return _over_seeds(runs, metrics, one)


def floors(runs: Sequence[StoredRun], metrics: Iterable[str]) -> dict[str, Estimate]:
    """What a perfect model would score: one that says the truth, or the shares of the votes where no truth is known.

    Shares are more extreme than the truth, so the floor by shares is too low: for KL with two votes an item 36 % of the
    real one, with five 65 %, with fifty 95 %, if any truth on three classes is as likely as another (flat Dirichlet);
    with other truths it differs. With one vote it would be 0, and there is none.
    """

    def one(metric: str, run: StoredRun, draws: int, seed: int) -> Estimate | None:
        votes = run.predictions["counts"].sum(1)
        known = "truth" in run.predictions
        if not known and votes.max() == 1:
            return None
        return floor(metric, run.predictions["truth"] if known else human_shares(run), votes, draws=draws, seed=seed)

    return _over_seeds(runs, metrics, one)


def class_shares(runs: Sequence[StoredRun], metrics: Iterable[str]) -> dict[str, Estimate]:
    """What the shares of the classes score, said of every item alike; with the standard error over the items."""

    def one(metric: str, run: StoredRun, draws: int, seed: int) -> Estimate | None:
        human = human_shares(run)
        shares = human.mean(0)
        if metric == "accuracy":
            values = run.predictions["labels"] == shares.argmax()
        elif METRICS[metric].per_item:
            values = METRICS[metric].function(np.tile(shares, (len(human), 1)), human)
        else:
            return None  # who says the same of every item has no correlation and no bins
        return Estimate(float(np.mean(values)), float(np.std(values) / np.sqrt(len(values))))

    return _over_seeds(runs, metrics, one)


def _over_seeds(
    runs: Sequence[StoredRun], metrics: Iterable[str], one: Callable[[str, StoredRun, int, int], Estimate | None]
) -> dict[str, Estimate]:
    """The mean over the splits of all seeds; a metric that is undefined for one of them is left out."""
    draws = max(2, -(-DRAWS // len(runs)))
    found = {}
    for metric in metrics:
        # a seed for each: the same draws in all splits would be wrong in the same direction, and no mean would help
        tried = [one(metric, run, draws, seed) for seed, run in enumerate(runs)]
        estimates = [estimate for estimate in tried if estimate is not None]
        if estimates and np.isfinite([estimate.mean for estimate in estimates]).all():
            spread = np.sqrt(np.mean([estimate.sd**2 for estimate in estimates]))
            found[metric] = Estimate(float(np.mean([estimate.mean for estimate in estimates])), float(spread))
    return found
