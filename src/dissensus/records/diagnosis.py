"""One number that was found inside a model, and the table of them that stands beside a run."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, cast, get_args

from dissensus.base.errors import StoreError
from dissensus.base.files import written_whole

Slice = Literal["all", "disputed"]  # evaluation items, or the tenth of them with most disagreement
Weights = Literal["best", "last", ""]  # of which epoch; none where the whole run is meant


@dataclass(frozen=True)
class Diagnosis:
    """What one instrument says of one model, with the 95 % interval of the estimate: its own error, not that of seeds.

    Low and high are nan where the number is exact. ``other`` is the run it was compared with.

    >>> Diagnosis("trace", 1634.0, 1590.0, 1678.0, items=2000, slice="disputed", weights="best").value
    1634.0
    """

    name: str
    value: float
    low: float
    high: float
    items: int
    slice: Slice = "all"
    weights: Weights = ""
    other: str = ""

    @property
    def subject(self) -> tuple[str, Slice, Weights, str]:
        """What the number is about: a later one about the same takes its place."""
        return self.name, self.slice, self.weights, self.other


_COLUMNS = [field.name for field in fields(Diagnosis)]


def renewed(old: Iterable[Diagnosis], new: Iterable[Diagnosis]) -> list[Diagnosis]:
    """The old ones, those that were found again replaced, and then the new ones.

    >>> from dataclasses import replace
    >>> old = [Diagnosis("trace", 9.0, 8.0, 10.0, 500), Diagnosis("area", 1.0, 1.0, 1.0, 500)]
    >>> [(found.name, found.value) for found in renewed(old, [replace(old[0], value=9.5)])]
    [('trace', 9.5), ('area', 1.0)]
    """
    return list({one.subject: one for one in (*old, *new)}.values())


def write_diagnostics(path: Path, diagnostics: Iterable[Diagnosis]) -> None:
    """As CSV, a row each, values in full precision."""
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for one in diagnostics:
            numbers = {name: repr(float(getattr(one, name))) for name in ("value", "low", "high")}
            writer.writerow(asdict(one) | numbers)


def read_diagnostics(path: Path) -> list[Diagnosis]:
    """What :func:`write_diagnostics` wrote."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames != _COLUMNS:
                raise ValueError(f"its columns are {', '.join(rows.fieldnames or ())}")
            return [_parsed(row) for row in rows]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise StoreError(
            f"{path} is damaged ({error}). It is derived: delete it, and diagnose the run again."
        ) from None


def _parsed(row: dict[str, str]) -> Diagnosis:
    for name, allowed in (("slice", get_args(Slice)), ("weights", get_args(Weights))):
        if row[name] not in allowed:
            raise ValueError(f"{row[name]!r} is no {name}")
    return Diagnosis(
        name=row["name"],
        value=float(row["value"]),
        low=float(row["low"]),
        high=float(row["high"]),
        items=int(row["items"]),
        slice=cast(Slice, row["slice"]),
        weights=cast(Weights, row["weights"]),
        other=row["other"],
    )
