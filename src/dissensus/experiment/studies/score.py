"""What one trained model scores, a row of a study's table; and the table on disk."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import existing_file, written_whole

PLACE = ("data", "condition", "method", "seed", "against", "checkpoint", "tempered", "items")


@dataclass(frozen=True)
class Score:
    """The numbers of one model at one checkpoint, judged by one kind of people."""

    data: str
    condition: str  # what the study varies: whose votes, how many, which training came before
    method: str
    seed: int
    against: str  # by whose votes it is judged
    checkpoint: str  # "best" on the selection items, or "last"
    tempered: bool  # after a temperature that was fitted on the selection items
    items: int
    values: Mapping[str, float]  # by metric

    @property
    def arm(self) -> tuple[str, str, str, int]:
        """Which training it is of."""
        return self.data, self.condition, self.method, self.seed


class Scores:
    """Rows that can be asked for the numbers of one arm, seed by seed."""

    def __init__(self, rows: Iterable[Score]) -> None:
        self.rows = list(rows)

    def names(self, column: str) -> list[str]:
        """The different entries of a column, in the order in which they first appear."""
        return list(dict.fromkeys(getattr(row, column) for row in self.rows))

    def where(self, **place: object) -> Scores:
        """The rows of one place.

        >>> row = Score("mine", "five votes", "soft", 0, "hundred", "last", False, 9, {"kl": 0.5})
        >>> Scores([row]).where(method="soft", seed=0)["kl"]
        array([0.5])
        """
        return Scores(row for row in self.rows if all(getattr(row, name) == value for name, value in place.items()))

    def __getitem__(self, metric: str) -> NDArray[np.float64]:
        """One number a seed, in the order of seeds."""
        rows = sorted(self.rows, key=lambda row: row.seed)
        seeds = [row.seed for row in rows]
        if not rows or len(set(seeds)) < len(seeds):
            raise InputError(f"{metric} needs the rows of one arm, one a seed, but there are those of {seeds}.")
        return np.array([row.values[metric] for row in rows], np.float64)


def joined(before: Sequence[Score], rows: Sequence[Score]) -> list[Score]:
    """Scores with new ones, which stand for those of the same arm and seed; data set by data set, seed by seed."""
    new = {row.arm for row in rows}
    kept = [row for row in before if row.arm not in new]
    place = {data: number for number, data in enumerate(Scores([*before, *rows]).names("data"))}
    return sorted([*kept, *rows], key=lambda row: (place[row.data], row.seed))


def write_scores(path: str | os.PathLike[str], rows: Sequence[Score]) -> None:
    """A row a line, numbers in full; what was not measured is empty."""
    metrics = list(dict.fromkeys(metric for row in rows for metric in row.values))
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*PLACE, *metrics])
        for row in rows:
            place = [getattr(row, name) for name in PLACE[:6]]
            values = [_text(row.values.get(metric)) for metric in metrics]
            writer.writerow([*place, int(row.tempered), row.items, *values])


def read_scores(path: str | os.PathLike[str]) -> list[Score]:
    """What :func:`write_scores` wrote."""
    with existing_file(path, "table of a study's scores").open(encoding="utf-8", newline="") as file:
        try:
            return [_row(cells) for cells in csv.DictReader(file)]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{Path(path)} is damaged ({error}).") from None


def _row(cells: dict[str, str]) -> Score:
    values = {name: float(cell) for name, cell in cells.items() if name not in PLACE and cell}
    whole = {"seed": int(cells["seed"]), "tempered": bool(int(cells["tempered"])), "items": int(cells["items"])}
    told = {name: cells[name] for name in PLACE if name not in whole}
    return Score(**told, **whole, values=values)  # type: ignore[arg-type]


def _text(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else repr(float(value))
