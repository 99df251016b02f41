"""Lists: a row an item, all its votes in one cell; where annotators are known, those in another, side by side.

A cell is a list, or text that is one: as JSON or Python write it, or cut at a comma, a semicolon or "|".
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.words import listed, many
from dissensus.votes import long
from dissensus.votes.ask import ITEM, Ask, called, find, missing_column
from dissensus.votes.build import as_column, from_columns, without_blanks
from dissensus.votes.cleaned import cleaned
from dissensus.votes.long import as_labels
from dissensus.votes.numbers import SAMPLE, whole_numbers
from dissensus.votes.oddities import LIST_MARKS
from dissensus.votes.source import Rows, Source, Table, TypedTable, without_blank_lines
from dissensus.votes.table import Votes
from dissensus.votes.wide import refuse_twice

LABELS = ("labels", "annotations", "label")
ANNOTATORS = ("annotators", "workers", "annotator", "worker")

_ENTRY = r"""\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,'"\[\]]+)\s*"""
# Python itself would read the ['x' 'y'] of NumPy as ['xy']
_PYTHON = re.compile(rf"\[(?:{_ENTRY}(?:,{_ENTRY})*)?,?\s*\]")
_OTHER_BRACKETS = r"^\s*(\([^()]*\)|\{[^{}]*\})\s*$"  # a tuple or a set of Python, an array of PostgreSQL


def fits(source: Source, ask: Ask) -> bool:
    """Whether labels and annotators are both in lists. Of labels alone, a list may be one vote for several classes."""
    if not isinstance(source, Table):
        return False
    label = called(source, LABELS) if ask.label is None else [ask.label]
    who = called(source, ANNOTATORS) if ask.annotator is None else [ask.annotator]
    if isinstance(source, TypedTable) and label and who and {*label, *who} <= {*source.lists()}:
        return True
    return any(_in_text(source, ask, *pair) for pair in product(label, who) if {*pair} <= {*source.columns})


def _in_text(source: Table, ask: Ask, label: str, who: str) -> bool:
    """Whether cells of text are lists, and most of them have as many labels as annotators.

    Of a table that may be long a beginning is looked at, since it may hold votes by the million; there a label and a
    name of two parts each ("Doe, Jane") are no such lists if an item has several rows.
    """
    item = called(source, ITEM) if ask.item is None else [ask.item]
    at = [source.columns.index(name) for name in (label, who, *item) if name in source.columns]
    may_be_long = long.fits(source, ask)
    labels, people, *ids = source.beginning(at, SAMPLE) if may_be_long else source.cells(at)
    if not {labels.dtype, people.dtype} <= {pl.String} or (may_be_long and any(i.is_duplicated().any() for i in ids)):
        return False
    for mark in LIST_MARKS if ask.separator is None else (ask.separator,):
        one, other = (_entries(column, mark) for column in (labels, people))
        several = (one > 1) | (other > 1)
        if 2 * np.count_nonzero(several & (one == other)) > np.count_nonzero(several):
            return True
    return False


def _entries(cells: pl.Series, mark: str) -> NDArray[np.uint32]:
    """How many entries a list in text has, about: a mark inside of quotes counts, too."""
    mark = "," if _written(cells) else mark
    return (cells.str.count_matches(mark, literal=True) + 1).fill_null(0).to_numpy()


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    item = find(source, "item", ask.item, ITEM)
    label = find(source, "label", ask.label, LABELS)
    who = None if ask.anonymous and not ask.without else find(source, "annotator", ask.annotator, ANNOTATORS)
    if item is None:
        raise missing_column(source, "item", ITEM)
    if label is None:
        raise missing_column(source, "label", LABELS)
    cells = source.cells([item, label] if who is None else [item, label, who])
    cells, rows = (cells, range(len(cells[0]))) if source.typed else without_blank_lines(cells)
    ids, *lists = cells
    ids = ids if source.typed else whole_numbers(ids)
    refuse_twice(source, ids, rows)
    lists = [_without_empty(column) for column in _as_lists(source, lists, rows, ask.separator)]
    sizes = [column.list.len().fill_null(0).to_numpy() for column in lists]
    if len(lists) == 2:
        _refuse_other_sizes(source, rows, *sizes)
    # an item without any vote keeps one row, and so its place
    row = np.repeat(np.arange(len(ids)), np.maximum(sizes[0], 1))
    labels, *annotators = (column.explode() for column in lists)
    labels, none, notes = cleaned(labels, annotators[0] if annotators else None, ask)
    annotators = [] if ask.anonymous else annotators
    ids = ids.gather(row)
    if not source.typed:
        annotators = [whole_numbers(column) for column in annotators]
    if cells[1].dtype == pl.String and not labels.dtype.is_nested():
        labels = as_labels(labels, replace(ask, separator=None), typed=False)
    votes = from_columns(
        ids,
        labels,
        annotators[0] if annotators else None,
        classes=ask.classes,
        ordered=ask.ordered,
        place=lambda at: f"{source.place(int(rows[row[at]]))}, vote {at - int(np.searchsorted(row, row[at])) + 1}",
        told=none,
        without=["anonymous"],
        ignore=["ignore"],
        repeats=ask.repeats,
    )
    return replace(votes, notes=(*notes, *votes.notes))


