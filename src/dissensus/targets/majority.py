"""One label an item: the one with most votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import uniform
from dissensus.targets.counting import counts_at, in_blocks
from dissensus.votes import Votes


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
    shape = (votes.n_items, votes.n_classes) if votes.multilabel else (votes.n_items,)
    out = np.empty(shape, np.int64)
    for block in in_blocks(votes.n_items, votes.n_classes):
        at = np.arange(block.start, block.stop)
        counts = counts_at(votes, at)
        if votes.multilabel:
            out[block] = _more_than_half(counts, votes.offsets[at + 1] - votes.offsets[at], seed, at)
        else:
            out[block] = largest(counts, seed, at)
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


def _more_than_half(
    counts: NDArray[np.int64], per_item: NDArray[np.int64], seed: int, at: NDArray[np.int64]
) -> NDArray[np.bool_]:
    n_classes = counts.shape[1]
    cells = at[:, None] * n_classes + np.arange(n_classes)
    coin = uniform(seed, "majority", at=cells).reshape(cells.shape) < 0.5
    twice = 2 * counts
    return (twice > per_item[:, None]) | ((twice == per_item[:, None]) & coin)
