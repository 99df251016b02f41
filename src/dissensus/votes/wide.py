"""The wide table: a row an item, a column an annotator, an empty cell where there is no vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from dissensus.base.errors import InputError, unknown
from dissensus.votes import long
from dissensus.votes.ask import ITEM, Ask, find, missing_column, refuse_none, texts_told, votes_columns
from dissensus.votes.build import from_columns, without_blanks
from dissensus.votes.cleaned import cleaned
from dissensus.votes.numbers import whole_numbers
from dissensus.votes.oddities import odd_annotators, odd_lists, odd_majority
from dissensus.votes.source import Rows, Source, Table, without_blank_lines
from dissensus.votes.table import Votes


def fits(source: Source, ask: Ask) -> bool:
    """Whether there is a column of items, first or named, and neither the names of a long table nor of the classes."""
    if not isinstance(source, Table) or long.fits(source, ask):
        return False
    item = find(source, "item", ask.item, ITEM)
    if item is None or (ask.item is None and item != 0):
        return False
    if ask.classes is None:
        return bool(votes_columns(source, item))
    classes = list(map(str, ask.classes))
    named = [source.columns[at] for at in votes_columns(source, item, also=classes)]
    return bool(votes_columns(source, item)) and named != classes


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    item = find(source, "item", ask.item, ITEM)
    if item is None:
        raise missing_column(source, "item", ITEM)
    others = _annotators(source, item, ask.annotators)
    ids, *votes = cells = source.cells([item, *others])
    names = [source.columns[at] for at in others]
    if ask.annotators is None:
        _refuse_labels(source, item, others, votes)
    rows: Rows = range(len(ids))
    if not source.typed:
        (ids, *votes), rows = without_blank_lines(cells)
        ids = whole_numbers(ids)
    refuse_twice(source, ids, rows)
    people = pl.Series(names)
    labels, _, none = cleaned(
        _one_column(source, votes), people.gather(np.repeat(np.arange(len(names)), len(ids))), ask
    )
    labels = without_blanks(labels)
    # row by row, as one reads; a row without any vote keeps one empty cell, and so its item
    said = labels.is_not_null().to_numpy().reshape(len(votes), len(ids)).T.copy()
    said[~said.any(1), 0] = True
    at, who = np.nonzero(said)
    labels = labels.gather(who * len(ids) + at)
    if not source.typed or ask.separator is not None:
        labels = long.as_labels(labels, ask, source.typed)
    table = from_columns(
        ids.gather(at),
        labels,
        whole_numbers(people).gather(who),
        classes=ask.classes,
        ordered=ask.ordered,
        place=lambda row: f"{source.place(int(rows[at[row]]))}, column {names[who[row]]!r}",
        ignore=["ignore"],
        repeats=ask.repeats,
        several=['layout="lists"'],
    )
    table = replace(table, notes=(*none, *table.notes))
    if ask.annotators is not None:
        return table
    texts = texts_told(source, item, others, "name all annotators")
    mend = "leave the column out, or name the annotators"
    odd = [*odd_annotators(table, "column", mend), *odd_majority(table, "column", mend)]
    odd += odd_lists(table) if len(names) == 1 else []
    return replace(table, notes=(*texts, *table.notes, *odd))


def _annotators(source: Table, item: int, given: Sequence[str] | None) -> list[int]:
    """The positions of the columns that hold votes: those that were named, or all but the items and their texts."""
    at = votes_columns(source, item, also=given or ())
    names = [source.columns[position] for position in at]
    if given is not None:
        for name in given:
            if name not in names:
                raise InputError(f"{source.name}: {unknown('column of an annotator', name, names)}.")
        at = [position for position in at if source.columns[position] in given]
        names = [source.columns[position] for position in at]
    refuse_none(source, at)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source.name} has more than one column {twice!r}; a column is an annotator.")
    return at


def _refuse_labels(source: Table, item: int, votes: Sequence[int], cells: list[pl.Series]) -> None:
    """An error for a column that is called as texts or their groups are, and holds nothing but labels."""
    others = [at for at in range(len(source.columns)) if at != item and at not in votes]
    if not others:
        return
    labels = {label for column in cells for label in _distinct(column)}
    for at, column in zip(others, source.cells(others), strict=True):
        held = _distinct(column)
        if held and held <= labels:
            raise InputError(
                f"{source.name}: the column {source.columns[at]!r} may be an annotator, since all that is in it are "
                "labels; to say whether it is, name all annotators",
                give=["annotators"],
            )


def _distinct(column: pl.Series) -> set[str]:
    return set() if column.dtype.is_nested() else set(column.cast(pl.String).unique().drop_nulls().to_list())


def refuse_twice(source: Table, ids: pl.Series, rows: Rows) -> None:
    """An error that names an item with two rows, if there is one."""
    twice = ids.is_duplicated()
    if twice.any() and not ids.null_count():
        one, two = np.flatnonzero((ids == ids[int(twice.arg_max() or 0)]).to_numpy())[:2]
        raise InputError(
            f"{source.place(int(rows[two]))}: item {ids[int(two)]!r} was there before "
            f"({source.place(int(rows[one]))}), but a row is an item here. If a row is one vote, name its columns",
            give=["item", "label"],
        )


def _one_column(source: Table, votes: list[pl.Series]) -> pl.Series:
    try:
        return pl.concat([column.rename("label") for column in votes], how="vertical")
    except pl.exceptions.PolarsError:
        kinds = {str(column.dtype): column.name for column in votes if column.dtype != pl.Null}
        try:
            return pl.concat([c.rename("label").to_frame() for c in votes], how="vertical_relaxed").to_series()
        except pl.exceptions.PolarsError:
            told = ", ".join(f"{name!r} holds {kind}" for kind, name in kinds.items())
            raise InputError(f"{source.name}: the votes are not of one kind: column {told}.") from None
