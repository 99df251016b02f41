"""Ids of items and annotators: whole numbers or text, never both in one table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError

Ids: TypeAlias = NDArray[Any]  # (n,), int64 or str


def as_ids(name: str, value: Any) -> Ids:
    """``value`` as int64 or str ids.

    >>> as_ids("items", ["a", "b"]).dtype.kind, as_ids("items", [3, 5]).dtype.kind
    ('U', 'i')
    >>> as_ids("items", ["a", 5])
    Traceback (most recent call last):
    dissensus.base.errors.InputError: items must be all whole numbers or all text, but position 0 is 'a' and position
    1 is 5. Turn them into one kind, e.g. with str().
    """
    array = value if isinstance(value, np.ndarray) else _from_list(name, _listed(name, value))
    if array.dtype.kind in "OT":
        array = _from_list(name, array.tolist())
    if array.ndim != 1:
        raise InputError(f"{name} must have the shape (n,), but its shape is {array.shape}.")
    if array.dtype.kind == "U":
        return array.copy()
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.size == 0:
        return array.astype(np.int64)
    raise InputError(f"{name} must be whole numbers or text, but {array[0]!r} at position 0 is neither.")


def _listed(name: str, value: Any) -> list[Any]:
    """The values of a column as Python's own, those of a tensor, too."""
    values = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of ids, but it is {value!r}.")
    return list(values)


def _from_list(name: str, values: list[Any]) -> NDArray[Any]:
    kinds = [_kind(value) for value in values]
    for position, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind is None:
            raise InputError(f"{name} must be whole numbers or text, but {value!r} at position {position} is neither.")
        if kind is not kinds[0]:
            raise InputError(
                f"{name} must be all whole numbers or all text, but position 0 is {values[0]!r} and position "
                f"{position} is {value!r}. Turn them into one kind, e.g. with str()."
            )
    return np.array(values, dtype=np.str_ if values and kinds[0] is str else np.int64)


def _kind(value: Any) -> type | None:
    if isinstance(value, str):
        # NumPy drops NULs at the end of a text: two ids could become one.
        return None if value.endswith("\0") else str
    return int if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def first_duplicate(values: Iterable[Hashable]) -> Any | None:
    """The first value that was there before, or None."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def refuse_duplicates(name: str, ids: Ids) -> None:
    values = ids.tolist()
    if len(set(values)) < len(values):
        raise InputError(f"{name} must be unique, but {first_duplicate(values)!r} occurs more than once.")
