"""POPQUORN (Pei and Jurgens, 2023), the part on offensiveness: 13,036 ratings of 1,500 comments by 262 annotators.

Ratings run from 1, not offensive at all, to 5, and are ordered. What the file says about annotators besides their
number is not read.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.folder import data_files
from dissensus.datasets.groups import by_words
from dissensus.datasets.json_files import refuse_wrong_number
from dissensus.datasets.texts import Texts
from dissensus.votes import Votes

FILE = "popquorn/offensiveness.csv"
ITEMS, RATINGS = 1_500, 13_036
CLASSES = (1, 2, 3, 4, 5)

_COLUMNS = ("instance_id", "user_id", "text", "offensiveness")


class Rating(NamedTuple):
    """A row of the file; ``vote`` is None where the cell is empty."""

    item: int
    annotator: int
    text: str
    vote: int | None


def load_offensiveness() -> Dataset:
    """Comments and their ratings; there is no label besides the votes."""
    (path,) = data_files("popquorn-offensiveness", FILE)
    ratings = read_ratings(path)
    text = {rating.item: rating.text for rating in ratings}
    votes = Votes.from_records(
        items=[rating.item for rating in ratings],
        labels=[rating.vote for rating in ratings],
        annotators=[rating.annotator for rating in ratings],
        classes=CLASSES,
        ordered=True,
    )
    texts = [text[item] for item in votes.items.tolist()]
    return Dataset("popquorn-offensiveness", Texts(texts), votes, groups=by_words(texts))


def read_ratings(path: Path) -> list[Rating]:
    """The rows of the file, which must be whole and as published; further columns may stand beside."""
    existing_file(path, "table of ratings (CSV)")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            lost = [name for name in _COLUMNS if name not in (rows.fieldnames or ())]
            if lost:
                raise InputError(
                    f"{path} must have the columns {', '.join(_COLUMNS)}, but {', '.join(lost)} "
                    f"{'is' if len(lost) == 1 else 'are'} not there. Is it another file of that name?"
                )
            ratings = [_rating(row, f"{path}, line {rows.line_num}") for row in rows]
    except (csv.Error, UnicodeDecodeError) as why:
        raise InputError(f"{path} is damaged or no CSV ({why}). Remove it and get it again.") from None
    texts: dict[int, str] = {}
    for rating in ratings:
        if texts.setdefault(rating.item, rating.text) != rating.text:
            raise InputError(
                f"{path}: comment {rating.item} has two texts, {texts[rating.item]!r:.60} and another one."
            )
    refuse_wrong_number(path, len(ratings), RATINGS, "ratings")
    refuse_wrong_number(path, len(texts), ITEMS, "comments")
    return ratings


def _rating(row: dict[str, str | None], where: str) -> Rating:
    """Ratings are written as 1.0 to 5.0."""
    cells = {name: row[name] for name in _COLUMNS}
    item, annotator, text, vote = cells.values()
    for name in ("instance_id", "user_id"):
        cell = cells[name]
        if cell is None or not (cell.isascii() and cell.isdigit()):
            raise InputError(f"{where}: {name!r} must be a whole number, but it is {cell!r:.40}.")
    allowed = {f"{number}.0": number for number in CLASSES} | {str(number): number for number in CLASSES}
    if not text or vote is None or (vote and vote not in allowed):
        raise InputError(
            f"{where}: there must be a text and a rating of 1 to 5, but they are {text!r:.40} and {vote!r:.20}."
        )
    return Rating(int(str(item)), int(str(annotator)), text, allowed.get(vote))
