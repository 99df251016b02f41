"""CIFAR-10H's raw CSV: a row an answer, ``annotator_id``, ``chosen_label``, ``cifar10_test_test_idx``."""

from __future__ import annotations

from dissensus.votes.answers import Answer, text_cells, votes_of
from dissensus.votes.ask import Ask
from dissensus.votes.ignored import told
from dissensus.votes.source import Source, Table
from dissensus.votes.table import Votes

ITEM, WHO, LABEL, CHECK = "cifar10_test_test_idx", "annotator_id", "chosen_label", "is_attn_check"


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, Table) and {ITEM, WHO, LABEL, CHECK} <= set(source.columns)


def read(source: Source, ask: Ask) -> Votes:
    """Attention checks are no votes; they show images that have no index."""
    assert isinstance(source, Table)
    names = [ask.item or ITEM, ask.annotator or WHO, ask.label or LABEL, CHECK]
    rows = list(enumerate(zip(*text_cells(source, names), strict=True)))
    kept = [(row, cells) for row, cells in rows if cells[3] not in ("1", "1.0", "true", "True")]
    return votes_of(
        (Answer(*cells[:3]) for _, cells in kept),
        ask,
        place=lambda at: source.place(kept[at][0]),
        notes=told([(len(rows) - len(kept), "of attention checks")]),
    )
