"""A table of the page: groups of lines under a head, and the same numbers in full for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dissensus.base.words import many
from dissensus.diagnostics.registry import DIAGNOSTICS
from dissensus.metrics import METRICS
from dissensus.report.paper.measured import BySeed, higher_is_better
from dissensus.report.tables import Box, heading, number
from dissensus.stats import Interval

TITLES = {
    "label_accuracy": "accuracy, data set's own label ↑",
    "epochs_earlier_to_95": "epochs earlier at 95 % of its best",
    "epochs_earlier_to_best": "epochs earlier at its best",
}
SLICES = {"all": "all items", "disputed": "most disputed items"}
SETS = {"svhn": "SVHN", "streetview": "street-view characters", "dtd": "textures", "cifar100": "CIFAR-100"}
DIGITS = {"curvature": 1, "epochs": 1, "similarity": 3}
"""Unit of a published number -> digits after the point; four for all others."""


@dataclass(frozen=True)
class Line:
    """One line: whose it is, what it says, and its boxes."""

    group: str
    name: str
    boxes: tuple[Box, ...]
    kind: str = "measured"  # or "published", "test"


@dataclass(frozen=True)
class Grid:
    """A whole table. Its ``records`` hold every number in full; ``notes`` stand below."""

    name: str  # of its file, and the anchor that others link to
    title: str
    head: tuple[str, ...]
    lines: tuple[Line, ...]
    records: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""  # where nothing is measured: how far the runs are

    def csv(self) -> str:
        """For programs: a row a number, all columns that any of them has."""
        return to_csv(self.records)


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """A row each, under all names that occur; what is not known is empty.

    >>> to_csv([{"a": 1, "b": 0.25}, {"a": 2, "c": None}])
    'a,b,c\\n1,0.25,\\n2,,\\n'
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_plain(record.get(name)) for name in names] for record in records)
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.7g}"
    return "" if value is None else value


def called(place: str) -> str:
    """A table or figure as it is spoken of.

    >>> called("table10"), called("figure2")
    ('Table 10', 'Figure 2')
    """
    return place.replace("table", "Table ").replace("figure", "Figure ")


def title_of(metric: str) -> str:
    """A metric or diagnostic as the head of a table has it.

    >>> title_of("soft_nll"), title_of("top_eigenvalue"), title_of("knn_auroc")
    ('soft NLL ↓', 'λmax', 'KNN ↑')
    """
    if metric in TITLES:
        return TITLES[metric]
    if metric in METRICS:
        return heading(metric)
    return DIAGNOSTICS[metric].title + (" ↑" if higher_is_better(metric) else "")


def digits_of(metric: str, unit: str | None = None) -> int:
    """As many as the paper prints, or as the list of diagnostics says."""
    if unit is not None:
        return DIGITS.get(unit, 4)
    return DIAGNOSTICS[metric].digits if metric in DIAGNOSTICS else 4


def votes_in_words(votes: int | str) -> str:
    return "all votes" if votes == "all" else many(int(votes), "vote")


def bounds(interval: Interval, digits: int) -> str:
    if not np.isfinite(interval.low):
        return ""
    return f"[{number(interval.low, digits)}, {number(interval.high, digits)}]"


def box(found: BySeed, digits: int, *, expected: int | None = None, differs: bool = False) -> Box:
    """Mean and interval; the number of seeds, where it is not the one that the line is said to have."""
    interval = found.interval
    if interval is None:
        return Box()
    detail = bounds(interval, digits)
    seeds = len(found.seeds)
    if expected is not None and seeds != expected:
        detail = " ".join(filter(None, (detail, many(seeds, "seed"))))
    return Box(number(interval.mean, digits), detail, differs=differs)


def record(found: BySeed, **more: Any) -> dict[str, Any]:
    """A number in full, for a file."""
    interval = found.interval
    return {
        **more,
        "seeds": len(found.seeds),
        "mean": None if interval is None else interval.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "sd": found.sd if found else None,
    }


def filled(lines: Iterable[Line]) -> bool:
    """Whether anything at all was measured."""
    return any(box.text != "–" for line in lines if line.kind == "measured" for box in line.boxes)
