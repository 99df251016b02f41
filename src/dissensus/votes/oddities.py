"""What looks like a slip in a file of votes. It is told and not mended: what was meant is not known here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.base.words import listed
from dissensus.votes.table import Class, Votes

BLANK = {"na", "n/a", "#n/a", "nan", "null", "?", "-"}  # but not "none", which may be an answer

SEPARATORS = (",", ";", "|", "#", "/", "+")


def odd_classes(classes: Sequence[Class]) -> list[str]:
    """Notes on classes that differ in capitals or spaces alone, that may stand for an empty cell, or for several.

    >>> for note in odd_classes(["Cat", "N/A", "cat", "cat,dog", "dog"]):
    ...     print(note)
    The classes 'Cat' and 'cat' differ in capitals or spaces alone; if they are one, write it in one way.
    The class 'N/A' may stand for no vote; if so, leave those cells empty, or ignore it.
    The class 'cat,dog' is made of others; if a vote may name several, say that the separator is ','.
    """
    spelled: dict[str, list[str]] = {}
    for name in classes:
        if isinstance(name, str):
            spelled.setdefault(" ".join(name.split()).casefold(), []).append(name)
    alike = [names for names in spelled.values() if len(names) > 1]
    blank = [name for plain, names in spelled.items() if plain in BLANK for name in names]
    notes = []
    if alike:
        more = f" ({len(alike)} classes are written in several ways)" if len(alike) > 1 else ""
        told = listed([*map(repr, alike[0])])
        notes.append(
            f"The classes {told} differ in capitals or spaces alone; if they are one, write it in one way{more}."
        )
    if blank:
        told = f"The class{'' if len(blank) == 1 else 'es'} {listed([*map(repr, blank)])}"
        which = "it" if len(blank) == 1 else "them"
        notes.append(f"{told} may stand for no vote; if so, leave those cells empty, or ignore {which}.")
    return [*notes, *_joined(classes)]


def _joined(classes: Sequence[Class]) -> list[str]:
    """A note on classes that are others with a separator between them, as votes for several classes are written."""
    known = {name.strip() for name in classes if isinstance(name, str)}
    for mark in SEPARATORS:
        found = [name for name in sorted(known) if mark in name and {part.strip() for part in name.split(mark)} < known]
        if found:
            some, them = ("es", "are") if len(found) > 1 else ("", "is")
            told = f"The class{some} {listed([*map(repr, found[:3])])}{', ...' if len(found) > 3 else ''} {them} made"
            return [f"{told} of others; if a vote may name several, say that the separator is {mark!r}."]
    return []


def odd_annotators(votes: Votes, what: str, mend: str) -> list[str]:
    """A note on an annotator who says several things and never what another says: perhaps a column of something else.

    >>> votes = Votes.from_records(items=[0, 0, 0, 1, 1, 1], annotators=["text", "ann", "bob"] * 2,
    ...                            labels=["so it is", "yes", "no", "never", "yes", "yes"])
    >>> odd_annotators(votes, "column", "leave it out")
    ["No label in the column 'text' is in another one; if that is no annotator, leave it out."]
    """
    if votes.annotators is None or votes.annotator_names is None or len(votes.annotator_names) < 2:
        return []
    said = np.zeros((len(votes.annotator_names), len(votes.sets)), bool)
    said[votes.annotators, votes.codes] = True
    shared = said[:, said.sum(0) > 1].any(1)
    odd = votes.annotator_names[~shared & (said.sum(1) > 1)].tolist()
    told = f"No label in the {what} {odd[0]!r} is in another one" if odd else ""
    return [f"{told}; if that is no annotator, {mend}."] if odd else []
