"""The ledger: a verdict for every claim under every view, and the numbers that it rests on."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from dissensus.base.errors import InputError, StoreError, unknown
from dissensus.base.files import written_whole
from dissensus.experiment.claims.claim import metric_title

Verdict = Literal["supported", "contradicted", "undecided"]
SUPPORTED: Verdict = "supported"
CONTRADICTED: Verdict = "contradicted"
UNDECIDED: Verdict = "undecided"

Stage = Literal["judged", "in part", "early", "not planned"]
"""Whether a rule has spoken on a part; it has not where runs are missing, or where the protocol plans none.

"in part": on those of its cells, or of what these average, that the protocol plans, which are not all.
"""

Standing = Literal["supported", "contradicted", "undecided", "too few runs", "not run", "not planned"]
"""A verdict, or why no rule has spoken yet."""


@dataclass(frozen=True)
class Measured:
    """One cell: what was published, and what was measured.

    Numbers have the sign of the claim: above 0 (a factor above 1) is as claimed. Where sameness is claimed, they are
    the first less the second. ``p`` is that of what is claimed, ``p_against`` that of the opposite, both corrected as
    the rule says; none before all seeds are there.
    """

    cell: str
    metric: str
    scale: Literal["difference", "factor", "count"]
    published: str  # "" where there is none
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    p_against: float | None
    agree: int | None  # seeds in which it is as claimed; None where sameness is
    seeds: int
    verdict: Verdict

    @property
    def text(self) -> str:
        """The mean with its interval.

        >>> Measured("", "kl", "difference", "", 0.0261, 0.01, 0.04, 0.001, 1.0, 10, 10, "supported").text
        '0.0261 [0.01, 0.04]'
        >>> Measured("", "kl", "factor", "", 1.0041, 0.9, 250.0, 0.3, 1.0, 7, 10, "undecided").text
        '×1.00 [0.900, 250]'
        """
        if self.mean is None:
            return ""
        interval = (
            "" if self.low is None or self.high is None else f" [{self._digits(self.low)}, {self._digits(self.high)}]"
        )
        return f"{'×' * (self.scale == 'factor')}{self._digits(self.mean)}{interval}"

    def _digits(self, value: float) -> str:
        """Three; a factor keeps its zeros, since ×1 says less than ×1.00."""
        return f"{value:#.3g}".removesuffix(".") if self.scale == "factor" else f"{value:.3g}"


@dataclass(frozen=True)
class Judged:
    """One part of a claim, judged."""

    part: str
    says: str
    weight: str
    verdict: Verdict
    reason: str
    cells: tuple[Measured, ...]
    stage: Stage = "judged"

    @property
    def seeds(self) -> int:
        """Those that all cells have."""
        return min((cell.seeds for cell in self.cells), default=0)

    @property
    def measured(self) -> str:
        """Its means with intervals, after its name; "" where there are none."""
        span = _span(self)
        return f"{self.part} {span}" if span else ""

    @property
    def early(self) -> bool:
        """Whether it is too early for a verdict: runs that are planned are missing."""
        return self.stage == "early"


@dataclass(frozen=True)
class Row:
    """One claim under one view."""

    claim: str
    title: str
    ours: bool
    places: tuple[str, ...]  # tables and figures: where its evidence is
    view: str
    protocol: str
    checkpoint: str
    verdict: Verdict
    reason: str
    parts: tuple[Judged, ...]
    barred: bool = False  # whatever the parts say, the models have learned too little for them to count
    added: str = ""  # why the view was added, where that was when results had been seen
    changed: bool = False  # whether the claim's rule was, then

    @property
    def seeds(self) -> int:
        """The fewest of any part that decides; 0 where nothing was run, and where nothing needs to be."""
        return min((part.seeds for part in self.deciding if part.cells), default=0)

    @property
    def deciding(self) -> list[Judged]:
        """The parts that count."""
        return [part for part in self.parts if part.weight != "beside"]

    @property
    def standing(self) -> Standing:
        """The verdict, where all runs were tested that the protocol plans. A claim that waits for some is undecided
        too, but nobody should read it so; nor one that stays so, since the protocol does not plan what it needs.
        """
        if self.verdict != UNDECIDED:
            return self.verdict
        if any(part.early for part in self.deciding):
            return "too few runs" if self.begun else "not run"
        return "not planned" if any(part.stage == "not planned" for part in self.deciding) else self.verdict

    @property
    def in_part(self) -> bool:
        """Whether a verdict rests on a part of what the claim says, since the protocol plans no more."""
        return self.standing in (SUPPORTED, CONTRADICTED, UNDECIDED) and any(
            part.stage == "in part" for part in self.deciding
        )

    @property
    def begun(self) -> bool:
        """Whether anything that decides was measured."""
        return any(cell.seeds for part in self.deciding for cell in part.cells)

    @property
    def measured(self) -> str:
        """The means of the parts that count, with intervals."""
        return "; ".join(filter(None, (part.measured for part in self.deciding))) or "nothing"


@dataclass(frozen=True)
class Ledger:
    """All rows: claim by claim, view by view."""

    paper: str
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def row(self, claim: str, view: str = "published") -> Row:
        """That of a claim under a view."""
        by_name = {(row.claim, row.view): row for row in self.rows}
        if (claim, view) not in by_name:
            raise InputError(unknown("row", f"{claim} {view}", [" ".join(key) for key in by_name]))
        return by_name[claim, view]

    def under(self, view: str) -> list[Row]:
        """The rows of a view, in the order of the claims."""
        return [row for row in self.rows if row.view == view]

    def to_csv(self) -> str:
        """A line a cell, with its part, claim and view; one line for a part without cells."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line for row in self.rows for line in _lines(self.paper, row))
        return text.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> Ledger:
        """What :meth:`to_csv` wrote."""
        lines = list(csv.DictReader(io.StringIO(text)))
        if not lines or list(lines[0]) != _COLUMNS:
            raise StoreError("this is no ledger: its columns are others, or it is empty. Judge the claims again.")
        rows = [_row_of(list(group)) for _, group in groupby(lines, key=lambda one: (one["claim"], one["view"]))]
        return cls(lines[0]["paper"], tuple(rows))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """``ledger.csv``: the same rows, the same bytes."""
        with written_whole(Path(folder) / "ledger.csv") as part:
            part.write_text(self.to_csv(), "utf-8", newline="\n")


