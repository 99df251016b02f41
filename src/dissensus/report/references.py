"""What scores are held against: people predicting people, noise floors, and a model that never looks at an item.

Half of the votes on an item, as a prediction of the other half, are a human ceiling where both halves are large. With
three votes an item one vote predicts two: that is noise, and any model that has learned something does better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.base.words import listed
from dissensus.evaluation import human_shares
from dissensus.metrics import METRICS, Estimate, ceiling, floor
from dissensus.records import StoredRun

DRAWS = 20  # over all seeds together
FEWEST = 4  # votes on the middle item, for halves of two: one vote is no distribution
CEILING, PEOPLE = "human ceiling", "people predicting people"


@dataclass(frozen=True)
class People:
    """What half of the votes on an item is, as a prediction of the other half; by what it is called in tables."""

    halves: str  # how many votes they are, in words
    too_few: bool  # votes on most items
    worse: tuple[str, ...]  # metrics in which the shares of the classes score better, by all votes of an item

    @property
    def ceiling(self) -> bool:
        return not (self.too_few or self.worse)

    @property
    def name(self) -> str:
        return CEILING if self.ceiling else PEOPLE

    @property
    def words(self) -> str:
        """What a reader has to know of the row of that name."""
        if self.ceiling:
            return (
                "Human ceiling: half of the annotators predict the other half. A model may pass it, being less noisy "
                "than few votes."
            )
        whose = f"on items with two votes or more, {self.halves}"
        told = f"People predicting people: {whose}. That is no ceiling for a model"
        if not self.worse:
            return told + ": one vote is no distribution, and a model that has learned from many items does better."
        titles = listed([METRICS[metric].title for metric in self.worse])
        held = "which is held against all votes of an item"
        return f"{told}, {held}: by these the class shares score better in {titles}."


def people(runs: Sequence[StoredRun], ceilings: Mapping[str, Estimate], shares: Mapping[str, Estimate]) -> People:
    """Whether halves of the votes are a ceiling for models."""
    votes = np.concatenate([run.predictions["counts"].sum(1) for run in runs])
    votes = votes[votes > 1]
    worse = []
    for metric in (metric for metric in ceilings if metric in shares):
        lost = ceilings[metric].mean - shares[metric].mean
        if (lost < 0) if METRICS[metric].higher_is_better else (lost > 0):
            worse.append(metric)
    few = not len(votes) or float(np.median(votes)) < FEWEST
    return People(_halves(votes.tolist()), few, tuple(worse))


def _halves(votes: Sequence[int]) -> str:
    """
    >>> _halves([2, 3]), _halves([2, 5]), _halves([2])
    ('one vote against one or two others', 'one or two votes against 1 to 3 others', 'one vote against one other')
    """
    if not votes:
        return "no votes"
    few, most = min(votes), max(votes)
    one, other = "votes" if most > 3 else "vote", "others" if most > 2 else "other"
    return f"{_span(few // 2, most // 2)} {one} against {_span(few - few // 2, most - most // 2)} {other}"


def _span(low: int, high: int) -> str:
    if high > 2:
        return f"{low} to {high}" if low < high else str(low)
    return " or ".join(("one", "two")[number - 1] for number in range(low, high + 1))


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
