"""Who cast which votes: sums by annotator, and of distances from each vote to the others on its item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.votes.table import Votes

Floats: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]
Distance: TypeAlias = Callable[[Wholes], NDArray[Any]]  # from all votes, counts (rows, classes), to every class: sums

CELLS = 1 << 22  # numbers of a table at once: 32 MB


class Cast:
    """Votes in columns, one entry a vote, with what one annotator says of one item taken together.

    >>> cast = Cast(Votes.from_records(items=[7, 7, 7], labels=[1, 0, 0], annotators=["ann", "eve", "eve"]))
    >>> cast.own.tolist(), cast.others.tolist(), cast.first.tolist()
    ([1, 2, 2], [2, 1, 1], [True, True, False])
    """

    def __init__(self, votes: Votes) -> None:
        if votes.annotators is None or votes.annotator_names is None:
            raise InputError("the votes do not say who cast them, so nothing can be said of annotators.")
        n = votes.n_votes
        self.table = votes
        self.code: Wholes = votes.codes.astype(np.int64)
        self.who: Wholes = votes.annotators.astype(np.int64)
        self.people, self.classes = len(votes.annotator_names), votes.n_classes
        self.item = np.repeat(np.arange(votes.n_items), votes.votes_per_item)
        self.size = votes.votes_per_item[self.item]  # votes on the item,
        self.own, self.first = np.ones(n, np.int64), np.ones(n, bool)  # of this annotator, and the first of them
        pair = self.item * self.people + self.who
        told = np.sort(pair, kind="stable")  # stable is quick where much is in order: they come item by item
        same = told[1:] == told[:-1]
        # where an annotator voted again: the votes, those of one annotator on one item side by side and numbered
        self.again, self.group = np.empty(0, np.int64), np.empty(0, np.int64)
        if same.any():
            order = np.argsort(pair, kind="stable")
            self.first[order[1:]] = ~same
            twice = np.append(same, False) | np.append(False, same)
            self.again = order[twice]
            self.group = np.cumsum(self.first[self.again]) - 1
            self.own[self.again] = np.bincount(self.group)[self.group]
        self.others = self.size - self.own

    def by_person(self, values: NDArray[np.generic]) -> Floats:
        """(annotators,): sums over their votes."""
        return np.bincount(self.who, values, minlength=self.people).astype(np.float64, copy=False)

    def of_own(self, values: Floats) -> Floats:
        """(votes,): sums over the votes of the same annotator on the same item."""
        if len(self.again):
            values = values.copy()
            values[self.again] = np.bincount(self.group, values[self.again])[self.group]
        return values

    def blocks(self) -> Iterator[tuple[slice, Wholes, Wholes]]:
        """Some items at a time: where their votes are, which of the items each is on, and counts (items, classes)."""
        step, offsets = max(1, CELLS // self.classes), self.table.offsets
        for low in range(0, self.table.n_items, step):
            high = min(low + step, self.table.n_items)
            at = slice(int(offsets[low]), int(offsets[high]))
            item = self.item[at] - low
            counts = np.bincount(item * self.classes + self.code[at], minlength=(high - low) * self.classes)
            yield at, item, counts.reshape(high - low, self.classes)

    def named(self, *votes: tuple[Wholes, Wholes]) -> tuple[Wholes, Wholes, Wholes]:
        """Annotators, classes and how often the one names the other, sorted; ``votes`` are annotators and classes.

        >>> cast = Cast(Votes.from_records(items=[7, 7, 8], labels=["a", "b", "a"], annotators=["ann", "eve", "ann"]))
        >>> [column.tolist() for column in cast.named((cast.who, cast.code))]
        [[0, 1], [0, 1], [2, 1]]
        """
        keys = np.concatenate([who * self.classes + code for who, code in votes])
        if self.people * self.classes <= 4 * len(keys) + CELLS:
            times = np.bincount(keys)
            keys = np.flatnonzero(times)
            times = times[keys]
        else:  # most annotators never name most classes
            keys, times = np.unique(keys, return_counts=True)
        who, code = np.divmod(keys, self.classes)
        return who, code, times


def differ(counts: Wholes) -> Wholes:
    """Between any two classes 1.

    >>> differ(np.array([[2, 1, 0]]))
    array([[1, 2, 3]])
    """
    return counts.sum(1, keepdims=True) - counts


def between(counts: Wholes) -> Floats:
    """Between neighbours 1, and as many classes as there are to go.

    >>> between(np.array([[2, 1, 0]]))
    array([[1., 2., 5.]])
    """
    classes = np.arange(counts.shape[1])
    return counts @ np.abs(classes[:, None] - classes).astype(np.float64)


@dataclass(frozen=True)
class Apart:
    """(votes,): sums of distances from each to the others' on its item; and there, between all pairs, both ways."""

    to_others: Floats
    pairs: Floats
    pairs_of_others: Floats

    @classmethod
    def of(cls, cast: Cast, distance: Distance) -> Apart:
        """In one pass: without the votes of one annotator, sums are what they were less a little.

        >>> votes = Votes.from_records(items=[7, 7, 7], labels=[1, 0, 0], annotators=["ann", "bob", "eve"])
        >>> apart = Apart.of(Cast(votes), differ)
        >>> apart.to_others, apart.pairs, apart.pairs_of_others
        (array([2., 1., 1.]), array([4., 4., 4.]), array([0., 2., 2.]))
        """
        to_all, pairs = np.empty(cast.table.n_votes), np.empty(cast.table.n_votes)
        for at, item, counts in cast.blocks():
            sums = distance(counts)
            to_all[at] = sums[item, cast.code[at]]
            pairs[at] = (counts * sums).sum(1)[item]
        to_own = np.zeros(cast.table.n_votes)
        for part in parts(cast.group, cast.classes):
            again, place = cast.again[part], cast.group[part] - cast.group[part][0]
            counts = np.bincount(place * cast.classes + cast.code[again], minlength=(place[-1] + 1) * cast.classes)
            to_own[again] = distance(counts.reshape(-1, cast.classes))[place, cast.code[again]]
        # an annotator's pairs with others are counted from both ends, those with themselves already are
        return cls(to_all - to_own, pairs, pairs - 2 * cast.of_own(to_all) + cast.of_own(to_own))


def parts(groups: Wholes, classes: int) -> list[slice]:
    """Sorted ``groups`` in pieces, none of which is in two, for tables (groups, classes) that are not too large.

    >>> parts(np.array([0, 0, 1, 2, 2]), CELLS // 2)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    new = np.flatnonzero(np.diff(groups, prepend=-1))
    ends = [*new[:: max(1, CELLS // classes)].tolist(), len(groups)]
    return [slice(*pair) for pair in pairwise(ends)]
