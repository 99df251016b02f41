"""The counts matrix: a row an item, a column a class, whole numbers of votes; annotators are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.arrays import SHARES
from dissensus.base.errors import InputError
from dissensus.base.words import first
from dissensus.votes import long
from dissensus.votes.ask import ITEM, Ask, find, is_text, refuse_none, texts_told, votes_columns
from dissensus.votes.build import Place, without_votes
from dissensus.votes.numbers import whole_numbers
from dissensus.votes.source import Arrays, Source, Table, without_blank_lines
from dissensus.votes.table import Class, Votes
from dissensus.votes.wide import refuse_twice

IDS = {"", "id", "ids", "uid", "uuid", "index", "idx", "row", "unnamed: 0"}  # names of columns that number the rows
ENOUGH = 10  # rows, among which a column of counts has some number twice, and a table of counts some 0


def fits(source: Source, ask: Ask) -> bool:
    """Whether every cell beside the items is a number, or the columns are the classes that were named."""
    if isinstance(source, Arrays):
        return "about" not in source.arrays
    if not isinstance(source, Table) or long.fits(source, ask):
        return False
    item = find(source, "item", ask.item, ITEM)
    at = _class_columns(source, item, ask)
    if not at:
        return False
    if ask.classes is not None:
        return item is None or [source.columns[position] for position in at] == list(map(str, ask.classes))
    columns, _ = without_blank_lines(source.cells(at))
    missing = [_as_numbers(column).null_count() for column in columns]
    # without items it can be nothing else, so a few cells that are no numbers are mistakes, which read() names
    return all(cells == 0 if item is not None else cells < len(columns[0]) for cells in missing)


def read(source: Source, ask: Ask) -> Votes:
    votes = _read_arrays(source, ask) if isinstance(source, Arrays) else _read_table(source, ask)
    notes = (*votes.notes, *without_votes(votes.votes_per_item, votes.items))
    return replace(votes, notes=notes) if notes else votes


def _read_arrays(source: Arrays, ask: Ask) -> Votes:
    arrays = source.arrays
    name = "counts" if "counts" in arrays else next(iter(arrays)) if len(arrays) == 1 else None
    if name is None:
        raise InputError(f"{source.name} must hold an array 'counts', but its arrays are {', '.join(arrays)}.")
    classes = ask.classes if ask.classes is not None else arrays["classes"].tolist() if "classes" in arrays else None
    return Votes.from_counts(arrays[name], classes=classes, items=arrays.get("items"), ordered=ask.ordered)


def _read_table(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    item = find(source, "item", ask.item, ITEM)
    at = _class_columns(source, item, ask)
    refuse_none(source, at)
    names = [source.columns[position] for position in at]
    columns, rows = without_blank_lines(source.cells(at if item is None else [*at, item]))

    def place(row: int) -> str:
        return source.place(int(rows[row]))

    ids = None
    if item is not None:
        ids = columns.pop() if source.typed else whole_numbers(columns.pop())
        if ids.null_count():
            raise InputError(
                f"{place(int(ids.is_null().arg_max() or 0))}: the item is missing. Fill it in or leave the row out."
            )
        refuse_twice(source, ids, rows)
    counts = np.stack([_whole(name, column, place) for name, column in zip(names, columns, strict=True)], axis=1)
    if item is None and not source.typed and _headless(source, ask):
        counts = np.vstack([np.array([names], np.int64), counts])
        classes: Sequence[Class] | None = ask.classes
    else:
        classes = _classes(source, names, ask)
    if ask.classes is None:
        _refuse_others(source, names, counts, item)
    items = None if ids is None else ids.to_list()
    votes = Votes.from_counts(counts, classes=classes, items=items, ordered=ask.ordered)
    notes = [*texts_told(source, item, at, "name the classes"), *_no_zero(counts, item, ask)]
    return replace(votes, notes=tuple(notes))


def _refuse_others(source: Table, names: Sequence[str], counts: NDArray[np.int64], item: int | None) -> None:
    """An error for a column that is none of counts: ids, whose numbers would be votes, or the sum of the others."""
    for name, column in zip(names, counts.T, strict=True):
        once = len(column) >= ENOUGH and len(np.unique(column)) == len(column)
        if item is None and (once or _is_called_ids(name)):
            raise InputError(
                f"{source.name}: the column {name!r} may hold ids{', since no number is in it twice' if once else ''}, "
                "and as counts they would be votes for a class of that name; say which column holds the items and, if "
                "a row is one vote, which the labels; or, if it is a class, name all classes",
                give=["item", "label", "classes"],
            )
        if len(names) > 2 and len(column) >= ENOUGH and (2 * column == counts.sum(1)).all():
            raise InputError(
                f"{source.name}: the column {name!r} is the sum of the others in every row. Leave it out of the file "
                "or, if it is a class, name all classes",
                give=["classes"],
            )


def _is_called_ids(name: str) -> bool:
    plain = name.strip().lower()
    return plain in IDS or plain.endswith(("_id", " id", "-id"))


def _no_zero(counts: NDArray[np.int64], item: int | None, ask: Ask) -> list[str]:
    """A note on a table without items that may be one of ratings, a column an annotator."""
    if item is not None or ask.classes is not None or len(counts) < ENOUGH or not counts.all():
        return []
    return [
        "Each column is read as a class, and each number as so many votes for it; but no number is 0. If a column is "
        'an annotator, give the file a column of items, and say that its layout is "wide".'
    ]


def _class_columns(source: Table, item: int | None, ask: Ask) -> list[int]:
    """The columns of the classes, one called as texts are among them if it is named as a class or holds counts.

    Groups are often numbered: whole numbers in that column are no sign of counts.
    """
    if ask.classes is not None:
        return votes_columns(source, item, also=list(map(str, ask.classes)))
    also = [name for name in source.columns if is_text(name) and name.lower() != "group"]
    at = votes_columns(source, item, also=also)
    if not also:
        return at
    columns, _ = without_blank_lines(source.cells(at))
    return [
        position
        for position, column in zip(at, columns, strict=True)
        if not is_text(source.columns[position]) or not _wrong(_as_floats(column)).any()
    ]


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
        "item's counts; to say which, name the classes",
        give=["classes"],
    )


def _as_numbers(column: pl.Series) -> pl.Series:
    """Cells as numbers, None for those that are none."""
    if column.dtype.is_numeric() or column.dtype == pl.String:
        return column.cast(pl.Float64, strict=False)
    return pl.Series([None] * len(column), dtype=pl.Float64)


def _whole(name: str, column: pl.Series, place: Place) -> NDArray[np.int64]:
    """Cells as whole numbers of votes, or an error that names the first that is none."""
    numbers = _as_floats(column)
    wrong = _wrong(numbers)
    if wrong.any():
        row = int(wrong.argmax())
        told = "is empty" if column[row] is None else f"holds {column[row]}"
        hint = f" {SHARES}" if 0 < numbers[row] < 1 else ""
        raise InputError(f"{place(row)}, column {name!r} {told}, but a whole number of votes was expected.{hint}")
    return numbers.astype(np.int64)


def _as_floats(column: pl.Series) -> NDArray[np.float64]:
    return _as_numbers(column).fill_null(np.nan).to_numpy()


def _wrong(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which are no whole numbers of votes."""
    return ~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2**53))


def _classes(source: Table, names: list[str], ask: Ask) -> Sequence[Class]:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source.name} has more than one column {twice!r}; a column is a class.")
    if ask.classes is None:
        return whole_numbers(pl.Series(names)).to_list()
    if names != list(map(str, ask.classes)):
        raise InputError(
            f"{source.name} has the columns {first(names)}, but the classes were said to be "
            f"{first([*map(str, ask.classes)])}; a column is a class, in this order."
        )
    return ask.classes
