"""Few votes drawn from many: as many as somebody else cast, or such as agree as theirs did."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import same_length
from dissensus.base.streams import uniform
from dissensus.votes import Votes
from dissensus.votes.synthetic import draw


def as_many(votes: Votes, per_item: ArrayLike, seed: int = 0) -> Votes:
    """So many of the votes of each item, without replacement; annotators are not kept.

    >>> as_many(Votes.from_counts([[9, 9], [9, 9]]), [1, 3]).votes_per_item
    array([1, 3])
    """
    wanted = np.asarray(per_item)
    same_length(votes=votes, per_item=wanted)
    counts = np.empty((votes.n_items, votes.n_classes), np.int64)
    for number in np.unique(wanted):
        at = np.flatnonzero(wanted == number)
        counts[at] = votes.take(at).subsample(int(number), seed=seed).counts()
    return _like(votes, counts)


def of_which_agree(votes: Votes, number: int, agree: int, seed: int = 0) -> Votes:
    """``number`` votes an item, drawn without replacement on condition that the most frequent class has ``agree``.

    What several draws would give of which those are kept that agree so: every table of counts that does is drawn with
    its own probability. Where none can (99 of an item's hundred votes are alike, and three of five shall be), the item
    gets an ordinary draw.

    >>> of_which_agree(Votes.from_counts([[90, 10]]), number=5, agree=3).counts()
    array([[3, 2]])
    """
    counts = votes.counts()
    tables = [t for t in product(range(agree + 1), repeat=votes.n_classes) if sum(t) == number and max(t) == agree]
    ways = np.array([[prod(comb(int(n), k) for n, k in zip(row, t, strict=True)) for t in tables] for row in counts])
    total = ways.sum(1, keepdims=True)
    drawn = votes.subsample(number, seed=seed).counts()
    can = np.flatnonzero(total[:, 0])
    chance = uniform(seed, "votes that agree", at=can)
    drawn[can] = np.array(tables)[draw(ways[can] / total[can], chance)]
    return _like(votes, drawn)


def _like(votes: Votes, counts: NDArray[np.int64]) -> Votes:
    return Votes.from_counts(counts, classes=votes.classes, items=votes.items, ordered=votes.ordered)
