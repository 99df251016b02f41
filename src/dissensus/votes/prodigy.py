"""Prodigy's JSON Lines: a line a task and session, with ``_input_hash``, ``answer`` and, of choices, ``accept``."""

from __future__ import annotations

from typing import Any

import polars as pl

from dissensus.votes.answers import Answer, cells, votes_of
from dissensus.votes.ask import Ask
from dissensus.votes.source import Source, Table, TypedTable
from dissensus.votes.table import Votes

WHO = ("_annotator_id", "_session_id")
DROPPED = {"reject": "rejected", "ignore": "ignored"}


def fits(source: Source, ask: Ask) -> bool:
    names = set(source.columns) if isinstance(source, TypedTable) else set()
    return {"_input_hash", "_task_hash", "answer"} <= names and bool({"accept", "label"} & names)


def read(source: Source, ask: Ask) -> Votes:
    """Of choices, what was chosen in accepted tasks; of a label that was offered, whether it was accepted."""
    assert isinstance(source, TypedTable)
    label, item = _label_of(source, ask), item_of(source, ask)
    who = ask.annotator or next((name for name in WHO if name in source.columns), None)
    answers, labels, items = cells(source, ["answer", label, item])
    workers = cells(source, [who])[0] if who else [None] * len(answers)
    offered = label == "answer"
    return votes_of(
        (
            Answer(one, worker, said, DROPPED.get(answer) if not offered or answer == "ignore" else None)
            for one, worker, said, answer in zip(items, workers, labels, answers, strict=True)
        ),
        ask,
        place=source.place,
        classes=("reject", "accept") if offered else _options(source) if label == "accept" else None,
        several=_several(source),
    )


def item_of(source: Table, ask: Ask) -> str:
    """The column of the items: what was asked about, or, where a label is offered with it, both of them.

    A text is asked about once for every label that is offered: whether it was accepted is said of different items.
    """
    return ask.item or ("_task_hash" if _label_of(source, ask) == "answer" else "_input_hash")


def _label_of(source: Table, ask: Ask) -> str:
    return ask.label or ("accept" if "accept" in source.columns else "answer")


def _options(source: TypedTable) -> list[Any] | None:
    """The classes that were to choose from, in their order, if they were always the same."""
    if "options" not in source.columns:
        return None
    offered = {tuple(option["id"] for option in options) for options in cells(source, ["options"])[0] if options}
    return list(offered.pop()) if len(offered) == 1 else None


def _several(source: TypedTable) -> bool:
    """Whether tasks say that several options may be chosen."""
    schema = source.frame.collect_schema()
    config = schema.get("config")
    if not isinstance(config, pl.Struct) or "choice_style" not in {field.name for field in config.fields}:
        return False
    return any(one and one["choice_style"] == "multiple" for one in cells(source, ["config"])[0])
