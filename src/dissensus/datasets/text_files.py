"""Texts from one table (CSV, TSV, JSON, JSON Lines, Parquet): an id, a text or two, and what must stay together."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.datasets.groups import by_words
from dissensus.datasets.texts import Texts
from dissensus.votes.split import group_numbers

if TYPE_CHECKING:
    import polars as pl

    from dissensus.votes.ask import Ask
    from dissensus.votes.source import Table

ID = ("id", "item", "task")
SAMPLE = 1000  # rows that are looked at
WORDS = 3  # or more, in half of the rows: labels and names have fewer
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Columns:
    """The columns of a table of texts by name; None: the usual names ``id``, ``text``, ``text_pair`` and ``group``."""

    ids: str | None = None
    text: str | None = None
    text_pair: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class NamedTexts:
    """Texts and their ids, in the order of the file."""

    ids: list[str]
    texts: Texts
    groups: NDArray[np.int64]
    rows: int  # of the file that hold them: more than ids where some say the same again
    passed: list[str]  # ids without a text that were passed over
    numbered: bool  # whether ids are numbers of rows, though there are columns that might hold some


def read_texts(
    path: Path,
    columns: Columns,
    delimiter: str | None = None,
    reading: Mapping[str, Any] = NOTHING,
    *,
    voted: bool = True,
    needed: Container[str] | None = None,
) -> NamedTexts:
    """The texts of a table; an id may stand on several rows, as it does in a votes file, if its texts are the same.

    Without a column ``group``, items whose first texts have the same words form one. ``reading`` is what ``read_votes``
    was told of votes in this file: ids are theirs, and their columns no texts, though they may have such a name.
    Columns of text are cut at ``delimiter``, which is seen in the header.
    Where nobody ``voted`` on the items, nothing is matched by id: without a column of ids, rows are numbered from 0.
    A row without a text is refused, or passed over if its id is not among those that are ``needed``.
    """
    import polars as pl

    table = _open(path, delimiter, fewest=2 if voted else 1)
    places = _places(table, columns, _asked(reading), needed=("ids", "text") if voted else ("text",))
    cells = table.cells(list(places.values()))
    if not table.typed:
        cells = [column.cast(pl.String) for column in cells]  # a text may be a number
    numbered = "id" not in places and len(table.columns) > len(places)
    if "id" not in places:
        places, cells = {"id": -1, **places}, [_numbered(table, len(cells[0])), *cells]
    rows: dict[str, tuple[Any, ...]] = {}
    kept, passed = 0, dict[str, None]()
    for row, (name, *said) in enumerate(zip(*cells, strict=True)):
        if all(cell is None for cell in (name, *said)):
            continue  # a blank line
        if needed is not None and str(name) not in needed and any(map(_blank, said)) and not _blank(name):
            passed[str(name)] = None
            continue
        for role, cell in zip(places, (name, *said), strict=True):
            if _blank(cell):
                told = f"{table.place(row)}: there is no {role}. Leave such items out"
                if role == "id":
                    raise InputError(f"{told}.")
                raise InputError(told + ("; or leave out the votes on them" if voted else ""), give=['others="drop"'])
            if role in ("text", "text_pair") and not isinstance(cell, str):
                raise InputError(f"{table.place(row)}: the {role} is {cell!r:.40}, which is no text.")
        kept += 1
        if rows.setdefault(str(name), tuple(said)) != tuple(said):
            raise InputError(f"{table.place(row)}: item {name!r} stood there before, with another text or group.")
    if not rows:
        raise InputError(f"{table.name} has no rows but blank ones{' and those without a text' if passed else ''}.")
    parts = dict(zip(list(places)[1:], zip(*rows.values(), strict=True), strict=True))
    texts = Texts(parts["text"], parts.get("text_pair"))
    groups = group_numbers([str(name) for name in parts["group"]]) if "group" in parts else by_words(texts.first)
    return NamedTexts(list(rows), texts, groups, kept, [name for name in passed if name not in rows], numbered)


def columns_of(path: Path, delimiter: str | None = None) -> list[str]:
    """What the columns of a table are called, of texts or of numbers."""
    return _open(path, delimiter, fewest=1).columns


def holds_texts(path: Path, item: str, reading: Mapping[str, Any]) -> bool:
    """Whether a file of votes has the columns that :func:`read_texts` looks for, with ``item`` among the ids."""
    import polars as pl

    try:
        table = _open(path, reading.get("delimiter"), fewest=2)
        (ids,) = table.cells([_places(table, Columns(), _asked(reading), needed=("ids", "text"))["id"]])
        return item in ids.cast(pl.String)
    except (InputError, pl.exceptions.PolarsError):  # of another shape, or ids that are lists
        return False


@dataclass(frozen=True)
class Likely:
    """A column that may hold the texts of a votes file."""

    name: str
    gaps: bool  # in some of the rows that were looked at


def likely_texts(path: Path, reading: Mapping[str, Any]) -> Likely | None:
    """The column of a long votes file that holds what people write, under a name that nobody told; None if none does.

    Of the first rows, or of all if no item is there twice in these: several words in most of them, the same in all of
    an item, and another for most items. Of several such columns, the one with most to read.
    """
    import polars as pl

    from dissensus.votes.ask import ANNOTATOR, LABEL, find

    try:
        table, ask = _open(path, reading.get("delimiter"), fewest=2), _asked(reading)
        usual = {"item": ID, "annotator": ANNOTATOR, "label": LABEL}
        ids, *votes = (find(table, role, getattr(ask, role), names) for role, names in usual.items())
        if ids is None or votes[-1] is None:
            return None
        others = [at for at in range(len(table.columns)) if at not in (ids, *votes)]
        items, *columns = table.beginning([ids, *others], SAMPLE)
        texts = {at: column for at, column in zip(others, columns, strict=True) if _reads_like_texts(items, column)}
        if texts and not items.is_duplicated().any():  # annotator by annotator: these may be what each says of an item
            items, *columns = table.cells([ids, *texts])
            texts = {at: column for at, column in zip(texts, columns, strict=True) if _reads_like_texts(items, column)}
    except (InputError, pl.exceptions.PolarsError):  # of another shape
        return None
    if not texts:
        return None
    longest = max(texts, key=lambda at: texts[at].str.len_chars().sum())
    return Likely(table.columns[longest], gaps=any(map(_blank, texts[longest])))


def _reads_like_texts(items: pl.Series, column: pl.Series) -> bool:
    import polars as pl

    if column.dtype != pl.String or items.dtype.is_nested():
        return False
    said = pl.DataFrame({"item": items, "text": column}).drop_nulls()
    wordy = (said["text"].str.count_matches(r"\S+") >= WORDS).sum()
    each = said.group_by("item").agg(pl.col("text").n_unique())
    different = said["text"].n_unique()
    return 2 * wordy > said.height and 2 * different > each.height and not (each["text"] > 1).any()


def _open(path: Path, delimiter: str | None, fewest: int) -> Table:
    from dissensus.votes import argilla, doccano, label_studio
    from dissensus.votes.source import Document, Table, open_source, table_of

    given = path if path.is_dir() else existing_file(path, "table of texts")
    opened = open_source(given, delimiter, "texts_delimiter", fewest)
    if isinstance(opened, Table):
        return opened
    exported = (tool.data_of(opened) for tool in (label_studio, argilla, doccano))
    table = next(filter(None, exported), None) or (table_of(opened) if isinstance(opened, Document) else None)
    if table is None:
        raise InputError(
            f"{path} is no table of texts: CSV, TSV, JSON (a list of flat objects), JSON Lines or Parquet with the "
            "columns id and text."
        )
    return table


def _blank(cell: Any) -> bool:
    return cell is None or not str(cell).strip()


def _numbered(table: Table, rows: int) -> pl.Series:
    """A number for every row, but for the blank lines of a text table: those have none, and are not counted."""
    import polars as pl

    from dissensus.votes.source import without_blank_lines

    kept = range(rows) if table.typed else without_blank_lines(table.cells(range(len(table.columns))))[1]
    numbers: list[int | None] = [None] * rows
    for number, row in enumerate(kept):
        numbers[row] = number
    return pl.Series(numbers)


def _asked(reading: Mapping[str, Any]) -> Ask:
    """What was told of the columns of votes."""
    from dissensus.votes.ask import Ask

    told: dict[str, Any] = {role: reading.get(role) for role in ("item", "annotator", "annotators", "label")}
    return Ask(**told)


def _places(table: Table, columns: Columns, ask: Ask, needed: Sequence[str]) -> dict[str, int]:
    """The position of every column that is there, that of the ids first."""
    from dissensus.votes import prodigy
    from dissensus.votes.ask import find, missing_column

    columns = replace(columns, ids=columns.ids or ask.item)
    votes = {ask.annotator, ask.label, *(ask.annotators or ())}
    ids = (prodigy.item_of(table, ask),) if prodigy.fits(table, ask) else ID
    usual = {"ids": ids, "text": ("text",), "text_pair": ("text_pair",), "group": ("group",)}
    found = {
        role: find(table, role, getattr(columns, role), [name for name in names if name not in votes])
        for role, names in usual.items()
    }
    for role in needed:
        if found[role] is None:
            raise missing_column(table, role, usual[role])
    return {"id" if role == "ids" else role: place for role, place in found.items() if place is not None}
