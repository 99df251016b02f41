"""The batch file of Mechanical Turk: a row an assignment, ``HITId``, ``WorkerId`` and columns ``Answer.*``."""

from __future__ import annotations

import json
from typing import Any

from dissensus.base.errors import InputError
from dissensus.votes.answers import Answer, only, text_cells, votes_of
from dissensus.votes.ask import Ask
from dissensus.votes.crowd_form import label_of, question_of
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
    asked = question_of(source.name, forms, question, f"questions in {PACKED}")
    return [label_of(form.get(asked)) for form in forms]
