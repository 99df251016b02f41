"""A reader's question, answered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """In short, for whoever reads no further; and what has to be known with it, for whoever does."""

    question: str
    short: str
    more: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, without the question."""
        return " ".join((self.short, *self.more))