def _as_lists(source: Table, columns: list[pl.Series], rows: Rows, separator: str | None) -> list[pl.Series]:
    """Columns of lists; those of text are cut at the separator, or else at the one mark that cuts the first of them."""
    for column in columns:
        if separator is not None and column.dtype != pl.String:
            raise InputError(f"separator={separator!r} cuts lists of text, but {column.name!r} holds {column.dtype}.")
    cut = [column for column in columns if column.dtype == pl.String and not _written(column)]
    if separator is None and cut:
        separator = _mark(source, cut[0])
    return [_as_list(source, column, rows, separator) for column in columns]


def _as_list(source: Table, column: pl.Series, rows: Rows, separator: str | None) -> pl.Series:
    if isinstance(column.dtype, pl.List):
        return column
    if column.dtype != pl.String:
        raise InputError(f"{source.name}: the column {column.name!r} holds no lists, but {column.dtype}.")
    column = without_blanks(column)
    if separator is not None and not _written(column):
        _refuse_other_brackets(source, column, rows, separator)
        return column.str.split(separator).list.eval(pl.element().str.strip_chars())
    return as_column(column.name, [_parsed(source, int(row), cell) for row, cell in zip(rows, column, strict=True)])


def _written(cells: pl.Series) -> bool:
    """Whether cells hold lists as JSON or Python write them."""
    return bool(cells.str.strip_chars_start().str.starts_with("[").any())


def _parsed(source: Table, row: int, cell: str | None) -> list[Any] | None:
    """The list that is written in a cell. Nothing but plain values is read from it."""
    if cell is None:
        return None
    try:
        found = json.loads(cell)
    except ValueError:
        try:
            found = ast.literal_eval(cell.strip()) if _PYTHON.fullmatch(cell.strip()) else None
        except (ValueError, SyntaxError):
            found = None
    if not isinstance(found, list):
        raise InputError(
            f"{source.place(row)}: {cell!r:.60} is no list as JSON or Python write it, as cells of a column are read "
            "of which one begins with '['. Write all of them so, or all with what stands between votes alone."
        )
    return found


def _refuse_other_brackets(source: Table, column: pl.Series, rows: Rows, separator: str) -> None:
    """An error for brackets that would become a part of the first and of the last label."""
    within = (column.str.contains(_OTHER_BRACKETS) & column.str.contains(separator, literal=True)).fill_null(False)
    if within.any():
        row = int(within.arg_max() or 0)
        raise InputError(
            f"{source.place(int(rows[row]))}: the list {column[row]!r:.60} is in brackets that are not read; write it "
            "in square ones, or in none."
        )


def _mark(source: Table, column: pl.Series) -> str:
    """What stands between the votes in cells of text."""
    found = [mark for mark in LIST_MARKS if column.str.contains(mark, literal=True).any()]
    if len(found) == 1:
        return found[0]
    told = f"can be cut at {listed([*map(repr, found)])}" if found else "is no list: there is no ',', ';' or '|' in it"
    raise InputError(
        f"{source.name}: what is in the column {column.name!r} {told}; say what stands between votes",
        give=["separator"],
    )


def _without_empty(lists: pl.Series) -> pl.Series:
    """None for an empty list: it is a row without a vote, and stays one when lists are laid end to end."""
    return pl.select(pl.when(lists.list.len() > 0).then(lists)).to_series().alias(lists.name)


def _refuse_other_sizes(source: Table, rows: Rows, labels: Any, annotators: Any) -> None:
    other = labels != annotators
    if other.any():
        at = int(other.argmax())
        told = f"{many(labels[at], 'label')} for {many(annotators[at], 'annotator')}, which go together one by one"
        raise InputError(
            f"{source.place(int(rows[at]))}: there is a list of {told}. Mend it, or leave all annotators out",
            switch_on=["anonymous"],
        )
