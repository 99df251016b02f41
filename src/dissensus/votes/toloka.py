"""The assignments file of Toloka: a row an answer, columns ``INPUT:*``, ``OUTPUT:*``, ``ASSIGNMENT:*``."""

from __future__ import annotations

from dissensus.votes.answers import Answer, only, text_cells, votes_of
from dissensus.votes.ask import Ask
from dissensus.votes.source import Source, Table
from dissensus.votes.table import Votes

TASK, WORKER, STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, Table) and {TASK, WORKER, STATUS} <= set(source.columns)


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Table)
    outputs = [name for name in source.columns if name.startswith("OUTPUT:")]
    label = ask.label or only(source.name, outputs, "columns 'OUTPUT:'")
    golden = [name for name in source.columns if name.startswith("GOLDEN:")]
    names = [ask.item or TASK, ask.annotator or WORKER, label, STATUS, *golden]
    items, workers, labels, statuses, *controls = text_cells(source, names)
    answers = []
    for row, (item, worker, said, status) in enumerate(zip(items, workers, labels, statuses, strict=True)):
        why = "not approved" if status != "APPROVED" else "on control tasks" if any(c[row] for c in controls) else None
        answers.append(Answer(item, worker, said, why))
    return votes_of(answers, ask, place=source.place)
