"""Which items train, which select and which are evaluated; and which votes a run is given.

Both depend on the data and the split seed alone, so all methods of a seed see the same items and the same votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Counts, Labels, Simplex
from dissensus.base.streams import key
from dissensus.datasets import Dataset
from dissensus.targets import TARGETS
from dissensus.votes import Votes

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """Positions of items; every item is in exactly one of the three."""

    train: Positions
    select: Positions  # empty where the evaluation items select, as published
    evaluation: Positions


def parts(data: Dataset, test: float, select: float, seed: int) -> Parts:
    """Evaluation items first, so that they do not depend on ``select``; then selection items from the rest.

    Items of one of the data's groups, such as those of one premise, all come to the same part.
    """
    by, groups = strata(data), data.groups
    rest, evaluation = data.votes.split(test, seed=seed, by=by, groups=groups)
    if select == 0:
        return Parts(rest, rest[:0], evaluation)
    left = None if groups is None else groups[rest]
    train, chosen = data.votes.take(rest).split(select, seed=key(seed, "select"), by=by[rest], groups=left)
    return Parts(rest[train], rest[chosen], evaluation)


def given_votes(
    votes: Votes, split: Parts, number: Literal["all"] | int, draw: Literal["subsample", "resample"], seed: int
) -> tuple[Votes, Votes]:
    """The votes of the training and of the selection items that a run may look at."""
    rest = np.sort(np.concatenate([split.train, split.select]))
    given = votes.take(rest)
    if number != "all":
        given = getattr(given, draw)(number, seed=seed)
    return given.take(np.searchsorted(rest, split.train)), given.take(np.searchsorted(rest, split.select))


def sparse_targets(
    counts: Counts, number: int, draw: Literal["subsample", "resample"], seed: int
) -> tuple[Positions, Simplex, Simplex]:
    """Of items: where they are, the shares among so many of their votes, and among all.

    Drawn as the votes of training items are: without replacement only from items that have so many votes, with
    replacement from all that have one.
    """
    enough = np.flatnonzero(counts.sum(1) >= (number if draw == "subsample" else 1))
    votes = Votes.from_counts(counts[enough])
    return enough, getattr(votes, draw)(number, seed=seed).frequencies(), votes.frequencies()


def aim_of(votes: Votes, target: str) -> Votes | Simplex:
    """What a delivery is made of: the votes themselves, which give shares and which multipass needs, or an estimate."""
    return votes if target == "shares" else TARGETS[target](votes)


def reference_labels(data: Dataset) -> Labels:
    """The class with most votes; a tie goes to the data set's own label if that is in it, else to the first class."""
    counts = data.votes.counts()
    labels = counts.argmax(1)
    if data.labels is not None:
        tied = np.take_along_axis(counts, data.labels[:, None], 1)[:, 0] == counts.max(1)
        labels = np.where(tied, data.labels, labels)
    return labels.astype(np.int64)


def strata(data: Dataset) -> Labels:
    """What the split is stratified by: the data set's own label, or the class with most votes."""
    return reference_labels(data) if data.labels is None else data.labels
