"""ChaosNLI's JSON Lines: ``uid`` and ``label_count``, a hundred votes an item whose annotators are not known."""

from __future__ import annotations

import polars as pl

from dissensus.base.errors import InputError
from dissensus.votes.ask import Ask, refuse_given
from dissensus.votes.classes import CHAOSNLI
from dissensus.votes.source import Source, TypedTable
from dissensus.votes.table import Votes


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, TypedTable) and {"uid", "label_counter", "label_count", "example"} <= set(source.columns)


def read(source: Source, ask: Ask) -> Votes:
    """The counts; the old label, the shares and the entropy (in bits) are not read."""
    assert isinstance(source, TypedTable)
    refuse_given(ask, ["item", "annotator", "label"], "ChaosNLI has items in 'uid' and counts in 'label_count'")
    rows = source.frame.select("uid", "label_counter", "label_count").collect()
    keys = _keys(source, rows["label_counter"].dtype)
    classes = CHAOSNLI[keys]
    if ask.classes not in (None, classes):
        raise InputError(f"{source.name} counts votes for {', '.join(map(repr, classes))}; do not name other classes.")
    for row, (uid, counter, counts) in enumerate(rows.iter_rows()):
        if uid is None:
            raise InputError(f"{source.place(row)}: the item ('uid') is missing.")
        if counts != [counter.get(key) or 0 for key in keys]:
            raise InputError(
                f"{source.place(row)}: 'label_count' {counts} does not fit 'label_counter' {counter} in the order "
                f"{', '.join(keys)}; download it again."
            )
    return Votes.from_counts(rows["label_count"].to_list(), classes=classes, items=rows["uid"].to_list())


def _keys(source: TypedTable, counter: pl.DataType) -> tuple[str, ...]:
    named = {field.name for field in counter.fields} if isinstance(counter, pl.Struct) else set()
    for keys in CHAOSNLI:
        if named and named <= set(keys):
            return keys
    told = ", ".join(sorted(named)) or "nothing"
    raise InputError(f"{source.name}: 'label_counter' counts {told}, but e, n and c, or 1 and 2, were expected.")
