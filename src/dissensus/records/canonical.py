"""One text for one content, so that a hash of it can serve as a name.

The text is JSON without NaN, with keys sorted and no blanks. Numbers are values: 1 and 1.0 have one text, and so have
0 and -0.0, because a plan that writes ``lr = 1`` is the plan that writes ``lr = 1.0``; other floats are written by
``repr``, which is exact. Booleans are no numbers: true is not 1.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from dissensus.base.errors import InputError

NAME_DIGITS = 16
_WHOLE = 2.0**53  # beyond this, a float no longer tells neighbouring whole numbers apart
_ABSENT = object()


def content_name(content: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    """The name of ``content``: the first 16 hex digits of the SHA-256 of its canonical JSON.

    A field that equals its default is left out, in nested tables too, and a table of which nothing is left is left out
    itself. So a field that is added later moves no old name, as long as ``defaults`` holds the *first* default it had.

    >>> content_name({"method": "soft", "recipe": {"lr": 0.1}})
    'c59cc8f38b2c128f'
    >>> content_name({"method": "soft", "recipe": {"lr": 0.1, "nesterov": False}}, {"recipe": {"nesterov": False}})
    'c59cc8f38b2c128f'
    """
    text = canonical_json(without_defaults(content, defaults or {}))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:NAME_DIGITS]


def canonical_json(content: Any) -> str:
    """The one text of ``content``.

    >>> canonical_json({"b": [1.0, -0.0, 0.1], "a": None})
    '{"a":null,"b":[1,0,0.1]}'
    """
    return json.dumps(_plain(content, "content"), sort_keys=True, separators=(",", ":"), allow_nan=False)


def readable_json(content: Any) -> str:
    """Strict JSON for people: indented, keys in the order given, numbers as they are."""
    _plain(content, "content")
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def without_defaults(content: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """``content`` less the fields that equal their default.

    >>> without_defaults({"hold": 1, "seeds": {"init": 3, "order": 0}}, {"hold": 1, "seeds": {"init": 0, "order": 0}})
    {'seeds': {'init': 3}}
    """
    kept: dict[str, Any] = {}
    for name, value in content.items():
        default = defaults.get(name, _ABSENT)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            if rest := without_defaults(value, default):
                kept[name] = rest
        elif default is _ABSENT or canonical_json(value) != canonical_json(default):
            kept[name] = value
    return kept


def _plain(value: Any, where: str) -> Any:
    """``value`` in JSON's own types, equal values equal; or an error that says where it holds something else."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} is {value}, but JSON and a run's name need finite numbers.")
        return int(value) if value.is_integer() and abs(value) < _WHOLE else float(value)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InputError(f"{where} has the key {name!r}, but keys must be strings.")
        return {name: _plain(field, f"{where}.{name}") for name, field in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(element, f"{where}[{i}]") for i, element in enumerate(value)]
    raise InputError(
        f"{where} is of the type {type(value).__name__}, but only null, true, false, numbers, text, lists and tables "
        "can be written as JSON. Arrays: pass array.tolist()."
    )
