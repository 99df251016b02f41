"""``dissensus report``: the page again, from stored runs."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.errors import InputError
from dissensus.base.words import first
from dissensus.cli import options
from dissensus.cli.extras import need
from dissensus.cli.given import key_values
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json, tell_notes, waiting

if TYPE_CHECKING:
    from dissensus import report as reports
    from dissensus.datasets import Dataset

DEFAULT = Path("report")  # where pages go
WIDE = 110  # columns that a table of methods with intervals takes

EXAMPLES = "Example: [bold]dissensus report runs --where data.name=glyphs --out glyphs[/bold]"


def report(
    store: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of a run store.")] = Path("runs"),
    where: options.Where = None,
    page: options.Out = None,
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
    if collected.votes is not None:
        tell_notes(collected.votes.notes)
    show_report(collected, page, None, as_json, quiet)


def place_of(runs: Collection[str], page: Path | None) -> Path:
    """Where the page of these runs goes: where it was asked for, or else where it takes no other one's place."""
    from dissensus.report import own_place

    return own_place(runs, DEFAULT) if page is None else page


def show_report(
    collected: reports.Comparison, page: Path | None, data: Dataset | None, as_json: bool, quiet: bool
) -> None:
    written, notes = draw_page(collected, page, data, quiet)
    _print_report(collected, written, as_json)
    tell_notes(notes)


def draw_page(
    collected: reports.Comparison, page: Path | None, data: Dataset | None, quiet: bool
) -> tuple[Path, list[str]]:
    """Write the page; where it is, and what to know of it."""
    from dissensus.report import write_page
    from dissensus.report.figures import without_glyph

    place = place_of([run.name for run in collected.runs], page)
    notes = _other_page(collected, DEFAULT if page is None else page, place)
    with waiting("Drawing the page", quiet):
        written = write_page(collected, place, data=data)
    if strange := without_glyph([*map(str, collected.setting.get("data.classes", ())), *collected.methods]):
        notes.append(
            f"no font of this machine has {first(strange, 10)}: in figures/*.png boxes stand for such characters. The "
            "page has the characters, for the fonts of whoever reads it."
        )
    return written, notes


def _other_page(collected: reports.Comparison, wanted: Path, place: Path) -> list[str]:
    """What to say of the page of another comparison that is where this one's was to be."""
    from dissensus.report import page_at, page_file

    there = page_at(wanted)
    if there is None or there.renewed_by([run.name for run in collected.runs]):
        return []
    other = f"{page_file(wanted)} {'was' if place == wanted else 'is'} another page ({there.beside(collected)})"
    return [f"{other}, and has been replaced." if place == wanted else f"{other}, and stays; this one is {place}."]


def _print_report(collected: reports.Comparison, written: Path, as_json: bool) -> None:
    from dissensus import report as reports

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
        out.print(f"[dim]{escape(note)}[/]")
    out.print()
    for sentence in collected.sentences:
        out.print(escape(sentence))
    for answer in filter(None, (reports.in_short(collected), reports.votes_needed(collected))):
        out.print(f"[bold]{escape(answer)}[/]")
    for note in collected.notes:
        out.print(f"[dim]{escape(note)}[/]")
    out.print(f"\nThe page: [bold]{escape(str(written))}[/]", soft_wrap=True)


def _cell(cell: Any, detail_below: bool) -> str:
    return str(cell).replace(" ", "\n", 1) if detail_below and cell.detail else str(cell)
