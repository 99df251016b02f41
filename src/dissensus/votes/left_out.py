"""Annotators whose votes are left out: which votes these are, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.words import first, many
from dissensus.votes.ignored import said, written


def left_out(
    annotators: pl.Series | None, voted: NDArray[np.bool_], names: Sequence[str | int]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which of the votes are by these annotators, and a note that counts them.

    >>> who = pl.Series(["ann", "bob", "bob"])
    >>> rows, notes = left_out(who, np.array([True, True, False]), ["bob"])
    >>> rows.tolist(), notes
    ([False, True, True], ["1 vote is left out: 1 by 'bob'."])
    """
    if not names:
        return np.zeros(len(voted), bool), []
    if annotators is None:
        raise InputError(f"the votes by {names[0]!r} shall be left out, but the votes do not say who cast them.")
    people, names = said(annotators), list({written(name): name for name in names}.values())  # 7 and "7" are one
    rows = {name: (people == written(name)).fill_null(False).to_numpy() for name in names}
    refuse_unknown([name for name in names if not rows[name].any()], people)
    out = np.logical_or.reduce([*rows.values()])
    if not (voted & ~out).any():
        raise InputError(f"without the votes by {first([*map(repr, names)])} there are none.")
    return out, told([(int((voted & by).sum()), name) for name, by in rows.items()])


def refuse_unknown(names: Sequence[str | int], annotators: pl.Series) -> None:
    """An error for a name that nobody has; names that are much like it come first."""
    if names:
        known = annotators.drop_nulls().unique().sort().to_list()
        close = get_close_matches(str(names[0]), known)
        others = [name for name in known if name not in close]
        raise InputError(
            f"the votes by {names[0]!r} shall be left out, but there are none; annotators are "
            f"{first([*map(repr, close), *map(repr, others)])}."
        )


def told(counted: Sequence[tuple[int, str | int]]) -> list[str]:
    """How many votes are left out, and whose.

    >>> told([(3, "ann"), (1200, 7)])
    ["1,203 votes are left out: 3 by 'ann', 1,200 by 7."]
    """
    n = sum(count for count, _ in counted)
    whose = ", ".join(f"{count:,} by {name!r}" for count, name in counted)
    return [f"{many(n, 'vote') if n == 1 else f'{n:,} votes'} {'is' if n == 1 else 'are'} left out: {whose}."]
