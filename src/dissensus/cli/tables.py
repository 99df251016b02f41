"""Tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import nan
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dissensus.base.words import run_in_words
from dissensus.cli.telling import out

if TYPE_CHECKING:
    from dissensus.records import StoredRun


def show_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Sequence[str] = (),
    console: Console = out,
) -> None:
    """Columns of numbers stand to the right; those of a table without a head hold a thing a row, and to the left."""
    if title:
        console.print(f"[bold]{escape(title)}[/]")
    table = Table(header_style="bold", box=None, pad_edge=False, show_header=any(head), padding=(0, 2, 0, 0))
    for name, *cells in zip(head, *rows, strict=True):
        numeric = any(head) and all(cell[:1] in "0123456789.-−–±∞" for cell in cells)  # a number, or that there is none
        whole = name == "name" or (name in ("run", "study") and console.width >= 80)  # to be copied
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for row, kind in zip_longest(rows, kinds):
        table.add_row(*map(escape, row), style="dim" if kind == "reference" else None)
    console.print(table)


def in_words(run: StoredRun) -> str:
    return run_in_words(run.plan["method"], run.plan["votes"], run.plan["hold"], run.plan["seeds"]["split"])


def number(value: float | None) -> str:
    from dissensus.report.tables import number

    return number(nan if value is None else value, 4)
