"""Tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import nan
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from dissensus.base.words import run_in_words
from dissensus.cli.telling import out

if TYPE_CHECKING:
    from dissensus.records import StoredRun

GAP = 2  # blanks between columns


def show_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Sequence[str] = (),
    console: Console = out,
) -> None:
    """Columns of numbers stand to the right; those of a table without a head hold a thing a row, and to the left.

    Words stay whole where there is room for that.
    """
    if title:
        console.print(f"[bold]{escape(title)}[/]")
    table = Table(header_style="bold", box=None, pad_edge=False, show_header=any(head), padding=(0, GAP, 0, 0))
    widths = widths_of(head, rows, console.width)
    for at, (name, *cells) in enumerate(zip(head, *rows, strict=True)):
        numeric = any(head) and all(
            cell[:1] in "0123456789.-+−–±∞" for cell in cells
        )  # a number, or that there is none
        whole = name == "name" or (name in ("run", "study") and console.width >= 80)  # to be copied
        side: JustifyMethod = "right" if numeric else "left"
        width = None if widths is None else widths[at]
        table.add_column(escape(name), justify=side, overflow="fold", no_wrap=whole, width=width)
    for row, kind in zip_longest(rows, kinds):
        table.add_row(*map(escape, row), style="dim" if kind == "reference" else None)
    console.print(table)


def widths_of(head: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide the columns of a table may be, the widest narrowed first; None where it has no room for whole words.

    >>> widths_of(["data", "soft NLL"], [["final labels.csv", "0.4318"]], 19), widths_of(["data"], [["a.csv"]], 4)
    ([10, 7], None)
    """
    columns = list(zip(head, *rows, strict=True))
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    least = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    while sum(widths) + GAP * (len(widths) - 1) > room:
        narrower = [at for at, width in enumerate(widths) if width > least[at]]
        if not narrower:
            return None
        widths[max(narrower, key=widths.__getitem__)] -= 1
    return widths


def in_words(run: StoredRun) -> str:
    return run_in_words(run.plan["method"], run.plan["votes"], run.plan["hold"], run.plan["seeds"]["split"])


def number(value: float | None) -> str:
    from dissensus.report.tables import number

    return number(nan if value is None else value, 4)
