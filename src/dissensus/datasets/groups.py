"""Which texts are the same to a reader, so that no split trains on one and tests on the other."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dissensus.votes.split import group_numbers

_STAND_IN = re.compile(r"<\w+>")  # <user>, <url>: what publishers write for names and addresses


def by_words(texts: Iterable[str]) -> NDArray[np.int64]:
    """(items,) a number an item, equal for texts of the same words: case, signs, blanks and stand-ins do not count.

    >>> by_words(["Oh hell no!", "<user> oh, HELL no", "Oh no.", "🙂", "🙃"])
    array([0, 0, 1, 2, 3])
    """
    return group_numbers([" ".join(_words(text)) or text for text in texts])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", _STAND_IN.sub(" ", text).casefold())
