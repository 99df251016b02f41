"""Names in a paper's file that must be known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dissensus.base.errors import InputError, unknown


def check_keys(where: str, table: Mapping[str, Any], needed: Iterable[str], optional: Iterable[str] = ()) -> None:
    """All that are needed, and none but these and the optional ones.

    >>> check_keys("row 1", {"maen": 1}, ["mean"], ["sd"])
    Traceback (most recent call last):
    dissensus.base.errors.InputError: row 1: unknown key 'maen'; did you mean 'mean'? Choose one of: mean, sd
    """
    for key in table:
        check_known(where, "key", key, [*needed, *optional])
    for key in needed:
        if key not in table:
            raise InputError(f"{where}: {key} is missing.")


def check_known(where: str, kind: str, given: Any, known: Iterable[str]) -> None:
    names = list(known)
    if given not in names:
        raise InputError(f"{where}: {unknown(kind, given, names)}")


def check_lists(where: str, table: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        if not isinstance(table.get(key, []), list):
            raise InputError(f"{where}: {key} must be a list, but is {table[key]!r}.")
