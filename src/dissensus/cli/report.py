"""``dissensus report``: the page again, from stored runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.errors import InputError
from dissensus.cli import options
from dissensus.cli.extras import need
from dissensus.cli.given import key_values
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json, waiting

if TYPE_CHECKING:
    from dissensus import report as reports
    from dissensus.datasets import Dataset

WIDE = 110  # columns that a table of methods with intervals takes

EXAMPLES = "Example: [bold]dissensus report runs --where data.name=glyphs --out report[/bold]"


def report(
    store: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of a run store.")] = Path("runs"),
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="KEY=VALUE", help="Only runs whose plan says so.")
    ] = None,
    page: options.Out = Path("report"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the page again from stored runs: verdict, tables, figures, gallery. No training, no torch."""
    need("report")
    from dissensus.records import RunStore
    from dissensus.report import collect

    if not store.is_dir():
        raise InputError(f"{store} is not a folder; the folder of a run store was expected.")
    kept = RunStore(store)
    if not kept.names():
        raise InputError(f"{store} holds no runs. Make some with: dissensus compare --store {store}")
    chosen = key_values("--where", where, "data.name=glyphs")
    with waiting("Judging", quiet):
        collected = collect([kept.read(name) for name in kept.names()], where=chosen)
    show_report(collected, page, None, as_json, quiet)


def show_report(collected: reports.Comparison, page: Path, data: Dataset | None, as_json: bool, quiet: bool) -> None:
    from dissensus import report as reports

    with waiting("Drawing the page", quiet):
        written = reports.write_page(collected, page, data=data)
    if as_json:
        print_json(json.loads(reports.to_json(collected)) | {"page": str(written)})
        return
    detail_below = out.width < WIDE  # an interval under its mean, where four of them do not fit side by side
    tables = reports.summary(collected)
    for table in tables:
        rows = [[row.name, *(_cell(cell, detail_below) for cell in row.cells)] for row in table.rows]
        show_table(table.title, table.head, rows, [row.kind for row in table.rows])
        out.print()
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        out.print(f"[dim]{escape(note)}[/]", highlight=False)
    out.print()
    for sentence in (*collected.sentences, reports.votes_needed(collected)):
        if sentence:
            out.print(escape(sentence), highlight=False)
    for note in collected.notes:
        out.print(f"[dim]{escape(note)}[/]", highlight=False)
    out.print(f"\nThe page: [bold]{escape(str(written))}[/]", highlight=False, soft_wrap=True)


def _cell(cell: Any, detail_below: bool) -> str:
    return str(cell).replace(" ", "\n", 1) if detail_below and cell.detail else str(cell)
