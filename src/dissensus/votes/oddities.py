"""What looks like a slip in a file of votes. It is told and not mended: what was meant is not known here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np
import polars as pl

from dissensus.base.words import first, listed
from dissensus.votes.table import Class, Votes

BLANK = {"na", "n/a", "#n/a", "nan", "null", "?", "-"}  # but not "none", which may be an answer
UNSURE = {"unsure", "not sure", "i don't know", "don't know", "dont know", "do not know", "idk", "dunno"}
UNSURE |= {"can't tell", "cannot tell", "can't say", "cannot say", "skip", "skipped"}
DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
SPLIT = 15  # items that divide the others: who agrees with most of them on all of these may be computed from them

SEPARATORS = (",", ";", "|", "#", "/", "+")
LIST_MARKS = SEPARATORS[:3]  # at which cells are cut that hold lists
BRACKETS = re.compile(r"\[.*[,'\"].*\]", re.DOTALL)


def odd_classes(classes: Sequence[Class]) -> list[str]:
    """Notes on classes that differ in capitals or spaces alone, that may be no answers, or numbers, or several.

    >>> for note in odd_classes(["Cat", "N/A", "cat", "cat,dog", "dog", "unsure"]):
    ...     print(note)
    The classes 'Cat' and 'cat' differ in capitals or spaces alone; if they are one, write it in one way, or fold them.
    The class 'N/A' may stand for no vote; if so, leave those cells empty, or ignore it.
    The class 'unsure' counts as the others do; if it says nothing of the item, ignore it.
    The class 'cat,dog' is made of others; if a vote may name several, say that the separator is ','.
    """
    spelled = _spelled(classes)
    blank = [name for plain, names in spelled.items() if plain in BLANK for name in names]
    unsure = [name for plain, names in spelled.items() if plain.replace("\u2019", "'") in UNSURE for name in names]
    notes = _alike("classes", spelled)
    if blank:
        told = f"The class{'' if len(blank) == 1 else 'es'} {listed([*map(repr, blank)])}"
        which = "it" if len(blank) == 1 else "them"
        notes.append(f"{told} may stand for no vote; if so, leave those cells empty, or ignore {which}.")
    if len(unsure) == 1:
        notes.append(f"The class {unsure[0]!r} counts as the others do; if it says nothing of the item, ignore it.")
    elif unsure:
        told = listed([*map(repr, unsure)])
        notes.append(f"The classes {told} count as the others do; if they say nothing of the item, ignore them.")
    return [*notes, *(_joined(classes) or _decimal_commas(classes) or _in_lists(classes))]


def odd_ids(items: pl.Series, annotators: Sequence[str | int] = ()) -> list[str]:
    """Notes on items that differ in spaces or encoding alone, and on annotators that do in capitals, too.

    >>> odd_ids(pl.Series(["a", "b", "a "]))
    ["The items 'a' and 'a ' differ in spaces alone; if they are one, write it in one way."]
    """
    notes = _alike("annotators", _spelled(annotators))
    if items.dtype != pl.String:
        return notes
    plain = items.str.strip_chars()
    if (plain.str.len_bytes() != plain.str.len_chars()).any():  # else all is ASCII, which is encoded in one way
        plain = plain.str.normalize("NFC")
    if not (plain != items).any():
        return notes
    spelled: dict[str, list[str]] = {}
    shared = plain.is_duplicated()
    for name, item in zip(plain.filter(shared), items.filter(shared), strict=True):
        spelled.setdefault(name, []).append(item)
    return [*_alike("items", spelled, "spaces"), *notes]


def _spelled(names: Sequence[Class]) -> dict[str, list[str]]:
    """All ways in which a name is written, by the name without capitals and spaces to spare, in one encoding."""
    spelled: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            spelled.setdefault(_composed(" ".join(name.split()).casefold()), []).append(name)
    return spelled


def _composed(name: str) -> str:
    """A letter and its accent as one character: Unicode knows them as two as well, and both look alike."""
    return normalize("NFC", name)


def _alike(what: str, spelled: dict[str, list[str]], by: str = "capitals or spaces") -> list[str]:
    alike = [names for names in spelled.values() if len(names) > 1]
    if not alike:
        return []
    more = f" ({len(alike)} {what} are written in several ways)" if len(alike) > 1 else ""
    same = len({*map(_composed, alike[0])}) == 1
    told = listed([*map(ascii if same else repr, alike[0])])
    by = "the encoding of accents (NFC or NFD)" if same else by
    mend = "write it in one way" + (", or fold them" if what == "classes" else "")
    return [f"The {what} {told} differ in {by} alone; if they are one, {mend}{more}."]


def _decimal_commas(classes: Sequence[Class]) -> list[str]:
    """A note on classes that are all numbers, as they are written in German."""
    names = [name for name in classes if isinstance(name, str)]
    with_comma = [name for name in names if "," in name]
    if not with_comma or len(names) < len(classes) or not all(map(DECIMAL_COMMA.fullmatch, names)):
        return []
    told = first([*map(repr, with_comma)], 3)
    return [f"The classes {told} are read as text; if they are numbers, write them with a point."]


def _joined(classes: Sequence[Class]) -> list[str]:
    """A note on classes that are others with a separator between them, as votes for several classes are written."""
    known = {name.strip() for name in classes if isinstance(name, str)}
    for mark in SEPARATORS:
        found = [name for name in sorted(known) if mark in name and set(_parts(name, mark)) < known]
        if any(len(set(_parts(name, mark))) < len(_parts(name, mark)) for name in found):
            return _lists_told(found)  # one vote names a class once
        if found:
            some, them = ("es", "are") if len(found) > 1 else ("", "is")
            told = f"The class{some} {listed([*map(repr, found[:3])])}{', ...' if len(found) > 3 else ''} {them} made"
            return [f"{told} of others; if a vote may name several, say that the separator is {mark!r}."]
    return []


def _in_lists(classes: Sequence[Class]) -> list[str]:
    """A note on classes that look like lists: in brackets, or of parts that are all there once more, in any class.

    >>> _in_lists(["x,y,x", "y,z"])
    ["The class 'x,y,x' looks like a list; if it holds several votes, say that the layout is 'lists'."]
    """
    names = sorted({name.strip() for name in classes if isinstance(name, str)})
    if found := [*filter(BRACKETS.fullmatch, names)]:
        return _lists_told(found)
    for mark in LIST_MARKS:
        cut = {name: [*filter(None, _parts(name, mark))] for name in names if mark in name}
        times = Counter(part for parts in cut.values() for part in parts)
        times.update(name for name in names if name in times and name not in cut)
        if found := [name for name, parts in cut.items() if len(parts) > 1 and all(times[part] > 1 for part in parts)]:
            return _lists_told(found)
    return []


def _parts(name: str, mark: str) -> list[str]:
    return [part.strip() for part in name.split(mark)]


def _lists_told(found: Sequence[str]) -> list[str]:
    mend = "several votes, say that the layout is 'lists'."
    if len(found) == 1:
        return [f"The class {found[0]!r} looks like a list; if it holds {mend}"]
    names = [*map(repr, found)]
    told = listed(names) if len(names) <= 3 else first(names, 3)
    return [f"The classes {told} look like lists; if they hold {mend}"]


def odd_lists(votes: Votes) -> list[str]:
    """A note on lists of labels where every item has one alone: each may be all votes on its item.

    >>> odd_lists(Votes.from_records(items=["a", "b"], labels=[["yes", "no"], ["no"]]))
    ["A list of labels is read as one vote for all in it; if it holds several votes, say that the layout is 'lists'."]
    """
    if not votes.multilabel or votes.votes_per_item.max(initial=0) > 1 or votes.sets.sum(1).max(initial=0) < 2:
        return []
    told = "A list of labels is read as one vote for all in it"
    return [f"{told}; if it holds several votes, say that the layout is 'lists'."]


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


def odd_majority(votes: Votes, what: str, mend: str) -> list[str]:
    """A note on an annotator who says what most of the others do on every item that divides them.

    >>> people = [["cat", "cat", "dog"], ["cat", "dog", "dog"], ["dog", "cat", "dog"]] * 5
    >>> rows = [[*row, max(row, key=row.count)] for row in people]
    >>> votes = Votes.from_records(items=np.arange(15).repeat(4), annotators=["a", "b", "c", "most"] * 15,
    ...                            labels=[label for row in rows for label in row])
    >>> odd_majority(votes, "column", "leave it out")
    ["The column 'most' always says what most of the others do; if it was computed from them, leave it out."]
    """
    if votes.annotators is None or votes.annotator_names is None or votes.multilabel:
        return []
    counts, item = votes.counts(), np.repeat(np.arange(votes.n_items), votes.votes_per_item)
    odd = []
    for number, name in enumerate(votes.annotator_names.tolist()):
        own = np.flatnonzero(votes.annotators == number)
        others, said = counts[item[own]], votes.codes[own]
        others[np.arange(len(own)), said] -= 1
        most = others.max(1, initial=0)
        divided = (most < others.sum(1)) & ((others == most[:, None]).sum(1) == 1)
        if divided.sum() >= SPLIT and (others[np.arange(len(own)), said] == most)[divided].all():
            odd.append(name)
    if len(odd) != 1:  # none, or people who agree
        return []
    return [f"The {what} {odd[0]!r} always says what most of the others do; if it was computed from them, {mend}."]
