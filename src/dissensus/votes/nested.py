"""One JSON object with an entry an item: ``{item: {annotator: label}}``, or an entry as the LeWiDi tasks write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dissensus.base.errors import InputError
from dissensus.votes.answers import Answer, votes_of
from dissensus.votes.ask import LABEL, TEXTS, Ask, refuse_given
from dissensus.votes.oddities import odd_annotators
from dissensus.votes.source import Document, Source
from dissensus.votes.table import Votes


def fits(source: Source, ask: Ask) -> bool:
    """Whether all entries are of one of the two shapes.

    Numbers beside names may be votes a class as well as labels, and an entry with a text or a label may be a record.
    """
    entries = _entries(source)
    return bool(entries) and (all(map(_lewidi, entries)) or all(map(_texts, entries)))


def read(source: Source, ask: Ask) -> Votes:
    entries = _entries(source)
    if not (all(map(_lewidi, entries)) or all(map(_plain, entries))) or not entries:
        raise InputError("an object of the shape {item: {annotator: label}} was expected.")
    assert isinstance(source, Document)
    refuse_given(ask, ["item", "annotator", "label"], "in JSON of the shape {item: {annotator: label}} no key is named")
    answers = [answer for item, entry in source.content.items() for answer in _answers(item, entry)]
    votes = votes_of(answers, ask, place=lambda at: f"{source.name}, item {answers[at].item!r}")
    return replace(votes, notes=(*votes.notes, *odd_annotators(votes, "key", "leave the key out")))


def _entries(source: Source) -> list[dict[str, Any]]:
    content = source.content if isinstance(source, Document) else None
    entries = list(content.values()) if isinstance(content, dict) else []
    return entries if all(isinstance(entry, dict) for entry in entries) else []


def _lewidi(entry: dict[str, Any]) -> bool:
    said, annotators = entry.get("annotations"), entry.get("annotators")
    return isinstance(said, dict) or (isinstance(said, str) and isinstance(annotators, str))


def _plain(entry: dict[str, Any]) -> bool:
    return all(isinstance(label, str | int | float | None) for label in entry.values())


def _texts(entry: dict[str, Any]) -> bool:
    return all(isinstance(label, str | None) for label in entry.values()) and not {*TEXTS, *LABEL} & set(entry)


def _answers(item: str, entry: dict[str, Any]) -> Iterator[Answer]:
    pairs = _pairs(item, entry)
    yield from (Answer(item, annotator, label) for annotator, label in pairs)
    if not pairs:
        yield Answer(item, None, None)


def _pairs(item: str, entry: dict[str, Any]) -> list[tuple[str, Any]]:
    said = entry["annotations"] if _lewidi(entry) else entry
    if isinstance(said, dict):
        return list(said.items())
    labels, annotators = ([part.strip() for part in entry[key].split(",")] for key in ("annotations", "annotators"))
    if len(labels) != len(annotators):
        raise InputError(f"item {item!r} has {len(labels)} annotations but {len(annotators)} annotators.")
    return list(zip(annotators, labels, strict=True))
