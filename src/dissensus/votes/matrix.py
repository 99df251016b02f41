"""The counts matrix: a row an item, a column a class, whole numbers of votes; annotators are unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.votes import long
from dissensus.votes.ask import ITEM, Ask, find, numbers_or_text, whole_numbers
from dissensus.votes.source import Arrays, Source, Table
from dissensus.votes.table import ABOUT, Votes
from dissensus.votes.wide import refuse_twice


def fits(source: Source, ask: Ask) -> bool:
    """Whether every cell beside the items is a number, or the columns are the classes that were named."""
    if isinstance(source, Arrays):
        return "about" not in source.arrays
    if not isinstance(source, Table) or long.fits(source, ask):
        return False
    item = find(source, "item", ask.item, ITEM)
    at = [position for position in range(len(source.columns)) if position != item]
    if ask.classes is not None:
        return [source.columns[position] for position in at] == list(map(str, ask.classes)) or item is None
    return all(numbers_or_text(c).dtype.is_numeric() and not c.null_count() for c in _filled(source.cells(at)))


def read(source: Source, ask: Ask) -> Votes:
    return _read_arrays(source, ask) if isinstance(source, Arrays) else _read_table(source, ask)


def _read_arrays(source: Arrays, ask: Ask) -> Votes:
    arrays = source.arrays
    name = "counts" if "counts" in arrays else next(iter(arrays)) if len(arrays) == 1 else None
    if name is None:
        raise InputError(f"{source.name} must hold an array 'counts', but its arrays are {', '.join(arrays)}.")
    classes = ask.classes if ask.classes is not None else arrays["classes"].tolist() if "classes" in arrays else None
    try:
        found = Votes.from_counts(arrays[name], classes=classes, items=arrays.get("items"), ordered=ask.ordered)
    except InputError as why:
        raise InputError(f"{source.name}: {why}") from None
    return _noting_empty(found)


def _read_table(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    item = find(source, "item", ask.item, ITEM)
    at = [position for position in range(len(source.columns)) if position != item]
    names = [source.columns[position] for position in at]
    headless = item is None and not source.typed and _headless(source, ask)
    columns = _filled(source.cells(at if item is None else [*at, item]))
    counts = np.stack([_numbers(source, name, column) for name, column in zip(names, columns, strict=False)], axis=1)
    if headless:
        counts = np.vstack([np.array([names], np.float64), counts])
        names = [str(position) for position in range(len(names))]
    elif len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source.name} has more than one column {twice!r}; a column is a class.")
    ids = None
    if item is not None:
        ids = columns[-1] if source.typed else whole_numbers(columns[-1])
        if ids.null_count():
            raise InputError(f"{source.place(int(ids.is_null().arg_max() or 0))}: the item is missing.")
        refuse_twice(source, ids, np.arange(len(ids)))
    _refuse_no_count(source, counts, names, headless)
    classes = _classes(source, names, ask, headless)
    return _noting_empty(
        Votes.from_counts(counts, classes=classes, items=None if ids is None else ids.to_list(), ordered=ask.ordered)
    )


def _headless(source: Table, ask: Ask) -> bool:
    """Whether the first line holds counts and no names: it does if names would repeat, or are not the given classes."""
    names = pl.Series(source.columns)
    if whole_numbers(names).dtype == pl.String:
        return False
    if ask.classes is not None:
        return source.columns != list(map(str, ask.classes))
    if names.is_duplicated().any():
        return True
    raise InputError(
        f"the first line of {source.name}, {','.join(source.columns[:20])}, may be the names of classes or the first "
        "item's counts; name the classes with classes=[...] to say which."
    )


def _filled(columns: list[pl.Series]) -> list[pl.Series]:
    """Columns without the rows in which all are empty: blank lines."""
    empty = np.logical_and.reduce([column.is_null().to_numpy() for column in columns])
    return [column.gather(np.flatnonzero(~empty)) for column in columns] if empty.any() else columns


def _numbers(source: Table, name: str, column: pl.Series) -> NDArray[np.float64]:
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_max() or 0)
        told = "is empty" if column[row] is None else f"holds {column[row]!r}"
        raise InputError(f"{source.place(row)}, column {name!r} {told}, but a whole number of votes was expected.")
    return numbers.to_numpy()


def _refuse_no_count(source: Table, counts: NDArray[np.float64], names: list[str], headless: bool) -> None:
    wrong = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        where = f"{source.name}, line 1" if headless and row == 0 else source.place(int(row) - headless)
        raise InputError(
            f"{where}, column {names[column]!r} holds {counts[row, column]:.6g}, but a whole number of votes was "
            "expected. Shares cannot be turned back into votes."
        )


def _classes(source: Table, names: list[str], ask: Ask, headless: bool) -> Any:
    if ask.classes is None:
        return whole_numbers(pl.Series(names)).to_list()
    if not headless and names != list(map(str, ask.classes)):
        raise InputError(
            f"{source.name} has the columns {', '.join(names[:20])}, but the classes were said to be "
            f"{', '.join(map(str, ask.classes[:20]))}; a column is a class, in this order."
        )
    return ask.classes


def _noting_empty(votes: Votes) -> Votes:
    empty = np.flatnonzero(votes.votes_per_item == 0)
    if not empty.size:
        return votes
    note = f"{empty.size} items have no votes (first: {votes.items[empty[0]].item()!r})."
    return Votes(**(vars(votes) | {"notes": (note,)}))


def fits_saved(source: Source, ask: Ask) -> bool:
    """Whether this is a file that ``votes.save`` wrote."""
    return isinstance(source, Arrays) and ABOUT in str(source.arrays.get("about"))


def read_saved(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Arrays)
    return Votes.load(source.path)
