"""What labels have in common that are one but for spaces or capitals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from dissensus.base.words import first

FOLDS = ("spaces", "case")


def folded(name: str, fold: str | None) -> str:
    """A name without spaces outside and runs of them within, or without capitals, either.

    >>> folded(" Not  sure ", "spaces"), folded(" Not  sure ", "case"), folded(" Not  sure ", None)
    ('Not sure', 'not sure', ' Not  sure ')
    """
    if fold is None:
        return name
    plain = normalize("NFC", " ".join(name.split()))  # a letter with its accent may be two characters, and looks alike
    return plain.casefold() if fold == "case" else plain


def mended_by_fold(others: Sequence[Any], classes: Sequence[Any]) -> tuple[str, list[str]] | None:
    """Of labels that are no classes, a sentence on those that are but for spaces or capitals, and what would mend it.

    >>> mended_by_fold(["ok "], ["ok", "bad"])
    (" It differs from 'ok' in spaces alone: join them", ['fold="spaces"'])
    >>> mended_by_fold(["Ok", "what"], ["ok", "bad"])[1], mended_by_fold(["what"], ["ok", "bad"])
    (['fold="case"', 'ignore'], None)
    """
    for fold, what in zip(FOLDS, ("spaces", "capitals or spaces"), strict=True):
        known = {folded(name, fold): name for name in classes if isinstance(name, str)}
        alike = [name for name in others if isinstance(name, str) and folded(name, fold) in known]
        if not alike or (fold == "spaces" and len(alike) < len(others)):
            continue
        if len(alike) < len(others):
            told = f" Of these {first([*map(repr, alike)], most=5)} differ from a class in {what} alone. Join them and,"
            return f"{told} where others are no votes, ignore these", [f'fold="{fold}"', "ignore"]
        which = f"It differs from {known[folded(alike[0], fold)]!r}" if len(alike) == 1 else "They differ from a class"
        return f" {which} in {what} alone: join them", [f'fold="{fold}"']
    return None
