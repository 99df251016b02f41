"""What deliveries take from votes, or from probabilities where there are no votes.

Both kinds answer the same questions; each delivery asks one of them and keeps the answer, a function of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import as_simplex
from dissensus.base.errors import InputError
from dissensus.base.streams import bits
from dissensus.targets import majority
from dissensus.targets.counting import in_blocks, tally_at
from dissensus.targets.majority import largest
from dissensus.votes import Votes

At: TypeAlias = int | NDArray[np.int64]  # all of so many items, or the items at these positions
_BLOCK = 1 << 14  # items at a time: what passes from one step to the next stays in the second-level cache


class FromVotes:
    """At least one vote an item; the compressed rows are read as they are, never as a dense matrix."""

    def __init__(self, votes: Votes) -> None:
        votes.refuse_items_without_votes()
        self.n_items, self.n_classes, self.multilabel = votes.n_items, votes.n_classes, votes.multilabel
        self._votes = votes

    def drawing(self) -> Callable[[At, NDArray[np.float64]], NDArray[Any]]:
        """(positions, u) -> one vote of each item, drawn by u in [0, 1)."""
        return self._draw

    def turns(self, seed: int, delivery: str) -> Callable[[At, int], NDArray[Any]]:
        """(positions, turn) -> the vote of each item whose turn it is, in an order that was shuffled once."""
        return FromVotes(_shuffled(self._votes, seed))._take_turn

    def shares(self) -> Callable[[At], NDArray[np.float32]]:
        """positions -> rows of shares."""
        return self._shares

    def majority(self, seed: int) -> NDArray[np.int64]:
        return majority(self._votes, seed)

    def _draw(self, at: At, u: NDArray[np.float64]) -> NDArray[Any]:
        # votes[offset + floor(u * n)]: exact, and independent of the number of classes
        codes = np.empty(len(u), np.int64)
        for block, starts, sizes in self._blocks(at):
            place = (u[block] * sizes).astype(np.int64)
            place += starts
            codes[block] = self._votes.codes[place]
        return self._labels(codes)

    def _take_turn(self, at: At, turn: int) -> NDArray[Any]:
        codes = np.empty(at if isinstance(at, int) else len(at), np.int64)
        for block, starts, sizes in self._blocks(at):
            codes[block] = self._votes.codes[starts + turn % sizes]
        return self._labels(codes)

    def _shares(self, at: At) -> NDArray[np.float32]:
        positions = np.arange(at) if isinstance(at, int) else at
        rows = np.zeros((len(positions), self.n_classes), np.float32)
        for low in range(0, len(positions), _BLOCK):
            here = positions[low : low + _BLOCK]
            sizes = self._votes.offsets[here + 1] - self._votes.offsets[here]
            cells, times = tally_at(self._votes, here)
            rows[low : low + _BLOCK].reshape(-1)[cells] = times / sizes[cells // self.n_classes]
        return rows

    def _blocks(self, at: At) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
        """(block of items, where their votes begin, how many they are)."""
        offsets = self._votes.offsets
        size = at if isinstance(at, int) else len(at)
        for low in range(0, size, _BLOCK):
            block = slice(low, min(low + _BLOCK, size))
            if isinstance(at, int):
                starts, ends = offsets[block], offsets[block.start + 1 : block.stop + 1]
            else:
                starts, ends = offsets[at[block]], offsets[at[block] + 1]
            yield block, starts, ends - starts

    def _labels(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        sets = self._votes.label_sets
        return codes if sets is None else sets[codes].astype(np.float32)


class FromProbabilities:
    """An (items, classes) array of probabilities; what is kept of it is a copy, whose rows sum to 1 to rounding."""

    multilabel = False

    def __init__(self, probs: ArrayLike) -> None:
        self._probs = as_simplex("source", probs)
        # half precision may miss 1 by a thousandth, and soft rows should be what labels are drawn from
        self._probs /= self._probs.sum(1, keepdims=True)
        self.n_items, self.n_classes = self._probs.shape

    def drawing(self) -> Callable[[At, NDArray[np.float64]], NDArray[Any]]:
        """(positions, u) -> one class for each item, drawn by u in [0, 1)."""
        cdf = self._probs  # a copy of the caller's already, and the only one: 8 GB for 10^6 items and 1,000 classes
        del self._probs
        for block in in_blocks(*cdf.shape):
            np.cumsum(cdf[block], axis=1, out=cdf[block])
            cdf[block] /= cdf[block, -1:].copy()
        return partial(_invert, cdf)

    def turns(self, seed: int, delivery: str) -> Callable[[At, int], NDArray[Any]]:
        raise InputError(
            f"{delivery} shows the votes one after another, so it needs votes, but it was given probabilities. "
            'To draw labels from probabilities use StochasticLabelSampling ("sls").'
        )

    def shares(self) -> Callable[[At], NDArray[np.float32]]:
        """positions -> rows of probabilities."""
        return partial(_rows, self._probs.astype(np.float32))

    def majority(self, seed: int) -> NDArray[np.int64]:
        at = np.arange(self.n_items)
        blocks = [largest(self._probs[block], seed, at[block]) for block in in_blocks(*self._probs.shape)]
        return np.concatenate([np.empty(0, np.int64), *blocks])


Source: TypeAlias = FromVotes | FromProbabilities


def as_source(source: Votes | ArrayLike) -> Source:
    return FromVotes(source) if isinstance(source, Votes) else FromProbabilities(source)


def _shuffled(votes: Votes, seed: int) -> Votes:
    """The same votes, those of each item in an order of their own."""
    codes = np.empty_like(votes.codes, subok=False)
    for first in range(0, votes.n_items, _BLOCK):
        offsets = votes.offsets[first : first + _BLOCK + 1]
        low, high = offsets[0], offsets[-1]
        # one sort a block: the item in the high bits, 50 bits of chance below it
        order = bits(seed, "multipass", at=np.arange(low, high)) >> np.uint64(14)
        order |= np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64) << np.uint64(50), np.diff(offsets))
        codes[low:high] = votes.codes[low:high][np.argsort(order, kind="stable")]
    return replace(votes, codes=codes, annotators=None, annotator_names=None)


def _rows(rows: NDArray[np.float32], at: At) -> NDArray[np.float32]:
    return rows.copy() if isinstance(at, int) else rows[at]


def _invert(cdf: NDArray[np.float64], at: At, u: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first class whose cumulative probability exceeds ``u``, for all items of a block by one binary search.

    The cumulative probability is 1 exactly from the last possible class on and does not grow at an impossible one, so
    neither an impossible class nor one past the last can come out.
    """
    flat, n_classes = cdf.reshape(-1), cdf.shape[1]
    labels = np.empty(len(u), np.int64)
    for low in range(0, len(u), _BLOCK):
        here = u[low : low + _BLOCK]
        row = np.arange(low, low + len(here)) if isinstance(at, int) else at[low : low + _BLOCK]
        first = row * n_classes
        place, left = first.copy(), n_classes
        while left > 1:
            half = left // 2
            place += (flat[place + (half - 1)] <= here) * half
            left -= half
        labels[low : low + _BLOCK] = place - first
    return labels
