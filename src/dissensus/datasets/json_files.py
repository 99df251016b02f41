"""Published JSON, read with suspicion: damage, repeated keys and missing fields are errors that say where."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file

Kind = TypeVar("Kind")

_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Entry:
    """One object of a file, and where it stands there."""

    values: dict[str, Any]
    where: str  # "labels.jsonl, line 7"

    def get(self, name: str, kind: type[Kind]) -> Kind:
        """The value of a field that must be there and of that kind.

        >>> Entry({"votes": "3"}, "labels.jsonl, line 7").get("votes", int)
        Traceback (most recent call last):
        dissensus.base.errors.InputError: labels.jsonl, line 7: 'votes' must be a whole number, but it is '3'.
        """
        if name not in self.values:
            raise self.error(f"{name!r} is not there")
        value = self.values[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(f"{name!r} must be {_KINDS[kind]}, but it is {value!r:.60}")
        return value

    def inner(self, name: str) -> Entry:
        """A field that is an object itself."""
        return Entry(self.get(name, dict), f"{self.where}, {name!r}")

    def error(self, fault: str) -> InputError:
        return InputError(f"{self.where}: {fault}.")


def json_lines(path: Path) -> Iterator[Entry]:
    """The objects of a file that has one a line; blank lines are skipped."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            yield Entry(_object(line, f"line {number} of {path}"), f"{path}, line {number}")


def json_entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """The keys and objects of a file that is one object of objects."""
    content = _object(_text(path), str(path))
    for key, values in content.items():
        if not isinstance(values, dict):
            raise InputError(f"{path}, entry {key!r}: it must be an object, but it is {values!r:.60}.")
        yield key, Entry(values, f"{path}, entry {key!r}")


def refuse_wrong_number(path: Path, found: int, expected: int, what: str) -> None:
    if found != expected:
        raise InputError(
            f"{path} has {found:,} {what}, but {expected:,} were published: it is cut off, or another file. Remove it "
            "and get it again."
        )


def _text(path: Path) -> str:
    existing_file(path, "file of JSON")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as why:
        raise InputError(f"{path} is damaged: it is not text in UTF-8 ({why}). Remove it and get it again.") from None


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_once(where))
    except InputError:
        raise
    except (ValueError, RecursionError) as why:
        raise InputError(f"{where} is damaged or no JSON ({why}). Remove the file and get it again.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where} must be an object {{...}}, but it is {found!r:.60}.")
    return found


def _once(where: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """JSON lets a key stand twice, and Python keeps the last one: votes would be lost without a word."""

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{where}: the key {twice!r} stands there more than once.")
        return found

    return checked
