"""One number with its provenance, and the table of them that stands beside a run."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, cast, get_args

from dissensus.base.errors import StoreError
from dissensus.base.files import written_whole

Checkpoint = Literal["best", "last"]
CHECKPOINTS: tuple[Checkpoint, ...] = get_args(Checkpoint)
Against = Literal["human", "truth"]


@dataclass(frozen=True)
class Record:
    """What one metric says of one run.

    >>> Record("0123456789abcdef", "kl", 0.35, "best", tempered=False, against="human", items=2000).value
    0.35
    """

    run: str
    metric: str
    value: float
    checkpoint: Checkpoint
    tempered: bool  # after a temperature that was fitted on items that are not scored
    against: Against  # the votes of the annotators, or the true distribution where it is known
    items: int


_COLUMNS = [field.name for field in fields(Record)]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Records as CSV, a row each, values in full precision."""
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow(asdict(record) | {"value": repr(float(record.value)), "tempered": int(record.tempered)})


def read_records(path: Path) -> list[Record]:
    """What :func:`write_records` wrote."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_parsed(row) for row in csv.DictReader(file)]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is damaged ({error}). It is derived: delete it, and it is made again.") from None


def _parsed(row: dict[str, str]) -> Record:
    return Record(
        run=row["run"],
        metric=row["metric"],
        value=float(row["value"]),
        checkpoint=cast(Checkpoint, row["checkpoint"]),
        tempered=bool(int(row["tempered"])),
        against=cast(Against, row["against"]),
        items=int(row["items"]),
    )
