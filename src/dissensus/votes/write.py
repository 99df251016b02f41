"""Votes as a long table on disk, which ``read_votes`` reads back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dissensus.base.errors import InputError, unknown
from dissensus.base.files import written_whole
from dissensus.votes.table import Votes

SEPARATOR = "|"  # between the classes of a vote in CSV and TSV


def write(votes: Votes, path: str | os.PathLike[str]) -> None:
    """Write ``votes`` in the format that the suffix of ``path`` names."""
    path = Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(unknown("suffix", path.suffix, WRITERS) + "; .npz is written by votes.save.")
    with written_whole(path) as part:
        try:
            writer(votes, part)
        except pl.exceptions.PolarsError as error:  # which tells of a full disk in its own words
            raise OSError(str(error)) from error


def frame(votes: Votes) -> pl.DataFrame:
    """A long table: item, annotator where known, label; an item without votes is a row without a label.

    >>> frame(Votes.from_counts([[1, 1]], classes=["no", "yes"], items=["a"])).rows()
    [('a', 'no'), ('a', 'yes')]
    """
    per_item = votes.votes_per_item
    item = np.repeat(np.arange(votes.n_items), np.maximum(per_item, 1))
    voted = np.repeat(per_item > 0, np.maximum(per_item, 1))
    vote = np.cumsum(voted) - 1
    named = _labels(votes)
    columns = {"item": pl.Series(votes.items).gather(item)}
    if votes.annotators is not None and votes.annotator_names is not None:
        columns["annotator"] = _gather(pl.Series(votes.annotator_names), votes.annotators, vote, voted)
    columns["label"] = _gather(named, votes.codes, vote, voted)
    return pl.DataFrame(columns)


def _labels(votes: Votes) -> pl.Series:
    """What each code says: a class, or a list of classes."""
    kinds = {type(name) for name in votes.classes}
    if str in kinds and len(kinds) > 1:
        raise InputError(f"classes of text and numbers cannot share a column: {', '.join(map(repr, votes.classes))}.")
    classes = pl.Series(votes.classes, strict=len(kinds) == 1)
    if votes.label_sets is None:
        return classes
    rows = [classes.gather(np.flatnonzero(row)).to_list() for row in votes.label_sets]
    return pl.Series(rows, dtype=pl.List(classes.dtype))


def _gather(values: pl.Series, codes: Any, vote: Any, voted: Any) -> pl.Series:
    """The value of each row's vote, None for a row without one."""
    at = pl.Series(codes.astype(np.int64)).gather(np.maximum(vote, 0)) if len(codes) else pl.Series(vote)
    return values.gather(at.set(pl.Series(~voted), None)) if not voted.all() else values.gather(at)


def _write_parquet(votes: Votes, path: Path) -> None:
    about = json.dumps({"classes": votes.classes, "ordered": votes.ordered}, allow_nan=False)
    frame(votes).write_parquet(path, metadata={"dissensus": about})


def _write_json_lines(votes: Votes, path: Path) -> None:
    frame(votes).write_ndjson(path)


def _write_text(delimiter: str) -> Callable[[Votes, Path], None]:
    def write_text(votes: Votes, path: Path) -> None:
        table = frame(votes)
        if votes.multilabel:
            _refuse_unwritable_sets(votes)
            table = table.with_columns(pl.col("label").cast(pl.List(pl.String)).list.join(SEPARATOR))
        table.write_csv(path, separator=delimiter)

    return write_text


def _refuse_unwritable_sets(votes: Votes) -> None:
    hint = "write .parquet or .jsonl"
    for name in votes.classes:
        if SEPARATOR in str(name):
            raise InputError(f"the class {name!r} holds {SEPARATOR!r}, which separates classes in text files; {hint}.")
    if votes.n_votes and not votes.sets[np.unique(votes.codes)].any(1).all():
        raise InputError(f"a vote for no class at all cannot be told from no vote in a text file; {hint}.")


WRITERS: dict[str, Callable[[Votes, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_text(","),
    ".tsv": _write_text("\t"),
    ".jsonl": _write_json_lines,
}
