"""Words of messages."""

from __future__ import annotations


def many(number: int, what: str) -> str:
    """A number of things.

    >>> many(1, "run"), many(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
