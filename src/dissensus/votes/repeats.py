"""Votes by an annotator who had voted on the item before: which of them say the same again, and which to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import many

REPEATS = ("all", "first", "last", "distinct")


@dataclass(frozen=True)
class Repeats:
    """(votes,), of votes that come item by item, and there as they were read."""

    later: NDArray[np.bool_]  # by an annotator who had voted on the item before
    earlier: NDArray[np.bool_]  # by one who votes on it again
    copy: NDArray[np.bool_]  # for what the annotator had said of the item before

    @classmethod
    def of(
        cls, item: NDArray[Any], who: NDArray[Any], codes: Callable[[NDArray[np.int64]], NDArray[Any]]
    ) -> Repeats | None:
        """None if there are none; ``codes`` gives those of the few votes that it is asked for.

        >>> found = Repeats.of(np.array([0, 0, 0, 0]), np.array([7, 7, 5, 7]), np.array([1, 0, 1, 1]).take)
        >>> found.later, found.earlier, found.copy
        (array([False,  True, False,  True]), array([ True,  True, False, False]), array([False, False, False,  True]))
        """
        people = int(who.max(initial=0)) + 1
        pair = item.astype(np.int64)
        pair *= people
        pair += who
        told = np.sort(pair, kind="stable")  # in the order of the items: 27 ms for three million, 164 by another sort
        twice = told[1:][told[1:] == told[:-1]]
        if not len(twice):
            return None
        odd = np.zeros(int(item.max()) + 1, bool)
        odd[twice // people] = True
        rows = np.flatnonzero(odd[item])  # few, as a rule
        found = cls(*(np.zeros(len(item), bool) for _ in range(3)))
        rows = rows[np.argsort(pair[rows], kind="stable")]
        same = pair[rows[1:]] == pair[rows[:-1]]
        found.later[rows[1:]] = same
        found.earlier[rows[:-1]] = same
        said = codes(rows)
        alike = np.lexsort((said, pair[rows]))  # stable: in the order in which they were read
        rows, said = rows[alike], said[alike]
        found.copy[rows[1:]] = (pair[rows[1:]] == pair[rows[:-1]]) & (said[1:] == said[:-1])
        return found

    @property
    def first(self) -> int:
        """A vote that comes after another one by its annotator on its item."""
        return int(self.later.argmax())

    def kept(self, repeats: str) -> NDArray[np.bool_]:
        """Which votes stay where of all by one annotator on an item one does, or one for each class."""
        return ~{"first": self.later, "last": self.earlier, "distinct": self.copy}[repeats]

    def told(self, repeats: str, first: str) -> str:
        """How many there are, what they say, the first of them, and what became of them.

        >>> found = Repeats.of(np.array([0, 0, 0]), np.array([7, 7, 7]), np.array([1, 0, 1]).take)
        >>> print(found.told("last", first="7 on 'a'"))
        2 votes are by an annotator who had voted on the item before: 1 says the same again, 1 says something else \
(first: 7 on 'a'); the last of each is kept, 2 are left out.
        """
        n, copies = int(self.later.sum()), int(self.copy.sum())
        begin = f"{many(n, 'vote')} {'is' if n == 1 else 'are'} by an annotator who had voted on the item before"
        counted = ((copies, "the same again"), (n - copies, "something else"))
        kinds = ", ".join(f"{count:,} {'says' if count == 1 else 'say'} {what}" for count, what in counted if count)
        if repeats == "all":
            return f"{begin}: {kinds} (first: {first}); all are kept."
        gone = int((~self.kept(repeats)).sum())
        which = "one for each class" if repeats == "distinct" else f"the {repeats} of each"
        return f"{begin}: {kinds} (first: {first}); {which} is kept, {gone:,} {'is' if gone == 1 else 'are'} left out."


def check_repeats(repeats: str) -> str:
    if repeats not in REPEATS:
        raise InputError(unknown("way to keep repeats", repeats, REPEATS) + ".")
    return repeats
