"""The batch file of Mechanical Turk: a row an assignment, ``HITId``, ``WorkerId`` and columns ``Answer.*``."""

from __future__ import annotations

import json
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.votes.answers import Answer, only, text_cells, votes_of
from dissensus.votes.ask import Ask
from dissensus.votes.source import Source, Table
from dissensus.votes.table import Votes

PACKED = "Answer.taskAnswers"  # all answers of an assignment as JSON, as pages of crowd-form elements send them


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, Table) and {"HITId", "WorkerId", "AssignmentStatus"} <= set(source.columns)


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    packed = PACKED in source.columns and ask.label not in source.columns
    columns = [name for name in source.columns if name.startswith("Answer.")]
    column = PACKED if packed else ask.label or only(source.name, columns, "columns 'Answer.'")
    names = [ask.item or "HITId", ask.annotator or "WorkerId", column, "AssignmentStatus"]
    items, workers, labels, statuses = text_cells(source, names)
    if packed:
        labels = _unpacked(source, labels, ask.label)
    answers = [
        Answer(item, worker, label, "rejected" if status == "Rejected" else None)
        for item, worker, label, status in zip(items, workers, labels, statuses, strict=True)
    ]
    return votes_of(answers, ask, place=source.place)


def _unpacked(source: Table, cells: list[Any], question: str | None) -> list[Any]:
    """The label of one question in cells such as ``[{"mood": {"label": "good"}}]``."""
    forms: list[dict[str, Any]] = []
    for row, cell in enumerate(cells):
        try:
            form = {} if cell is None else json.loads(cell)[0]
        except (ValueError, LookupError, TypeError):
            form = None
        if not isinstance(form, dict):
            raise InputError(f"{source.place(row)}: {PACKED} is not a list of one JSON object.")
        forms.append(form)
    questions = list(dict.fromkeys(name for form in forms for name in form))
    if question is not None and question not in questions:
        raise InputError(f"{unknown('question', question, questions)}.")
    asked = question or only(source.name, questions, f"questions in {PACKED}")
    return [_label(form.get(asked)) for form in forms]


def _label(answer: Any) -> Any:
    """The class, or the classes, in the shapes of a classifier, of several choices, and of radio buttons.

    >>> _label({"label": "good"}), _label({"labels": ["good", "odd"]}), _label({"good": True, "bad": False})
    ('good', ['good', 'odd'], ['good'])
    """
    if not isinstance(answer, dict):
        return answer
    if "labels" in answer:
        return answer["labels"]
    return answer["label"] if "label" in answer else [name for name, chosen in answer.items() if chosen is True]
