"""The file that ``votes.save`` writes."""

from __future__ import annotations

from dataclasses import replace

from dissensus.votes import long
from dissensus.votes.ask import Ask
from dissensus.votes.source import Arrays, Source, TypedTable
from dissensus.votes.spelling import classes_of
from dissensus.votes.table import ABOUT, Votes, check_classes
from dissensus.votes.write import frame


def fits(source: Source, ask: Ask) -> bool:
    return isinstance(source, Arrays) and ABOUT in str(source.arrays.get("about"))


def read(source: Source, ask: Ask) -> Votes:
    """As they were saved; where some are to be left out, by way of the long table that they are."""
    assert isinstance(source, Arrays)
    votes = Votes.load(source.path)
    if not (ask.ignore or ask.without or ask.rename or ask.fold or ask.repeats != "all"):
        return votes
    table = TypedTable(source.name, frame(votes).lazy(), unit="vote")
    classes = check_classes(classes_of(votes.classes, ask))
    read_as = Ask(
        classes=classes,
        ordered=votes.ordered,
        ignore=ask.ignore,
        without=ask.without,
        rename=ask.rename,
        fold=ask.fold,
        repeats=ask.repeats,
    )
    left = long.read(table, read_as)
    return replace(left, notes=(*votes.notes, *left.notes))
