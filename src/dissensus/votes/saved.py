"""The file that ``votes.save`` writes."""

from __future__ import annotations

from dissensus.votes.ask import Ask
from dissensus.votes.source import Arrays, Source
from dissensus.votes.table import ABOUT, Votes


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, Arrays) and ABOUT in str(source.arrays.get("about"))


def read(source: Source, ask: Ask) -> Votes:
    assert isinstance(source, Arrays)
    return Votes.load(source.path)