_YES_OR_NO = ["ours", "barred", "changed"]
_OF_ROW = ["claim", "title", "ours", "places", "view", "protocol", "checkpoint", "verdict", "reason", "barred", "added"]
_OF_ROW += ["changed"]
_OF_PART = ["part", "says", "weight", "part_verdict", "part_reason", "part_stage"]
_OF_CELL = [field.name for field in fields(Measured)]
_COLUMNS = [
    "paper",
    *_OF_ROW,
    "standing",
    *_OF_PART,
    *(name if name != "verdict" else "cell_verdict" for name in _OF_CELL),
]


def _span(part: Judged) -> str:
    """Metric by metric: one cell's, or from the lowest to the highest of several."""
    by_metric: dict[str, list[tuple[float, str]]] = {}
    for cell in part.cells:
        if cell.text:
            by_metric.setdefault(cell.metric, []).append((_number(cell.text), cell.text))
    told = {metric: _lowest_to_highest(cells) for metric, cells in by_metric.items()}
    if len({cell.metric for cell in part.cells}) < 2:
        return "".join(told.values())
    return ", ".join(f"{metric_title(metric)} {text}" for metric, text in told.items())


def _number(text: str) -> float:
    return float(text.split()[0].removeprefix("×"))


def _lowest_to_highest(cells: list[tuple[float, str]]) -> str:
    low, high = min(cells)[1], max(cells)[1]
    return low if low == high else f"{low} to {high} ({len(cells)} cells)"


def _lines(paper: str, row: Row) -> Iterator[dict[str, Any]]:
    head = {name: getattr(row, name) for name in _OF_ROW} | {"paper": paper, "places": " ".join(row.places)}
    head |= {name: int(head[name]) for name in _YES_OR_NO} | {"standing": row.standing}
    for part in row.parts:
        told = {"part": part.part, "says": part.says, "weight": part.weight}
        told |= {"part_verdict": part.verdict, "part_reason": part.reason, "part_stage": part.stage}
        if not part.cells:
            yield head | told
        for cell in part.cells:
            found = asdict(cell)
            found["cell_verdict"] = found.pop("verdict")
            yield head | told | {name: _text(value) for name, value in found.items()}


def _text(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _row_of(lines: list[dict[str, str]]) -> Row:
    first = lines[0]
    parts = [_part_of(list(group)) for _, group in groupby(lines, key=lambda one: one["part"])]
    told: dict[str, Any] = {name: first[name] for name in _OF_ROW}
    told |= {name: first[name] == "1" for name in _YES_OR_NO} | {"places": tuple(first["places"].split())}
    return Row(**told, parts=tuple(parts))


def _part_of(lines: list[dict[str, str]]) -> Judged:
    first = lines[0]
    cells = tuple(_cell_of(line) for line in lines if line["metric"])
    verdict: Any = first["part_verdict"]
    stage: Any = first["part_stage"]
    return Judged(first["part"], first["says"], first["weight"], verdict, first["part_reason"], cells, stage)


def _cell_of(line: Mapping[str, str]) -> Measured:
    def number(name: str) -> float | None:
        return float(line[name]) if line[name] else None

    verdict: Any = line["cell_verdict"]
    scale: Any = line["scale"]
    return Measured(
        cell=line["cell"],
        metric=line["metric"],
        scale=scale,
        published=line["published"],
        **{name: number(name) for name in ("mean", "low", "high", "p", "p_against")},
        agree=int(line["agree"]) if line["agree"] else None,
        seeds=int(line["seeds"]),
        verdict=verdict,
    )
