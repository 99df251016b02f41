"""``dissensus diagnose``: numbers from inside stored models."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dissensus.base.errors import InputError, MissingExtra, StoreError
from dissensus.cli import options
from dissensus.cli.extras import need
from dissensus.cli.given import key_values, outside_sets, refuse_beside
from dissensus.cli.report import draw_page
from dissensus.cli.tables import in_words, show_table
from dissensus.cli.telling import err, out, print_json, tell_note, tell_notes, waiting

if TYPE_CHECKING:
    from dissensus.records import Diagnosis, StoredRun
    from dissensus.report import Comparison

SINGLY = 4  # so many runs are told one by one; more, unless they are named, by method
EXAMPLES = (
    "Examples: [bold]dissensus diagnose --store runs[/bold]; [bold]dissensus diagnose --where data.name=glyphs[/bold]; "
    "[bold]dissensus diagnose 3f2a 77b0 --ood svhn[/bold]"
)


def diagnose(
    names: options.RunNames = None,
    store: options.Store = Path("runs"),
    where: options.Where = None,
    ood: options.Outside = None,
    page: options.Out = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Where did training end up? Numbers from inside stored models, kept beside the runs and shown on the page.

    From every run: how it learned. From runs with features (--features): whether seeds see alike. From runs with few
    votes an item: where hard labels gain. From runs with weights (--save-model): curvature, gradient variance,
    barriers, Grad-CAM and out-of-distribution scores.

    compare --diagnose finds most of it right after training, without keeping weights.

    A whole store, or what --where leaves of it, is told by method, as means over seeds, and its page is written again
    with a section of what was found. Runs that are named are told one by one, and have a page if --out says where.
    """
    need("train", *(() if page is None else ("report",)))
    from dissensus.experiment import diagnose_runs
    from dissensus.report import check_folder, page_file

    runs = _runs(names, store, where)
    outside = outside_sets(ood)
    if page is not None:
        check_folder(page_file(page).parent)
    collected = _comparison(runs, page is not None, quiet) if page is not None or not names else None

    def say(line: str) -> None:
        if not quiet:
            err.print(f"{line} ...")

    found = diagnose_runs(runs, outside, say)
    written, notes = _drawn(collected, page, quiet)
    if as_json:
        print_json([{"run": run.name, "diagnostics": [_plain(one) for one in found[run.name]]} for run in runs])
        tell_notes(notes)
        return
    if names or len(runs) <= SINGLY or collected is None:
        for run in runs:
            _show_diagnostics(run, found[run.name])
    else:
        _show_methods(collected)
    if not any(one.weights for rows in found.values() for one in rows):
        notes.append(
            "no run kept its weights or its features, so only how they learned is told. To look inside, give the "
            f"command that made them once more, with --diagnose; they are trained again: {_looking(runs, store)}"
        )
    tell_notes(notes)
    if written or names:
        line, place = ("", written) if written else (" shows them, too", f"dissensus report {store}")
        out.print(f"The page{line}: [bold]{escape(place)}[/]", soft_wrap=True)


def _looking(runs: Sequence[StoredRun], store: Path) -> str:
    """The command that makes runs again and looks inside; what it was told of recipes and the like is not known."""
    run = runs[0]
    source = run.source
    flags = {"--data": "name", "--votes": "votes", "--inputs": "inputs", "--texts": "texts"}
    data = [word for flag, part in flags.items() if source.get(part) for word in (flag, str(source[part]))]
    command = ["train", *data, "--method", run.plan["method"]] if len(runs) == 1 else ["compare", *data]
    place = [] if store == Path("runs") else ["--store", str(store)]
    return f"{shlex.join(['dissensus', *command, *place])} ... --diagnose"


def _runs(names: Sequence[str] | None, store: Path, where: Sequence[str] | None) -> list[StoredRun]:
    from dissensus.records import RunStore
    from dissensus.report.pairing import runs_where

    if where:
        refuse_beside("--where", {"names of runs": bool(names)})
    kept = RunStore(store)
    if folders := [name for name in names or [] if Path(name).is_dir()]:
        raise InputError(f"{folders[0]} is a folder, and names of runs were expected; say --store {folders[0]}.")
    runs = [kept.read(name) for name in ([kept.resolve(name) for name in names] if names else kept.names())]
    if not runs:
        raise InputError(f"{store} holds no runs. Make some with: dissensus compare --store {store}")
    return runs_where(runs, key_values("--where", where, "data.name=glyphs"))


def _comparison(runs: Sequence[StoredRun], asked: bool, quiet: bool) -> Comparison | None:
    """The runs as one comparison; where they are not, a note, or an error if a page was asked for."""
    from dissensus.report import collect

    try:
        with waiting("Judging", quiet):
            return collect(runs)
    except InputError as error:
        if asked:
            raise
        tell_note(f"told run by run, and on no page, since {error}")
        return None


def _drawn(collected: Comparison | None, page: Path | None, quiet: bool) -> tuple[str, list[str]]:
    """Where the page was written, and what to know of it; "" where there is none, as nobody asked and it cannot be."""
    if collected is None:
        return "", []
    try:
        need("report")
        written, notes = draw_page(collected, page, None, quiet)
    except (MissingExtra, StoreError) as error:
        if page is not None:
            raise
        return "", [f"the page was not written: {error}"]
    return str(written), notes


def _show_methods(collected: Comparison) -> None:
    """By method, as on the page."""
    from dissensus.report.basin import basin

    panels = collected.panels
    notes: dict[str, None] = {}
    for panel in panels:
        if inside := basin(panel):
            for table in (table for table in (inside.best, inside.last, inside.between) if table is not None):
                title = table.title if len(panels) == 1 else f"{table.title}, {panel.votes}"
                show_table(title, table.head, [[row.name, *map(str, row.cells)] for row in table.rows])
                out.print()
                notes |= dict.fromkeys(table.notes)
    for note in notes:
        out.print(f"[dim]{escape(note)}[/]")
    out.print("[dim]–: not defined, or not looked for.[/]\n")


def _show_diagnostics(run: StoredRun, found: Sequence[Diagnosis]) -> None:
    from dissensus.diagnostics.registry import DIAGNOSTICS, titled
    from dissensus.report.tables import number

    rows = []
    for one in found:
        digits = DIAGNOSTICS[one.name].digits if one.name in DIAGNOSTICS else 3
        interval = "" if isnan(one.low) else f"[{number(one.low, digits)}, {number(one.high, digits)}]"
        epoch = f"{one.weights} epoch" if one.weights else ""
        rows.append([titled(one), number(one.value, digits), interval, epoch, one.other and f"with {one.other}"])
    show_table(
        f"{in_words(run)}: run {run.name}",
        ["", "value", "95 % of the estimate", "", ""],
        rows,
    )
    out.print()


def _plain(found: Diagnosis) -> dict[str, Any]:
    """For JSON, which knows no NaN."""
    return {name: None if isinstance(value, float) and isnan(value) else value for name, value in asdict(found).items()}
