"""The votes of all annotators on all items, in compressed rows: what everything else starts from."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import UNREADABLE, as_counts
from dissensus.base.errors import InputError
from dissensus.base.files import existing_file, written_whole
from dissensus.base.streams import bits, uniform
from dissensus.base.words import many
from dissensus.votes.ids import Ids, as_ids, first_duplicate, refuse_duplicates
from dissensus.votes.split import group_numbers, whole_groups

Class: TypeAlias = str | int | float | bool

VERSION = 1  # of the file that save() writes
ABOUT = "dissensus votes"
_UNREADABLE = (*UNREADABLE, TypeError, AttributeError)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Votes:
    """Votes on items: item ``i`` has the votes ``codes[offsets[i]:offsets[i + 1]]``.

    A code is a row of ``sets``, the table of label sets that votes may name. With one label a vote that table is the
    identity and a code is a class index. Build one with :meth:`from_records`, :meth:`from_counts` or ``read_votes``;
    it never changes afterwards. An item may be without votes; :meth:`frequencies` then refuses, by name. What was left
    out, or looks like a slip, stands in ``notes``, which tables that are made of this one keep.

    >>> votes = Votes.from_records(items=["b", "a", "b"], labels=["cat", "dog", "dog"])
    >>> votes
    Votes(2 items, 2 classes, 3 votes, 1 to 2 an item)
    >>> votes.items.tolist(), votes.classes
    (['b', 'a'], ('cat', 'dog'))
    >>> votes.frequencies()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    codes: NDArray[np.unsignedinteger]  # (votes,) rows of `sets`
    offsets: NDArray[np.int64]  # (items + 1,)
    items: Ids  # (items,) in the order in which they first appeared
    classes: tuple[Class, ...]
    ordered: bool = False
    label_sets: NDArray[np.bool_] | None = None  # (sets, classes); None with one label a vote
    annotators: NDArray[np.int32] | None = None  # (votes,) positions in `annotator_names`
    annotator_names: Ids | None = None
    notes: tuple[str, ...] = ()  # what was left out or is odd, when they were read; not part of the content

    def __post_init__(self) -> None:
        for name in ("codes", "offsets", "items", "label_sets", "annotators", "annotator_names"):
            array = getattr(self, name)
            if array is not None:
                array = array.view()
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    # -- built from what people have

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, *, classes: Sequence[Class] | None = None, items: Any = None, ordered: bool = False
    ) -> Votes:
        """Votes from (items, classes) whole numbers; annotators are unknown, items are numbered unless named.

        >>> Votes.from_counts([[2, 1], [0, 3]], classes=["cat", "dog"]).codes
        array([0, 0, 1, 1, 1, 1], dtype=uint8)
        """
        counts = as_counts("counts", counts)
        n_items, n_classes = counts.shape
        names = check_classes(range(n_classes) if classes is None else classes)
        if len(names) != n_classes:
            raise InputError(f"counts has {n_classes} columns, but {len(names)} classes were named.")
        ids = np.arange(n_items) if items is None else as_ids("items", items)
        if len(ids) != n_items:
            raise InputError(f"counts has {n_items} rows, but {len(ids)} items were named.")
        refuse_duplicates("items", ids)
        flat = counts.reshape(-1)
        named = np.flatnonzero(flat)
        return cls(
            codes=np.repeat((named % n_classes).astype(code_dtype(n_classes)), flat[named]),
            offsets=offsets_of(counts.sum(1)),
            items=ids,
            classes=names,
            ordered=ordered,
        )

    @classmethod
    def from_records(
        cls,
        *,
        items: Any,
        labels: Any,
        annotators: Any = None,
        classes: Sequence[Class] | None = None,
        ordered: bool = False,
    ) -> Votes:
        """Votes from equally long columns, one entry a vote.

        A label is one class, or a list or set of classes where an annotator may choose several. Without ``classes``
        they are put in numeric order if all are numbers, else sorted; if they are ``ordered`` and no numbers, they have
        to be named.

        >>> votes = Votes.from_records(items=[7, 7], labels=[{"a"}, {"a", "b"}], annotators=["ann", "bob"])
        >>> votes.multilabel, votes.counts()
        (True, array([[2, 1]]))
        """
        from dissensus.votes.build import from_columns  # needs Polars, which saving and loading do not

        return from_columns(items, labels, annotators, classes=classes, ordered=ordered)

    # -- what there is

    @property
    def n_items(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_votes(self) -> int:
        return len(self.codes)

    @property
    def n_annotators(self) -> int | None:
        """How many annotators are known by name, or None where votes do not say who cast them."""
        return None if self.annotator_names is None else len(self.annotator_names)

    @property
    def multilabel(self) -> bool:
        """Whether a vote may name several classes."""
        return self.label_sets is not None

    @property
    def sets(self) -> NDArray[np.bool_]:
        """(sets, classes): the label sets that codes stand for; the identity with one label a vote."""
        return np.eye(self.n_classes, dtype=bool) if self.label_sets is None else self.label_sets

    @property
    def votes_per_item(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def counts(self) -> NDArray[np.int64]:
        """(items, classes): how many votes name the class."""
        cells = cells_of(self.codes, self.votes_per_item, self.n_classes, self.label_sets)
        return np.bincount(cells, minlength=self.n_items * self.n_classes).reshape(self.n_items, self.n_classes)

    def frequencies(self) -> NDArray[np.float64]:
        """(items, classes): the share of an item's votes that name the class.

        Rows sum to 1 with one label a vote, and need not where a vote may name several.
        """
        self.refuse_items_without_votes()
        return self.counts() / self.votes_per_item[:, None]

    def refuse_items_without_votes(self) -> None:
        """An error that names the first item without votes, if there is one."""
        empty = np.flatnonzero(self.votes_per_item == 0)
        if empty.size:
            raise InputError(
                f"item {self._id(empty[0])!r} has no votes ({empty.size} of {self.n_items} items have none). "
                "Leave such items out with votes.take(votes.votes_per_item > 0)."
            )

    # -- other tables of the same votes

    def take(self, index: ArrayLike | slice) -> Votes:
        """The items at these positions, in this order; a boolean mask or a slice will do as well.

        >>> Votes.from_counts([[2, 1], [0, 3], [1, 1]]).take([2, 0]).items
        array([2, 0])
        """
        at = self._positions(index)
        if len(at) > self.n_items or (np.bincount(at, minlength=self.n_items) > 1).any():
            twice = first_duplicate(at.tolist())
            raise InputError(f"index names position {twice} (item {self._id(twice)!r}) more than once; ids are unique.")
        per_item = self.votes_per_item[at]
        return self._with_votes(ranges(self.offsets[at], per_item), per_item, items=self.items[at])

    def align(self, ids: Any, missing: str = "error", others: str = "error") -> Votes:
        """The items in the order of ``ids``, the ids of your data.

        Each id must have votes, and each item that has any must be among the ids. With ``missing="keep"`` an id
        without votes stays, with none. With ``others="drop"`` items that are not among the ids are left out, as where
        these are one part of a split.

        >>> Votes.from_counts([[2, 1], [0, 3]], items=["a", "b"]).align(["b", "c", "a"], missing="keep").counts()
        array([[0, 3],
               [0, 0],
               [2, 1]])
        """
        if missing not in ("error", "keep"):
            raise InputError(f'missing must be "error" or "keep", but it is {missing!r}.')
        if others not in ("error", "drop"):
            raise InputError(f'others must be "error" or "drop", but it is {others!r}.')
        ids = as_ids("ids", ids)
        refuse_duplicates("ids", ids)
        if len(ids) and self.n_items and ids.dtype.kind != self.items.dtype.kind:
            raise InputError(
                f"ids are {_kind(ids)} (first: {ids[0].item()!r}), but the items of the votes are {_kind(self.items)} "
                f"(first: {self._id(0)!r}). Turn one of them into the other's kind."
            )
        place = {item: position for position, item in enumerate(self.items.tolist())}
        at = np.fromiter((place.get(item, -1) for item in ids.tolist()), np.int64, len(ids))
        voted = self.votes_per_item > 0
        without = np.flatnonzero((at < 0) | ~voted[at.clip(0)]) if self.n_items else np.arange(len(ids))
        if without.size and missing == "error":
            alike = (
                f" Items are written as {self._id(0)!r} is; are the ids, too?" if self.n_items and max(at) < 0 else ""
            )
            raise InputError(
                f"id {ids[without[0]].item()!r} has no votes ({without.size} of {len(ids)} ids have none).{alike} "
                'Leave them out, or keep them without votes by missing="keep".'
            )
        voted[at[at >= 0]] = False
        if voted.any() and others == "error":
            unknown = np.flatnonzero(voted)
            raise InputError(
                f"item {self._id(unknown[0])!r} has votes but is not among the ids ({unknown.size} of {self.n_items} "
                'items are not). To leave them out: votes.align(ids, others="drop").'
            )
        per_item = np.where(at >= 0, self.votes_per_item[at] if self.n_items else 0, 0)
        starts = self.offsets[at.clip(0)]
        return self._with_votes(ranges(starts, per_item), per_item, items=ids)

    def split(
        self, test: float, seed: int = 0, by: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of a training and a test part, for votes and inputs alike, both sorted.

        The share ``test`` of the items goes to the test part, to the nearest whole number, and so it does of every
        stratum in ``by`` (one label an item; by default the class with most votes, the first of those that are tied).
        Items of one of the ``groups`` (one name an item, such as its premise) stay together; the shares then are as
        near as whole groups allow.

        >>> train, test = Votes.from_counts([[2, 1]] * 6 + [[0, 3]] * 4).split(0.5)
        >>> len(train), len(test), int(sum(test < 6))
        (5, 5, 3)
        """
        if not 0 < test < 1:
            raise InputError(f"test must be a share between 0 and 1, but it is {test!r}.")
        size = math.floor(test * self.n_items + 0.5)
        if not 0 < size < self.n_items:
            raise InputError(f"a test share of {test} leaves a part of the {self.n_items} items empty.")
        stratum, sizes = self._strata(by)
        quota = test * sizes
        taken = np.floor(quota).astype(np.int64)
        # what rounding down left over goes to the strata that lost most by it
        taken[np.argsort(taken - quota, kind="stable")[: size - taken.sum()]] += 1
        if groups is not None:
            number = group_numbers(groups)
            if len(number) != self.n_items:
                raise InputError(f"groups must name one for each of {self.n_items} items, but there are {len(number)}.")
            chosen = whole_groups(number, stratum, taken, seed)
            return np.flatnonzero(~chosen), np.flatnonzero(chosen)
        order = np.lexsort((bits(seed, "split", at=self.n_items), stratum))
        rank = np.empty(self.n_items, np.int64)
        rank[order] = np.arange(self.n_items) - offsets_of(sizes)[stratum[order]]
        chosen = rank < taken[stratum]
        return np.flatnonzero(~chosen), np.flatnonzero(chosen)

    def subsample(self, k: int, seed: int = 0) -> Votes:
        """``k`` of the real votes of every item, without replacement, in their order.

        For one seed, five are among ten are among twenty-five.

        >>> votes = Votes.from_counts([[20, 10], [5, 30]])
        >>> five, ten = votes.subsample(5), votes.subsample(10)
        >>> bool((five.counts() <= ten.counts()).all()), five.votes_per_item
        (True, array([5, 5]))
        """
        k = _whole("k", k)
        short = np.flatnonzero(self.votes_per_item < k)
        if short.size:
            raise InputError(
                f"item {self._id(short[0])!r} has {self.votes_per_item[short[0]]} votes, fewer than k = {k} "
                f"({short.size} of {self.n_items} items have fewer)."
            )
        # one sort: the item in the high bits, chance in the low ones, of which 39 are left at 2^24 items
        low = np.uint64(64 - max(self.n_items, 1).bit_length())
        chance = bits(seed, "subsample", at=self.n_votes)
        chance >>= np.uint64(64) - low
        chance |= np.repeat(np.arange(self.n_items, dtype=np.uint64) << low, self.votes_per_item)
        order = np.argsort(chance, kind="stable")
        per_item = np.full(self.n_items, k)
        return self._with_votes(np.sort(order[ranges(self.offsets[:-1], per_item)]), per_item)

    def resample(self, k: int, seed: int = 0) -> Votes:
        """``k`` draws an item from its votes, with replacement: counts are multinomial(k, frequencies).

        Tables of different ``k`` are independent of each other.

        >>> Votes.from_counts([[20, 10], [5, 30]]).resample(50).votes_per_item
        array([50, 50])
        """
        k = _whole("k", k)
        self.refuse_items_without_votes()
        chance = uniform(seed, "resample", k, at=self.n_items * k).reshape(self.n_items, k)
        drawn = self.offsets[:-1, None] + (chance * self.votes_per_item[:, None]).astype(np.int64)
        return self._with_votes(drawn.reshape(-1), np.full(self.n_items, k))

    # -- on disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an ``.npz`` file, which :meth:`load` reads with NumPy alone and without pickle."""
        if (suffix := Path(path).suffix).lower() != ".npz":
            raise InputError(
                f"votes.save writes .npz, but the suffix is {suffix!r}; tables are written by votes.write."
            )
        about = {"about": ABOUT, "version": VERSION, "classes": self.classes, "ordered": self.ordered}
        arrays = {name: getattr(self, name) for name in ("label_sets", "annotators", "annotator_names")}
        with written_whole(path) as part, part.open("wb") as file:
            np.savez(
                file,
                about=np.array(json.dumps(about, allow_nan=False)),
                codes=self.codes,
                offsets=self.offsets,
                items=self.items,
                **{name: array for name, array in arrays.items() if array is not None},
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Votes:
        """Read what :meth:`save` wrote."""
        path = existing_file(path, "votes file written by votes.save(path)")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            about = json.loads(str(arrays.pop("about")))
            known = about["about"] == ABOUT and about["version"] <= VERSION
        except _UNREADABLE:
            raise InputError(
                f"{path} is not a whole votes file, as votes.save(path) writes it; tables are read by read_votes(path)."
            ) from None
        if not known:
            raise InputError(
                f"{path} was written by a newer dissensus (version {about.get('version')} of {about.get('about')}); "
                f"this one reads version {VERSION} of {ABOUT}."
            )
        try:
            votes = cls(classes=tuple(about["classes"]), ordered=about["ordered"], **arrays)
            fault = votes._fault()
        except (TypeError, KeyError, ValueError, IndexError, AttributeError) as why:
            fault = str(why)
        if fault:
            raise InputError(f"{path} is a damaged votes file: {fault}.")
        return votes

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a long table, one row a vote, that ``read_votes`` reads: ``.parquet``, ``.csv``, ``.tsv``, ``.jsonl``.

        An item without votes is a row without a label. Parquet keeps everything. Text files know no types, no unused
        classes and no order: ``read_votes(path, classes=votes.classes, ordered=votes.ordered)`` gives them back.
        """
        from dissensus.votes.write import write

        write(self, path)

    def digest(self) -> str:
        """64 hex digits of SHA-256 that stand for the content.

        Two tables have the same digest exactly if they are equal.
        """
        content = self._content()
        told = [[name, None if a is None else [_kind(a) if a.size else "", a.shape]] for name, a in content.items()]
        sha = hashlib.sha256(json.dumps([self.classes, bool(self.ordered), told], allow_nan=False).encode())
        for array in content.values():
            if array is not None:
                text = array.dtype.kind == "U"
                sha.update(json.dumps(array.tolist()).encode() if text else array.astype("<i8").tobytes())
        return sha.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether items, votes, their order, annotators and classes are the same; notes do not count."""
        if not isinstance(other, Votes):
            return NotImplemented
        if (self.classes, bool(self.ordered)) != (other.classes, bool(other.ordered)):
            return False
        if list(map(type, self.classes)) != list(map(type, other.classes)):
            return False
        mine, yours = self._content(), other._content()
        return all(_same(mine[name], yours[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        per_item = self.votes_per_item
        told = [f"{self.n_items} items", f"{self.n_classes} classes{' in order' if self.ordered else ''}"]
        told.append(f"{self.n_votes} {'multi-label ' if self.multilabel else ''}votes")
        if self.n_items:
            low, high = per_item.min(), per_item.max()
            told.append(f"{low} an item" if low == high else f"{low} to {high} an item")
        if self.n_annotators is not None:
            told.append(f"{self.n_annotators} annotators")
        if self.notes:
            told.append(many(len(self.notes), "note"))
        return f"Votes({', '.join(told)})"

    # -- parts of the above

    def _id(self, position: Any) -> Any:
        return self.items[position].item()

    def _positions(self, index: ArrayLike | slice) -> NDArray[np.int64]:
        index = index if isinstance(index, slice) else np.asarray(index)
        if isinstance(index, np.ndarray) and index.size == 0:
            return np.empty(0, np.int64)
        try:
            return np.atleast_1d(np.arange(self.n_items)[index])
        except IndexError as why:
            raise InputError(f"index does not fit the {self.n_items} items: {why}.") from None

    def _with_votes(self, at: NDArray[np.int64], per_item: NDArray[np.int64], items: Ids | None = None) -> Votes:
        """The table whose votes are those at the positions ``at``."""
        return Votes(
            codes=self.codes[at],
            offsets=offsets_of(per_item),
            items=self.items if items is None else items,
            classes=self.classes,
            ordered=self.ordered,
            label_sets=self.label_sets,
            annotators=None if self.annotators is None else self.annotators[at],
            annotator_names=self.annotator_names,
            notes=self.notes,
        )

    def _strata(self, by: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if by is None:
            # items without votes are a stratum of their own
            label = np.where(self.votes_per_item > 0, self.counts().argmax(1), self.n_classes)
        else:
            label = np.asarray(by)
            if label.shape != (self.n_items,):
                raise InputError(f"by must hold a label for each of {self.n_items} items; its shape is {label.shape}.")
        _, stratum, sizes = np.unique(label, return_inverse=True, return_counts=True)
        return stratum, sizes

    def _content(self) -> dict[str, NDArray[Any] | None]:
        """What equality and the digest look at: sets and annotators that no vote uses do not count."""
        content: dict[str, NDArray[Any] | None] = {"items": self.items, "offsets": self.offsets, "codes": self.codes}
        if self.label_sets is not None:
            used, codes = np.unique(self.codes, return_inverse=True)
            rows, place = np.unique(self.label_sets[used], axis=0, return_inverse=True)
            content |= {"codes": place.reshape(-1)[codes], "sets": rows}
        else:
            content["sets"] = None
        content |= {"annotators": None, "annotator_names": None}
        if self.annotators is not None and self.annotator_names is not None:
            who, first = first_appearance(self.annotators, len(self.annotator_names))
            content |= {"annotators": who, "annotator_names": self.annotator_names[self.annotators[first]]}
        return content

    def _fault(self) -> str | None:
        """What is wrong inside, for a table that comes from outside."""
        n_sets = self.n_classes if self.label_sets is None else len(self.label_sets)
        if self.offsets.ndim != 1 or self.offsets.dtype.kind not in "iu" or len(self.offsets) == 0:
            return "offsets is not a column of whole numbers"
        if self.offsets[0] != 0 or self.offsets[-1] != self.n_votes or (self.votes_per_item < 0).any():
            return f"offsets do not lead from 0 to {self.n_votes} votes"
        if len(self.items) != self.n_items:
            return f"there are {len(self.items)} ids for {self.n_items} items"
        if self.codes.dtype.kind != "u" or (self.n_votes and self.codes.max() >= n_sets):
            return f"a vote is outside of the {n_sets} labels"
        if self.label_sets is not None and self.label_sets.shape != (n_sets, self.n_classes):
            return "sets do not fit the classes"
        if (self.annotators is None) != (self.annotator_names is None):
            return "annotators and their names do not come together"
        if self.annotators is not None and self.annotator_names is not None:
            if self.annotators.shape != self.codes.shape:
                return "annotators do not fit the votes"
            if self.n_votes and not 0 <= self.annotators.min() <= self.annotators.max() < len(self.annotator_names):
                return "an annotator has no name"
        check_classes(self.classes)
        refuse_duplicates("items", as_ids("items", self.items))
        return None


def check_classes(classes: Iterable[Any]) -> tuple[Class, ...]:
    """``classes`` as a tuple of at least two different text, whole or floating-point values."""
    if isinstance(classes, str):
        meant = json.dumps([name.strip() for name in classes.split(",")], ensure_ascii=False)
        raise InputError(f"classes must be a list of classes, such as {meant}, but it is the text {classes!r}.")
    names = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
    for name in names:
        if not isinstance(name, (str, int, float)) or name != name or name == "":
            raise InputError(f"a class must be a number or a text that is not empty, but {name!r} is neither.")
    if (twice := first_duplicate(names)) is not None:
        raise InputError(f"classes must differ, but {twice!r} occurs more than once.")
    if len(names) < 2:
        told = f"the only class is {names[0]!r}" if names else "there is none"
        raise InputError(f"at least two classes are needed, but {told}. Name all of them", give=["classes"])
    return names


def code_dtype(n_sets: int) -> type[np.unsignedinteger]:
    return np.uint8 if n_sets <= 1 << 8 else np.uint16 if n_sets <= 1 << 16 else np.uint32


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """0 and the running sums of ``sizes``.

    >>> offsets_of(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def ranges(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """The ranges ``start`` to ``start + size - 1``, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    offsets = offsets_of(sizes)
    at = np.repeat(starts - offsets[:-1], sizes)
    at += np.arange(offsets[-1])
    return at


def cells_of(
    codes: NDArray[Any], per_item: NDArray[np.int64], n_classes: int, label_sets: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """Where votes count in a matrix (items, classes), read row by row: a cell for every class that a vote names.

    >>> cells_of(np.array([2, 1, 1]), np.array([1, 2]), n_classes=3, label_sets=None)
    array([2, 4, 4])
    """
    cells = np.repeat(np.arange(len(per_item)) * n_classes, per_item)
    if label_sets is not None:
        member = np.nonzero(label_sets)[1]
        size = label_sets.sum(1)
        cells = np.repeat(cells, size[codes])
        codes = member[ranges(offsets_of(size)[codes], size[codes])]
    np.add(cells, codes, out=cells, casting="unsafe")
    return cells


def first_appearance(codes: NDArray[Any], size: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """``codes`` (all below ``size``) renumbered in the order in which they first appear, and where each first does.

    >>> first_appearance(np.array([4, 2, 4, 0]), 5)
    (array([0, 1, 0, 2], dtype=int32), array([0, 1, 3]))
    """
    position = np.int32 if len(codes) < 1 << 31 else np.int64
    first: NDArray[Any] = np.full(size, -1, position)
    # the last assignment stays, which is that of the earliest position
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1, dtype=position)
    new = np.zeros(len(codes), bool)
    new[first[first >= 0]] = True
    at = np.flatnonzero(new)
    number = np.empty(size, np.int32)
    number[codes[at]] = np.arange(len(at), dtype=np.int32)
    return number[codes], at


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return (_kind(a) == _kind(b) or a.size == 0) and np.array_equal(a, b)


def _kind(ids: NDArray[Any]) -> str:
    return "text" if ids.dtype.kind == "U" else "whole numbers"


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number of votes, 1 or more, but it is {value!r}.")
    return int(value)
