"""One label an item: the one with most votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import uniform
from dissensus.targets.counting import counts_at, in_blocks, tally_at
from dissensus.votes import Votes
from dissensus.votes.table import offsets_of

_BLOCK = 1 << 14  # items at a time


def majority(votes: Votes, seed: int = 0) -> NDArray[np.int64]:
    """The class with most votes, (items,); ties are broken by a draw that depends on the seed and the item's position.

    Where a vote may name several classes: (items, classes) of 0 and 1, a class being in where more than half of the
    votes name it.

    >>> majority(Votes.from_counts([[2, 3], [4, 0]]))
    array([1, 0])
    >>> majority(Votes.from_counts([[1, 1]] * 8), seed=0), majority(Votes.from_counts([[1, 1]] * 8), seed=1)
    (array([1, 1, 1, 1, 0, 0, 0, 0]), array([1, 1, 0, 1, 0, 1, 1, 1]))
    """
    votes.refuse_items_without_votes()
    if votes.multilabel:
        return _more_than_half(votes, seed)
    out = np.empty(votes.n_items, np.int64)
    for low in range(0, votes.n_items, _BLOCK):
        at = np.arange(low, min(low + _BLOCK, votes.n_items))
        cells, times = tally_at(votes, at)
        item, named = np.divmod(cells, votes.n_classes)
        tied = times == np.maximum.reduceat(times, np.flatnonzero(np.diff(item, prepend=-1)))[item]
        several = np.bincount(item[tied])  # classes that share the most votes, 1 or more
        drawn = (uniform(seed, "majority", at=at) * several).astype(np.int64)
        out[at] = named[tied][offsets_of(several)[:-1] + drawn]
    return out


def largest(scores: NDArray[np.generic], seed: int, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The column of the largest score in every row; of equal ones, each with the same chance.

    Row ``j`` belongs to the item at position ``at[j]``.
    """
    best = scores.argmax(1)
    tied = scores == np.take_along_axis(scores, best[:, None], 1)
    several = np.flatnonzero(np.count_nonzero(tied, axis=1) > 1)
    u = uniform(seed, "majority", at=at[several])
    rank = np.cumsum(tied[several], axis=1)  # 1 at the first of the tied, 2 at the second, ...
    drawn = (u * rank[:, -1]).astype(np.int64) + 1
    best[several] = (rank >= drawn[:, None]).argmax(1)
    return best


def _more_than_half(votes: Votes, seed: int) -> NDArray[np.int64]:
    out, per_item = np.empty((votes.n_items, votes.n_classes), np.int64), votes.votes_per_item[:, None]
    for block in in_blocks(*out.shape):
        at = np.arange(block.start, block.stop)
        twice = 2 * counts_at(votes, at)
        cells = at[:, None] * votes.n_classes + np.arange(votes.n_classes)
        coin = uniform(seed, "majority", at=cells).reshape(cells.shape) < 0.5
        out[block] = (twice > per_item[block]) | ((twice == per_item[block]) & coin)
    return out
