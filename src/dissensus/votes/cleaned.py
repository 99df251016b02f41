"""Labels as they shall be read, in whatever layout they came; what is another then, or no vote, is counted and told."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.votes.ask import Ask
from dissensus.votes.build import without_blanks
from dissensus.votes.ignored import without
from dissensus.votes.left_out import left_out
from dissensus.votes.spelling import joined


def cleaned(
    labels: pl.Series, annotators: pl.Series | None, ask: Ask
) -> tuple[pl.Series, NDArray[np.bool_], list[str]]:
    """Labels by the names they shall have, None for those that are no votes, where these were, and notes.

    >>> labels, who = pl.Series(["yes", "unsure", "no"]), pl.Series(["ann", "ann", "bob"])
    >>> labels, none, notes = cleaned(labels, who, Ask(ignore=("unsure",), without=("bob",)))
    >>> labels.to_list(), none.tolist()
    (['yes', None, None], [False, True, True])
    >>> notes
    ["1 answer is no vote: 1 'unsure'.", "1 vote is left out: 1 by 'bob'."]
    """
    labels, ask, renamed = joined(labels, ask)
    labels, none, ignored = without(labels, ask.ignore)
    notes = [*renamed, *ignored]
    if not ask.without:
        return labels, none, notes
    voted = without_blanks(labels).is_not_null().to_numpy()
    out, told = left_out(annotators, voted, ask.without)
    return pl.select(pl.when(pl.Series(~out)).then(labels)).to_series(), none | out, [*notes, *told]
