"""What a caller of ``read_votes`` says about the table, and how its columns are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import first, listed
from dissensus.votes.source import Table
from dissensus.votes.table import Class

ITEM = ("item", "task")
ANNOTATOR = ("annotator", "worker")
LABEL = ("label",)
TEXTS = ("text", "text_pair", "group")  # what tables of texts have; a table of votes may have them, too


@dataclass(frozen=True, kw_only=True)
class Ask:
    """The keywords of ``read_votes``; None where nothing was said."""

    item: str | None = None
    annotator: str | None = None
    annotators: tuple[str, ...] | None = None
    label: str | None = None
    classes: tuple[Class, ...] | None = None
    ordered: bool = False
    separator: str | None = None
    anonymous: bool = False
    ignore: tuple[Class, ...] = ()
    without: tuple[str | int, ...] = ()
    rename: tuple[tuple[Class, Class], ...] = ()
    fold: str | None = None
    repeats: str = "all"


def find(table: Table, role: str, given: str | None, usual: Sequence[str]) -> int | None:
    """The position of the column that was named, or that has one of the usual names; None if there is none."""
    names = [given] if given is not None else called(table, usual)
    if given is not None and given not in table.columns:
        raise InputError(f"{table.name}: {unknown('column', given, table.columns)}.")
    if len(names) > 1:
        told = listed([*map(repr, names)])
        raise InputError(f"{table.name} has the columns {told}; say which is the {role}", give=[role])
    if not names:
        return None
    if table.columns.count(names[0]) > 1:
        raise InputError(f"{table.name} has more than one column {names[0]!r}; rename one of them.")
    return table.columns.index(names[0])


def called(table: Table, usual: Sequence[str]) -> list[str]:
    """The columns that have one of the usual names; or, if none has, with other capitals."""
    exact = [name for name in usual if name in table.columns]
    return exact or [name for name in dict.fromkeys(table.columns) if name.lower() in usual]


def is_text(name: str) -> bool:
    """Whether a column is called as those of texts are."""
    return name.lower() in TEXTS


def votes_columns(table: Table, item: int | None, also: Sequence[str] = ()) -> list[int]:
    """The positions of the columns that hold votes where a row is an item: all but the items and their texts.

    Those in ``also`` are columns of votes though they have the name of texts.
    """
    return [at for at, name in enumerate(table.columns) if at != item and (not is_text(name) or name in also)]


def refuse_none(table: Table, columns: Sequence[int]) -> None:
    """An error for a table without any column of votes."""
    if not columns:
        raise InputError(f"{table.name} has no column of votes beside {', '.join(table.columns)}.")


def texts_told(table: Table, item: int | None, votes: Sequence[int], mend: str) -> list[str]:
    """A note on columns that are taken for texts, and how to ``mend`` it should they be none."""
    found = [repr(name) for at, name in enumerate(table.columns) if at not in votes and at != item]
    if not found:
        return []
    if len(found) == 1:
        return [f"The column {found[0]} is not read as votes; if it holds votes, {mend}."]
    return [f"The columns {listed(found)} are not read as votes; if they hold votes, {mend}."]


def refuse_padded(table: Table, ask: Ask) -> None:
    """An error for a usual name with a space beside it, which would be taken for another name."""
    for name in table.columns:
        plain = name.strip()
        usual = plain.lower() in (*ITEM, *ANNOTATOR, *LABEL)
        if name != plain and usual and name not in (ask.item, ask.annotator, ask.label):
            raise InputError(
                f"{table.name} has a column {name!r}, with a space where {plain!r} has none, and so perhaps in its "
                "cells. Write the file without spaces beside the delimiters."
            )


def missing_column(table: Table, role: str, usual: Sequence[str]) -> InputError:
    """The error to raise where no column has one of the usual names."""
    told = " or ".join(map(repr, usual))
    return InputError(
        f"{table.name} has no column {told}; its columns are {first(table.columns)}. "
        f"Name the one that holds the {role}",
        give=[role],
    )


def refuse_given(ask: Ask, roles: Sequence[str], why: str) -> None:
    """An error for a name that would have no effect.

    >>> refuse_given(Ask(item="id"), ["item"], "keys are the items")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: the item is said to be in 'id', but keys are the items; leave that out.
    """
    for role in roles:
        if (given := getattr(ask, role)) is not None:
            raise InputError(f"the {role} is said to be in {given!r}, but {why}; leave that out.")
