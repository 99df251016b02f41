"""What whole distributions cost as targets, against hard labels, by the number of classes.

Measured by ``benchmarks/target_cost.py``, which says what is measured, and writes the file that is read here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dissensus.report.paper.grid import Grid, Line
from dissensus.report.tables import Box

HEAD = (
    "",
    "classes",
    "loss alone: time",
    "with a layer before it: time",
    "kept for the backward pass",
    "peak of GPU memory",
    "targets of 10⁶ items: rows",
    "the votes themselves",
)
NOTES = (
    "Soft labels against hard ones, in times of those: forward and backward pass of a batch of 128, one thread, the "
    "least of interleaved repeats; with a linear layer of 256 features before the loss, whose products no kind of "
    "target changes. Targets are kept here as votes, five an item, and not as rows.",
    "Measured apart from the runs above: times in seconds, versions and machines are in "
    "benchmarks/results/target_cost.json and target_cost_gpu.json of the repository.",
)


def cost_table() -> Grid:
    """A line a number of classes, on a CPU and on a GPU."""
    measured = json.loads(files(__package__).joinpath("cost.json").read_text("utf-8"))
    lines = [Line(device, f"{row['classes']:,}", _boxes(row)) for device, rows in measured.items() for row in rows]
    records = [{"device": device, **row} for device, rows in measured.items() for row in rows]
    return Grid("cost", "What whole distributions cost as targets", HEAD, tuple(lines), tuple(records), NOTES)


def _boxes(row: Mapping[str, Any]) -> tuple[Box, ...]:
    times = (row["loss"], row["last_layer"], row["kept"], row["peak"])
    stored = (f"{row['rows_bytes'] / 1e9:g} GB", f"{row['votes_bytes'] / 1e6:.0f} MB")
    return (*(Box() if one is None else Box(f"{one:.2f}") for one in times), *map(Box, stored))
