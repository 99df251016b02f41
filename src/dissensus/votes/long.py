"""The long table: one row a vote, with columns for item, label and, where known, annotator."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dissensus.base.errors import InputError
from dissensus.votes.ask import ANNOTATOR, ITEM, LABEL, Ask, called, find, missing_column
from dissensus.votes.build import from_columns, side_by_side, without_blanks
from dissensus.votes.cleaned import cleaned
from dissensus.votes.numbers import SAMPLE, numbers_or_text, whole_numbers
from dissensus.votes.oddities import odd_lists
from dissensus.votes.source import Source, Table, without_blank_lines
from dissensus.votes.table import Votes


def fits(source: Source, ask: Ask) -> bool:
    """Whether the columns are those of a long table, or were named as such."""
    if not isinstance(source, Table):
        return False
    named = ask.label is not None or ask.annotator is not None
    return named or bool(called(source, (*LABEL, *ANNOTATOR)))


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    item = find(source, "item", ask.item, ITEM)
    label = find(source, "label", ask.label, LABEL)
    who = None if ask.anonymous and not ask.without else find(source, "annotator", ask.annotator, ANNOTATOR)
    if item is None:
        raise missing_column(source, "item", ITEM)
    if label is None:
        raise missing_column(source, "label", LABEL)
    cells = source.cells([item, label] if who is None else [item, label, who])
    cells, rows = (cells, range(len(cells[0]))) if source.typed else without_blank_lines(cells)
    items, labels, *rest = cells
    annotators = rest[0] if rest else None
    labels, none, notes = cleaned(labels, annotators, ask)
    annotators = None if ask.anonymous else annotators
    if not source.typed:
        items, labels, annotators = side_by_side(
            lambda: whole_numbers(items),
            lambda: as_labels(labels, ask, source.typed),
            lambda: None if annotators is None else whole_numbers(annotators),
        )
    elif ask.separator is not None:
        labels = as_labels(labels, ask, source.typed)
    votes = from_columns(
        items,
        labels,
        annotators,
        classes=ask.classes,
        ordered=ask.ordered,
        place=lambda row: source.place(int(rows[row])),
        told=none,
        without=["anonymous"],
        ignore=["ignore"],
        repeats=ask.repeats,
        several=['layout="lists"'],
    )
    return replace(votes, notes=(*notes, *votes.notes, *(odd_lists(votes) if annotators is None else [])))


def as_labels(labels: pl.Series, ask: Ask, typed: bool) -> pl.Series:
    """Cells of text as labels: cut at the separator if there is one, and as numbers where classes are or may be."""
    text = ask.classes is not None and any(isinstance(name, str) for name in ask.classes)
    if not typed and (text or ask.separator is not None):
        labels = labels.cast(pl.String)  # whole numbers of a text file, as they were written
    if ask.separator is None:
        # most are seen to be text where they begin; blanks among text are left out once labels are numbered
        beginning = numbers_or_text(without_blanks(labels.head(SAMPLE)))
        return labels if text or beginning.dtype == pl.String else numbers_or_text(without_blanks(labels))
    labels = without_blanks(labels)
    if labels.dtype != pl.String:
        raise InputError(f"separator={ask.separator!r} cuts labels of text, but these are of type {labels.dtype}.")
    cut = labels.str.split(ask.separator)
    numbers = labels.head(0) if text else numbers_or_text(cut.drop_nulls().explode())
    return cut if numbers.dtype == pl.String else cut.cast(pl.List(numbers.dtype))
