"""Exports of Argilla, a record an item.

Flattened, ``label.responses`` has ``label.responses.users`` and ``label.responses.status`` beside it, in parallel.
Nested, ``responses`` is ``{label: [{value, user_id}]}``: it has lost which answers were submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from dissensus.base.errors import InputError, unknown
from dissensus.votes.answers import Answer, only, refuse_free_text, votes_of
from dissensus.votes.ask import Ask, refuse_given
from dissensus.votes.source import Document, Source, TypedTable
from dissensus.votes.table import Votes

END = ".responses"
NESTED = {"id", "fields", "responses"}
DRAFTS = (
    "The file does not say which answers were submitted, so drafts and discarded ones count as votes. Flattened "
    "exports do, such as those of records.to_datasets()."
)


class Response(NamedTuple):
    """What one user answered; the status is None where it is not told."""

    value: Any
    user: Any
    status: str | None


def fits(source: Source, ask: Ask) -> bool:
    records = _records(source)
    return bool(records) and (bool(_flat(records)) or _nested(records))


def read(source: Source, ask: Ask) -> Votes:
    """The submitted answers to one question. Suggestions are none."""
    refuse_given(ask, ["annotator"], "Argilla names users beside their responses")
    records = _records(source)
    flat = _flat(records)
    questions = flat or list(dict.fromkeys(name for record in records for name in record.get("responses") or ()))
    question = _question(source.name, questions, records, ask.label)
    told = bool(flat) and any(f"{question}{END}.status" in record for record in records)
    answers, places = [], []
    for at, record in enumerate(records):
        where = f"{source.name}, record {record.get('id', at)!r}"
        responses = _responses(record, question, where)
        item = _item(record, ask.item or "id", where)
        answers += [Answer(item, one.user, one.value, _dropped(one.status) if told else None) for one in responses]
        if not responses:
            answers.append(Answer(item, None, None))
        places += [where] * max(1, len(responses))
    kept = [answer.label for answer in answers if answer.dropped is None and answer.label is not None]
    _refuse_ranking(question, kept)
    refuse_free_text(kept, ask, f"the answers to {question!r}")
    return votes_of(answers, ask, place=places.__getitem__, notes=[] if told else [DRAFTS])


def data_of(source: Source) -> TypedTable | None:
    """The records as a table, their id and what is text in their fields; None if these are no records.

    >>> records = [{"id": "r7", "fields": {"text": "so"}, "responses": {}}]
    >>> data_of(Document("records", records)).frame.collect().rows()
    [('r7', 'so')]
    """
    if not fits(source, Ask()):
        return None
    records = [(record["id"], record.get("fields") or record) for record in _records(source)]
    keys = [key for key, value in records[0][1].items() if isinstance(value, str) and key != "id"]
    rows = [{"id": name, **{key: fields.get(key) for key in keys}} for name, fields in records]
    return TypedTable(source.name, pl.DataFrame(rows, infer_schema_length=None).lazy(), unit="record")


# -- records


def _records(source: Source) -> list[dict[str, Any]]:
    """The records of a list, of an object by id, of an object of columns, or of a table; none if these are others."""
    if isinstance(source, TypedTable):
        if not (set(source.columns) >= NESTED or _flat([dict.fromkeys(source.columns)])):
            return []
        return _turned(source.frame.collect().to_dicts())
    content = source.content if isinstance(source, Document) else None
    if isinstance(content, dict):
        inner = list(content.values())
        content = inner if all(isinstance(one, dict) for one in inner) else [content]
    objects = isinstance(content, list) and all(isinstance(one, dict) for one in content)
    return _turned(content) if objects and isinstance(content, list) else []


def _turned(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records, where one holds the columns of all.

    >>> _turned([{"id": [1, 2], "text": ["a", "b"]}])
    [{'id': 1, 'text': 'a'}, {'id': 2, 'text': 'b'}]
    """
    columns = records[0] if len(records) == 1 else {}
    ids = columns.get("id")
    if not isinstance(ids, list) or not all(isinstance(one, list) and len(one) == len(ids) for one in columns.values()):
        return records
    return [{name: column[row] for name, column in columns.items()} for row in range(len(ids))]


def _flat(records: Sequence[dict[str, Any]]) -> list[str]:
    """The questions of flattened records."""
    keys = dict.fromkeys(key for record in records for key in record)
    return [key.removesuffix(END) for key in keys if key.endswith(END) and f"{key}.users" in keys and "id" in keys]


def _nested(records: Sequence[dict[str, Any]]) -> bool:
    return all(set(record) >= NESTED and _by_question(record["responses"]) for record in records)


def _by_question(responses: Any) -> bool:
    if not isinstance(responses, dict | None):
        return False
    given = [one for answers in (responses or {}).values() for one in _list(answers)]
    return all(isinstance(one, dict) and {"value", "user_id"} <= set(one) for one in given)


def _item(record: dict[str, Any], name: str, where: str) -> Any:
    parts = (record, *(record.get(part) or {} for part in ("fields", "metadata")))
    found = next((part[name] for part in parts if isinstance(part, dict) and part.get(name) is not None), None)
    if found is None:
        known = [key for part in parts[1:] for key in part] or [key for key in record if END not in key]
        raise InputError(f"{where}: there is no {name!r}, in its fields ({', '.join(known)}) either.")
    return found


# -- responses


def _responses(record: dict[str, Any], question: str, where: str) -> list[Response]:
    nested = record.get("responses")
    if isinstance(nested, dict):
        return [Response(one["value"], one["user_id"], None) for one in _list(nested.get(question))]
    key = f"{question}{END}"
    values, users = _values(record, question), _list(record.get(f"{key}.users"))
    statuses = _list(record.get(f"{key}.status")) or [None] * len(values)
    if not len(values) == len(users) == len(statuses):
        raise InputError(
            f"{where}: {key!r} has {len(values)} answers for {len(users)} users and {len(statuses)} statuses. Export "
            "it again."
        )
    return [Response(*one) for one in zip(values, users, statuses, strict=True)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dropped(status: str | None) -> str | None:
    return None if status == "submitted" else status or "without a status"


# -- questions


def _question(name: str, questions: Sequence[str], records: Sequence[dict[str, Any]], given: str | None) -> str:
    """The question that was asked for, or the only one whose answers may be labels."""
    asked = given.removesuffix(END) if given is not None else None
    if asked is not None and asked not in questions:
        raise InputError(f"{unknown('question', asked, questions)}.")
    fitting = [one for one in questions if all(_may_be_label(value) for x in records for value in _values(x, one))]
    if asked is not None and asked not in fitting:
        raise InputError(f"the answers to {asked!r} are spans or ranks, and no labels.")
    return asked or only(name, fitting, "questions that may be answered by labels")


def _values(record: dict[str, Any], question: str) -> list[Any]:
    nested = record.get("responses")
    if isinstance(nested, dict):
        return [one["value"] for one in _list(nested.get(question))]
    return _list(record.get(f"{question}{END}"))


def _may_be_label(value: Any) -> bool:
    """Whether a value is a label, several, or a rating; spans, and ranks that are told with their values, are not."""
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(part, str | int | float | None) for part in parts)


def _refuse_ranking(question: str, labels: Sequence[Any]) -> None:
    """An error for answers that all name the same things, in one order or another."""
    lists = [label for label in labels if isinstance(label, list)]
    if lists and len(lists) == len(labels) and len(lists[0]) > 1 and len({frozenset(one) for one in lists}) == 1:
        named = ", ".join(map(repr, lists[0]))
        raise InputError(f"all answers to {question!r} name {named}, as those do that rank them; these are no labels.")
