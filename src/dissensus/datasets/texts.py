"""Texts as inputs: one an item, or two where annotators were shown a pair, such as a premise and a hypothesis."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError


@dataclass(frozen=True)
class Texts:
    """Texts as their publisher wrote them, to the character: nothing is trimmed, lowered or normalised.

    An index array, a mask or a slice gives the texts at these positions, as it does with an array of images.

    >>> texts = Texts(["A man sleeps.", "A dog runs."], ["Somebody rests.", "A cat runs."])
    >>> texts
    Texts(2 pairs)
    >>> texts[[1]].second
    ('A cat runs.',)
    """

    first: tuple[str, ...]
    second: tuple[str, ...] | None = None  # None where an item has one text

    def __init__(self, first: Iterable[str], second: Iterable[str] | None = None) -> None:
        if isinstance(first, str) or isinstance(second, str):
            raise InputError("texts must be a list of texts, one an item, but one text was given.")
        object.__setattr__(self, "first", tuple(first))
        object.__setattr__(self, "second", None if second is None else tuple(second))
        _refuse_no_text("texts" if second is None else "first texts", self.first)
        if self.second is not None:
            same_length(first=self.first, second=self.second)
            _refuse_no_text("second texts", self.second)

    @property
    def pairs(self) -> bool:
        return self.second is not None

    def digest(self) -> str:
        """64 hex digits of SHA-256 that stand for all texts in their order."""
        return hashlib.sha256(json.dumps([self.first, self.second]).encode("ascii")).hexdigest()

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: ArrayLike | slice) -> Texts:
        at = np.atleast_1d(np.arange(len(self))[index if isinstance(index, slice) else np.asarray(index)]).tolist()
        second = self.second
        return Texts([self.first[row] for row in at], None if second is None else [second[row] for row in at])

    def __repr__(self) -> str:
        return f"Texts({len(self)} {'pairs' if self.pairs else 'texts'})"


def _refuse_no_text(name: str, texts: tuple[str, ...]) -> None:
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{name} must be texts, but row {row} is {text!r}, a {type(text).__name__}.")
        if not text.strip():
            raise InputError(f"{name} must not be empty, but row {row} is {text!r}. Leave such items out.")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                raise InputError(
                    f"{name} must be Unicode, but row {row} holds half of a character: {text[:40]!a}. Was it cut off?"
                ) from None
