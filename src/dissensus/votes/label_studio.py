"""Exports of Label Studio: JSON, a task with its annotations; CSV and JSON-MIN, a row an annotation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import listed, many
from dissensus.votes.answers import FREE, Answer, only, text_cells, votes_of
from dissensus.votes.ask import Ask, refuse_given
from dissensus.votes.build import Place
from dissensus.votes.source import Document, Source, Table, TypedTable, table_of
from dissensus.votes.table import Votes

VALUES = ("choices", "rating", "number")  # what a control may say that can be a class
ROW = {"annotation_id", "annotator", "lead_time"}
OTHERS = {"id", "created_at", "updated_at", "agreement", "comments", *ROW}


def fits(source: Source, ask: Ask) -> bool:
    if isinstance(source, Document):
        return _tasks(source.content) or _rows(source.content)
    return isinstance(source, Table) and {"id"} | ROW <= set(source.columns)


def read(source: Source, ask: Ask) -> Votes:
    if isinstance(source, Document) and _tasks(source.content):
        return _read_tasks(source, ask)
    return _read_rows(source, ask)


def _tasks(content: Any) -> bool:
    return _objects(content) and all(
        "id" in task and isinstance(task.get("data"), dict) and _annotated(task.get("annotations")) for task in content
    )


def _annotated(annotations: Any) -> bool:
    """Whether these are annotations, though there be none."""
    return annotations == [] or (
        _objects(annotations) and all(not one.get("result") or _objects(one["result"]) for one in annotations)
    )


def _rows(content: Any) -> bool:
    return _objects(content) and all("id" in row and set(row) >= ROW for row in content)


def _objects(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and all(isinstance(one, dict) for one in content)


# -- JSON


def data_of(source: Source) -> TypedTable | None:
    """The tasks, or the rows of JSON-MIN, as a table: their id, and what is text or a whole number in all of them.

    None if the source is neither.

    >>> tasks = [{"id": 7, "data": {"text": "so", "n": 2, "ner": []}, "annotations": []}]
    >>> data_of(Document("tasks", tasks)).frame.collect().rows()
    [(7, 'so', 2)]
    """
    if not isinstance(source, Document) or not fits(source, Ask()):
        return None
    tasks = _tasks(source.content)
    rows = [{**one["data"], "id": one["id"]} for one in source.content] if tasks else source.content
    keys = dict.fromkeys(("id", *(key for row in rows for key in row)))
    kinds = {key: {type(row[key]) for row in rows if row.get(key) is not None} for key in keys}
    plain = [key for key in keys if kinds[key] and kinds[key] <= {str, int}]
    table = table_of(Document(source.name, [{key: row.get(key) for key in plain} for row in rows]))
    return table and replace(table, unit="task" if tasks else "row")


def _read_tasks(source: Document, ask: Ask) -> Votes:
    """The votes of one control. Predictions are none, and neither are cancelled annotations."""
    refuse_given(ask, ["annotator"], "tasks name who annotated them in 'completed_by'")
    tasks = source.content
    given = [one for task in tasks for one in task["annotations"]]
    controls = sorted({result["from_name"] for one in given for result in _results(one)})
    if ask.label is not None and ask.label not in controls:
        raise InputError(f"{unknown('control', ask.label, controls)}.")
    control = ask.label or only(source.name, controls, "controls of type choices, rating or number")
    truths = sum(bool(one.get("ground_truth")) for one in given if not one.get("was_cancelled"))
    note = f"{many(truths, 'annotation')} {'is' if truths == 1 else 'are'} marked as ground truth, and counted as any."
    answers = list(_answers(tasks, control, ask))
    return votes_of(
        answers,
        ask,
        place=lambda at: f"{source.name}, task {answers[at].item}",
        notes=[note] if truths else [],
    )


def _answers(tasks: list[dict[str, Any]], control: str, ask: Ask) -> Iterator[Answer]:
    for task in tasks:
        item = task["id"] if ask.item in (None, "id") else task["data"].get(ask.item)
        if item is None:
            raise InputError(f"task {task['id']} has no {ask.item!r} among its data ({', '.join(task['data'])}).")
        if not task["annotations"]:
            yield Answer(item, None, None)
        for one in task["annotations"]:
            said = [_said(result["value"]) for result in _results(one) if result["from_name"] == control]
            dropped = "cancelled" if one.get("was_cancelled") else None
            where = f"task {task['id']}"
            yield Answer(item, _person(one.get("completed_by")), None if dropped else _one(said, where), dropped)


def _results(annotation: dict[str, Any]) -> list[dict[str, Any]]:
    """What an annotation says that can be a class."""
    return [
        result
        for result in annotation.get("result") or ()
        if result.get("type") in VALUES and "from_name" in result and isinstance(result.get("value"), dict)
    ]


def _one(said: list[Any], where: str) -> Any:
    """What is said once, or over and over; an error if it is now this and now that, as of the regions of an image."""
    if any(other != said[0] for other in said):
        raise InputError(
            f"{where}: one annotation answers {len(said)} times, not always the same; a vote is one answer."
        )
    return said[0] if said else None


def _person(who: Any) -> Any:
    return who.get("id") if isinstance(who, dict) else who


def _said(value: dict[str, Any]) -> Any:
    return next((value[kind] for kind in VALUES if kind in value), None)


# -- CSV, JSON-MIN


def _read_rows(source: Source, ask: Ask) -> Votes:
    item, who = ask.item or "id", ask.annotator or "annotator"
    if isinstance(source, Document):
        rows = source.content
        keys = list(dict.fromkeys(key for row in rows for key in row))  # a row may lack a control nobody answered
        names = [name for name in keys if name not in OTHERS]
        columns = {name: [row.get(name) for row in rows] for name in ("id", *names)}
        label, notes = _control(source.name, ask, columns, "keys")
        for role, key, known in (("control", label, names), ("key", item, keys), ("key", who, keys)):
            if key not in keys:
                raise InputError(f"{unknown(role, key, known)}.")

        def place(at: int) -> str:
            return f"{source.name}, annotation {rows[at]['annotation_id']}"

        cells = (_cell(row.get(label), place, at) for at, row in enumerate(rows))
        answers = [Answer(row.get(item), row.get(who), cell) for row, cell in zip(rows, cells, strict=True)]
        return votes_of(answers, ask, place=place, notes=notes)
    assert isinstance(source, Table)
    names = ["id", *(name for name in source.columns if name not in OTHERS)]
    columns = {} if ask.label else dict(zip(names, text_cells(source, names), strict=True))
    label, notes = _control(source.name, ask, columns, "columns")
    items, annotators, labels = text_cells(source, [item, who, label])
    cells = (_cell(label, source.place, at) for at, label in enumerate(labels))
    answers = [Answer(*row) for row in zip(items, annotators, cells, strict=True)]
    return votes_of(answers, ask, place=source.place, notes=notes)


def _control(name: str, ask: Ask, columns: dict[str, list[Any]], what: str) -> tuple[str, list[str]]:
    """The control, and a note on what is none: the data of a task, which are the same in all of its rows.

    So are the answers to another question on which annotators agree, where few tasks have several rows: of what may be
    answers, being said of several tasks, nothing is guessed, nor of texts that people write.

    >>> columns = {"id": [1, 1, 2], "text": ["so", "so", "no"], "mood": ["good", "bad", "bad"]}
    >>> _control("project.csv", Ask(), columns, "columns")
    ('mood', ["'text' is not read as labels, being the same in all rows of a task; if it holds them, name it."])
    """
    if ask.label is not None:
        return ask.label, []
    ids, *_ = columns.values()
    names = [key for key in columns if key != "id"]
    differing = [key for key in names if _differs_within(ids, columns[key])]
    same = [key for key in names if key not in differing]
    unclear = any(_said_again(ids, columns[key]) for key in same) or any(_written(columns[key]) for key in differing)
    if len(names) == 1 or len(differing) != 1 or unclear:
        return only(name, names, f"{what} that may be a control"), []
    are, holds = ("is", "it holds") if len(same) == 1 else ("are", "one holds")
    told = f"{listed([*map(repr, same)])} {are} not read as labels, being the same in all rows of a task"
    return differing[0], [f"{told}; if {holds} them, name it."]


def _differs_within(ids: list[Any], values: list[Any]) -> bool:
    """Whether rows of one task hold different values; one that holds none differs, too, since data are in all rows."""
    seen = dict(zip(ids, values, strict=True))
    return any(seen[task] != value for task, value in zip(ids, values, strict=True))


def _said_again(ids: list[Any], values: list[Any]) -> bool:
    """Whether several tasks share a value, as they do a class: of few values, or of half as many as there are tasks."""
    said = [repr(value) for value in dict(zip(ids, values, strict=True)).values()]
    different = len(set(said))
    return different < len(said) and (different < FREE or 2 * different <= len(said))


def _written(values: list[Any]) -> bool:
    """Whether most values differ, as those do that people write."""
    said = [repr(value) for value in values if value is not None]
    return len(set(said)) >= FREE and 2 * len(set(said)) > len(said)


def _cell(cell: Any, place: Place = str, at: int = 0) -> Any:
    """A class, or the list of classes in a cell of JSON.

    >>> _cell("yes"), _cell('{"choices": ["yes", "no"]}'), _cell('[{"rating": 4}]'), _cell("[sic]")
    ('yes', ['yes', 'no'], 4, '[sic]')
    """
    if isinstance(cell, str) and cell[:1] in ("{", "["):
        try:
            cell = json.loads(cell)
        except ValueError:
            return cell
    if isinstance(cell, list) and cell and all(isinstance(one, dict) for one in cell):
        return _one([_said(one) for one in cell], place(at))
    return _said(cell) if isinstance(cell, dict) else cell
