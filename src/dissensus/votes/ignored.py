"""Labels that are to be ignored, such as "don't know" or 99: where they stand, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.words import first, many
from dissensus.votes.table import Class


def without(labels: pl.Series, names: Sequence[Class]) -> tuple[pl.Series, NDArray[np.bool_], list[str]]:
    """The labels with None for those in ``names``, where these were, and a note that counts them.

    >>> labels, none, notes = without(pl.Series(["yes", "don't know", "no"]), ["don't know"])
    >>> labels.to_list(), none.tolist(), notes
    (['yes', None, 'no'], [False, True, False], ['1 answer is no vote: 1 "don\\'t know".'])
    """
    if not names:
        return labels, np.zeros(len(labels), bool), []
    plain, names = said(labels), list({written(name): name for name in names}.values())  # 99 and "99" are one
    found = {name: (plain == written(name)).fill_null(False).to_numpy() for name in names}
    refuse_unused([name for name in names if not found[name].any()], plain)
    none = np.zeros(len(labels), bool)
    for rows in found.values():
        none |= rows
    counted = [(int(rows.sum()), repr(name)) for name, rows in found.items()]
    return pl.select(pl.when(pl.Series(~none)).then(labels)).to_series(), none, told(counted)


def said(labels: pl.Series) -> pl.Series:
    """What each label says, in writing; of a list, the one label in it."""
    if isinstance(labels.dtype, pl.List):
        alone = labels.list.len() == 1
        labels = pl.select(pl.when(alone).then(labels.list.first())).to_series()
    if labels.dtype.is_float():  # pandas makes 99.0 of 99 in a column with a gap
        labels = labels.fill_nan(None)
        whole = labels.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(labels.dtype) == labels).fill_null(False)
        labels = pl.select(pl.when(is_whole).then(whole.cast(pl.String)).otherwise(labels.cast(pl.String))).to_series()
    return labels.cast(pl.String)


def refuse_unused(unused: Sequence[Class], labels: pl.Series, what: str = "ignored") -> None:
    """An error for a name that no label has: it may be written in another way."""
    if unused:
        known = first([*map(repr, labels.drop_nulls().unique().sort().to_list())])
        raise InputError(f"{unused[0]!r} shall be {what}, but no label is that; the labels are {known}.")


def told(counted: Sequence[tuple[int, str]]) -> list[str]:
    """How many answers are no votes, and why.

    >>> told([(3, "rejected"), (1, "skipped")])
    ['4 answers are no votes: 3 rejected, 1 skipped.']
    """
    n = sum(count for count, _ in counted)
    reasons = ", ".join(f"{count:,} {reason}" for count, reason in counted)
    return [f"{many(n, 'answer')} {'is no vote' if n == 1 else 'are no votes'}: {reasons}."] if n else []


def written(name: Class) -> str:
    """A label as Polars writes it."""
    if isinstance(name, bool):
        return str(name).lower()
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
