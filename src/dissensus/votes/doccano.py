"""doccano's export, a folder or zip with one ``<user>.jsonl`` an annotator: ``{"id": ..., "text": ..., "label": []}``.

``all.jsonl``, of projects whose annotators share their labels, has lost who said what.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import many
from dissensus.votes.answers import Answer, only, refuse_free_text, votes_of
from dissensus.votes.ask import Ask, refuse_given
from dissensus.votes.source import Folder, Source, TypedTable
from dissensus.votes.table import Votes

END = ".jsonl"
ALL = f"all{END}"
DATA = ("text", "filename", "data")  # what is labelled; its name depends on the project and the version
LABELS = ("label", "labels", "cats")


class Row(NamedTuple):
    """A line of a file, and where it stands."""

    content: dict[str, Any]
    annotator: str
    where: str


def fits(source: Source, ask: Ask) -> bool:
    """Whether a folder holds files of the shape, all in one place; or this is the one that lost its annotators."""
    if isinstance(source, TypedTable):
        return source.path is not None and source.path.name == ALL and _shared(source)
    if not isinstance(source, Folder):
        return False
    files = _files(source)
    return len({PurePosixPath(file).parent for file in files}) == 1 and any(_looks_right(source, one) for one in files)


def read(source: Source, ask: Ask) -> Votes:
    """An annotator's labels on an item are one vote; none are no vote, since all items are in all files."""
    if not isinstance(source, Folder):
        raise _lost(source.name)
    refuse_given(ask, ["annotator"], "doccano names annotators by their files")
    files = _files(source)
    if any(PurePosixPath(file).name == ALL for file in files):
        raise _lost(f"{source.name}, {ALL}", len(files) > 1)
    rows = [row for file in files for row in _rows(source, file)]
    item, label = _keys(source.name, rows, ask)
    answers = [Answer(row.content.get(item), row.annotator, _labels(row, label)) for row in rows]
    refuse_free_text([one for answer in answers for one in answer.label or ()], ask, f"what {label!r} holds")
    return votes_of(answers, ask, place=lambda at: rows[at].where, notes=_notes(source, files, answers))


def data_of(source: Source) -> TypedTable | None:
    """What was labelled as a table, once for every file it is in; None if this is no export."""
    if not isinstance(source, Folder) or not fits(source, Ask()):
        return None
    rows = [row.content for file in _files(source) for row in _rows(source, file)]
    keys = [key for key in rows[0] if isinstance(rows[0][key], str) and key != "id"]
    table = [{"id": row["id"], **{key: row.get(key) for key in keys}} for row in rows]
    return TypedTable(source.name, pl.DataFrame(table, infer_schema_length=None).lazy())


def _keys(name: str, rows: list[Row], ask: Ask) -> tuple[str, str]:
    """The keys of items and of labels."""
    keys = dict.fromkeys(key for row in rows for key in row.content)
    item = ask.item or "id"
    label = ask.label or only(name, [key for key in LABELS if key in keys], "keys of labels")
    for key in (item, label):
        if key not in keys:
            raise InputError(f"{unknown('key', key, keys)}.")
    return item, label


def _files(source: Folder) -> list[str]:
    return [file for file in source.files if file.endswith(END)]


def _looks_right(source: Folder, file: str) -> bool:
    """Whether the first line is of the shape."""
    first = next((text for text in source.text(file).split("\n") if text.strip()), "")
    try:
        return _is_row(json.loads(first))
    except ValueError:
        return False


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and "id" in row
        and any(key in row for key in DATA)
        and any(isinstance(row.get(key), list) for key in LABELS)
    )


def _rows(source: Folder, file: str) -> Iterator[Row]:
    name = PurePosixPath(file).name
    for line, text in enumerate(source.text(file).split("\n"), 1):
        if not text.strip():
            continue
        where = f"{source.name}, {name}, line {line}"
        try:
            content = json.loads(text)
        except ValueError as why:
            raise InputError(f"{where} is not JSON ({why}). Export it again.") from None
        if not _is_row(content):
            shape = "{'id': ..., 'text': ..., 'label': [...]}"
            raise InputError(f"{where} is not as doccano writes it, {shape}. Leave other files out.")
        yield Row(content, name.removesuffix(END), where)


def _labels(row: Row, key: str) -> list[Any] | None:
    labels = row.content.get(key) or []
    if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
        raise InputError(
            f"{row.where}: {key!r} holds {labels!r:.60}, but names of labels were expected; spans, boxes and relations "
            "are none."
        )
    return labels or None


def _notes(source: Folder, files: list[str], answers: list[Answer]) -> list[str]:
    """On files that are not read, and on files that share no item: annotators of one project would."""
    spare = [file for file in source.files if file not in files]
    notes = []
    if spare:
        verb = "is" if len(spare) == 1 else "are"
        notes.append(f"{many(len(spare), 'other file')} {verb} not read, being no {END} (first: {spare[0]!r}).")
    seen = Counter(item for item, _ in {(str(answer.item), answer.annotator) for answer in answers})
    if len(files) > 1 and seen and max(seen.values()) == 1:
        notes.append("No item is in two files; if these are parts of one table and no annotators, put them together.")
    return notes


# -- all.jsonl


def _shared(source: TypedTable) -> bool:
    schema = source.frame.collect_schema()
    lists = any(isinstance(schema.get(key), pl.List) for key in LABELS)
    return "id" in schema and any(key in schema for key in DATA) and lists


def _lost(name: str, beside: bool = False) -> InputError:
    mend = (
        "Leave it out of the folder."
        if beside
        else "A project that does not share them exports a zip with one file an annotator, which can be read."
    )
    return InputError(
        f'{name} is what doccano writes of a project whose annotators share their labels ("Share annotations across '
        f'all users"): it does not say who said what, nor whether labels of one item are one vote or several. {mend}'
    )
