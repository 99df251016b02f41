"""What the page on speed says of what a look at curvature costs, from the file of the measurement."""

from __future__ import annotations

import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

from in_markdown import bold, gpu_name, if_any, joined, table, table_row

WAYS = {
    "ours": "dissensus",
    "double": "double backward, our rules",
    "pyhessian": "PyHessian's algorithm",
    "curvlinops": "curvlinops",
}
PRECISIONS = {"tf32": "TF32", "fp32": "fp32"}

Measured = dict[tuple[str, str], dict[str, Any]]


def curvature(results: Path) -> str:
    """Seconds and errors by way and precision, and how the cost grows; nothing where nothing was measured."""
    path = results / "curvature.json"
    if not path.exists():
        return ""
    told = json.loads(path.read_text("utf-8"))
    result, gpu = told["result"], gpu_name(told["environment"]["machine"]["gpu"])
    measured = _by_way(result)
    later = _by_way(_of_another_call(results))
    done = {key: row for key, row in measured.items() if "median_s" in row}
    failed = [
        f"{WAYS[way]} in {PRECISIONS[precision]}"
        for (precision, way), row in measured.items()
        if "failed" in row and (precision, way) not in later
    ]
    rows = [
        table_row(WAYS[way], PRECISIONS[precision], *bold(way == "ours", *_cells(row)))
        for (precision, way), row in done.items()
    ]
    told_first = f"""The top eigenvalue to 1 % and a trace from {result["probes"]} probes, for a ResNet-18 on
    {result["items"]:,} images, on one {gpu}. Errors are against float64; that of the trace is the chance of its probes
    where those are not ours."""
    told_last = if_any(
        [_beside(key, later) for key in later if key[1] != "ours"], "In another call, with a net of its own: {}."
    )
    told_last += if_any(failed, " Did not run there: {}.")
    head = ("", "precision", "s a model", "eigenvalue off by", "trace off by", "memory")
    return joined(told_first, table(head, rows), told_last, _growth(result)) + "\n"


def _of_another_call(results: Path) -> dict[str, Any]:
    """What was measured beside ours after the table was made: another net, so not a row of it."""
    path = results / "curvature_curvlinops.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["result"] if path.exists() else {}
    return found


def _by_way(result: dict[str, Any]) -> Measured:
    ways = [(precision, way) for precision in PRECISIONS for way in WAYS if way in result.get(precision, {})]
    return {(precision, way): result[precision][way] for precision, way in ways}


def _beside(key: tuple[str, str], measured: Measured) -> str:
    precision, way = key
    seconds, eigenvalue, trace, memory = _cells(measured[key])
    ours = _cells(measured[precision, "ours"])[0]
    errors = f"eigenvalue off by {eigenvalue}, trace by {trace}, {memory}"
    return f"{WAYS[way]} {seconds} s in {PRECISIONS[precision]} ({errors}), ours {ours} s"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    trace = row["trace_error"] if row["trace_error_same_probes"] is None else row["trace_error_same_probes"]
    return f"{row['median_s']:.1f}", f"{row['top_error']:.2%}", f"{trace:.2%}", f"{row['memory_gb']:.0f} GB"


def _growth(result: dict[str, Any]) -> str:
    """How ours grows with the items and with the probes, one varied at a time."""
    if "growth" not in result:
        return ""
    items, probes = (
        [(f"{int(number):,}", f"{row['seconds']:.1f}") for number, row in sorted(told.items(), key=_by_number)]
        for told in (result["growth"]["items"], result["growth"]["probes"])
    )
    head = ("items", f"s, {result['probes']} probes", "probes", f"s, {result['items']:,} items")
    rows = [table_row(*one, *other) for one, other in zip_longest(items, probes, fillvalue=("", ""))]
    return table(head, rows)


def _by_number(pair: tuple[str, Any]) -> int:
    return int(pair[0])
