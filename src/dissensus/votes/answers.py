"""Answers as labelling tools export them: some are no votes, being cancelled, rejected or skipped, and are told of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dissensus.base.errors import InputError
from dissensus.base.words import first
from dissensus.votes.ask import Ask, find
from dissensus.votes.build import Place, as_column, from_columns
from dissensus.votes.ignored import told, without
from dissensus.votes.left_out import left_out
from dissensus.votes.numbers import numbers_or_text, whole_numbers
from dissensus.votes.source import Table
from dissensus.votes.spelling import asked, changes, classes_of, counts_of, joined_label
from dissensus.votes.spelling import told as told_of
from dissensus.votes.table import Class, Votes

FREE = 10  # different texts, from which on they may be no labels


class Answer(NamedTuple):
    """What one annotator said of one item; ``dropped`` is why it is no vote, in a word: "rejected"."""

    item: Any
    annotator: Any
    label: Any  # a class, a list of classes, or None
    dropped: str | None = None


def votes_of(
    answers: Iterable[Answer],
    ask: Ask,
    *,
    place: Place,
    classes: Sequence[Class] | None = None,
    several: bool = False,
    notes: Sequence[str] = (),
) -> Votes:
    """Votes from answers. Lists of one label each are single labels, unless ``several`` may be chosen.

    >>> answers = [Answer(7, "ann", ["no"]), Answer(7, "bob", ["yes"]), Answer(7, "cem", ["no"], "rejected")]
    >>> votes = votes_of(answers, Ask(), place="task {}".format)
    >>> votes.counts(), votes.notes
    (array([[1, 1]]), ('1 answer is no vote: 1 rejected.',))
    """
    # Toloka leaves a line blank after every page of tasks, others one at the end
    rows, answers = _without_blanks(list(answers))
    if not answers:
        raise InputError("there are no answers in it.")
    answers, ask, joined = _joined(answers, ask)
    answers = _without_ignored(answers, ask.ignore)
    dropped = np.array([answer.dropped is not None for answer in answers])
    if ask.classes is not None:
        classes = ask.classes
    elif classes is not None:
        classes = classes_of(classes, ask)
    annotators = [answer.annotator for answer in answers]
    named = any(annotator is not None for annotator in annotators)
    voted = ~dropped & np.array([answer.label is not None for answer in answers])
    people = _ids("annotator", annotators) if named else None
    out, left = left_out(people, voted, ask.without)
    said = [None if no else answer.label for answer, no in zip(answers, dropped | out, strict=True)]
    labels = _labels(said, ask.separator, classes, several)
    votes = from_columns(
        _ids("item", [answer.item for answer in answers]),
        labels,
        None if ask.anonymous else people,
        classes=classes,
        ordered=ask.ordered,
        place=lambda at: place(rows[at]),
        told=dropped | out,
        without=["anonymous"],
        ignore=["ignore"],
        repeats=ask.repeats,
    )
    return replace(votes, notes=(*joined, *_told(answers), *left, *notes, *votes.notes))


def _without_blanks(answers: Sequence[Answer]) -> tuple[list[int], list[Answer]]:
    rows = [at for at, (item, annotator, label, _) in enumerate(answers) if (item, annotator, label) != (None,) * 3]
    return rows, [answers[row] for row in rows]


def _joined(answers: list[Answer], ask: Ask) -> tuple[list[Answer], Ask, list[str]]:
    """The answers by the names that labels shall have, and a note."""
    if not (ask.rename or ask.fold):
        return answers, ask, []
    counted = counts_of((answer.label for answer in answers if answer.dropped is None), ask.separator)
    changed = changes(counted, ask)
    labels = (joined_label(answer.label, changed, ask.separator) for answer in answers)
    answers = [answer._replace(label=label) for answer, label in zip(answers, labels, strict=True)]
    return answers, asked(ask), told_of(counted, changed)


def _without_ignored(answers: list[Answer], names: Sequence[Class]) -> list[Answer]:
    """The answers, dropped where their label is no vote."""
    if not names:
        return answers
    labels = pl.Series([_said(answer) for answer in answers], dtype=pl.String)
    _, none, _ = without(labels, names)
    return [
        answer._replace(dropped=repr(label)) if no else answer
        for answer, label, no in zip(answers, labels, none, strict=True)
    ]


def _said(answer: Answer) -> str | None:
    """The one label of an answer that may be a vote, in writing."""
    label = answer.label[0] if isinstance(answer.label, list) and len(answer.label) == 1 else answer.label
    return None if answer.dropped or label is None or isinstance(label, list) else str(label)


def cells(source: Table, names: Sequence[str]) -> list[list[Any]]:
    """The cells of columns, by their names."""
    return [column.to_list() for column in source.cells([_position(source, name) for name in names])]


def text_cells(source: Table, names: Sequence[str]) -> list[list[Any]]:
    """The same as text, None where there is none."""
    return [column.cast(pl.String).to_list() for column in source.cells([_position(source, name) for name in names])]


def only(name: str, names: Sequence[str], what: str) -> str:
    """The only name there is, or an error that asks which."""
    if not names:
        raise InputError(f"{name} has no {what}, where labels would be.")
    if len(names) > 1:
        told = first([*map(repr, names)])
        raise InputError(f"{name} has several {what}: {told}; say which holds the labels", give=["label"])
    return names[0]


def refuse_free_text(labels: Iterable[Any], ask: Ask, what: str) -> None:
    """An error for texts most of which differ, as those do that people write; labels they choose from a list.

    >>> refuse_free_text([f"I think {n}" for n in range(20)], Ask(), "the answers")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: of the answers 20 of 20 differ, as texts do that people write. If these are \
labels all the same, name them with classes=...
    """
    texts = [label for label in labels if isinstance(label, str)]
    different = len(set(texts))
    if ask.classes is None and different >= FREE and 2 * different > len(texts):
        raise InputError(
            f"of {what} {different} of {len(texts)} differ, as texts do that people write. If these are labels all the "
            "same, name them",
            give=["classes"],
        )


def _position(source: Table, name: str) -> int:
    position = find(source, "column", name, ())
    assert position is not None
    return position


def _labels(labels: list[Any], separator: str | None, classes: Sequence[Class] | None, several: bool) -> pl.Series:
    sizes = {len(label) for label in labels if isinstance(label, list)}
    if sizes and max(sizes) < 2 and not several:
        labels = [(label or [None])[0] if isinstance(label, list) else label for label in labels]
    elif sizes:
        labels = [[label] if isinstance(label, str | int | float) else label for label in labels]
    elif separator is not None:
        labels = [label.split(separator) if isinstance(label, str) else label for label in labels]
    column = as_column("labels", labels)
    if classes is not None and any(isinstance(name, str) for name in classes):
        return column.cast(pl.List(pl.String) if isinstance(column.dtype, pl.List) else pl.String)
    return numbers_or_text(column)


def _ids(name: str, values: list[Any]) -> pl.Series:
    return whole_numbers(as_column(name, values))


def _told(answers: Sequence[Answer]) -> list[str]:
    why = Counter(answer.dropped for answer in answers if answer.dropped is not None)
    return told([(count, reason) for reason, count in why.most_common()])
