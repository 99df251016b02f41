"""``dissensus diagnose``: numbers from inside stored models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dissensus.base.errors import InputError
from dissensus.cli import options
from dissensus.cli.extras import need
from dissensus.cli.given import outside_sets
from dissensus.cli.tables import in_words, show_table
from dissensus.cli.telling import err, out, print_json, tell_note

if TYPE_CHECKING:
    from dissensus.records import Diagnosis, StoredRun

SINGLY = 4  # so many runs are told one by one; more, unless they are named, by method
EXAMPLES = (
    "Examples: [bold]dissensus diagnose --store runs[/bold]; "
    "[bold]dissensus diagnose 3f2a 77b0 --ood svhn[/bold]. Then: [bold]dissensus report runs[/bold]"
)


def diagnose(
    names: options.RunNames = None,
    store: options.Store = Path("runs"),
    ood: options.Outside = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Where did training end up? Numbers from inside stored models, kept beside the runs and shown on the page.

    From every run: how it learned. From runs with features (--features): whether seeds see alike. From runs with few
    votes an item: where hard labels gain. From runs with weights (--save-model): curvature, gradient variance,
    barriers, Grad-CAM and out-of-distribution scores.

    compare --diagnose finds most of it right after training, without keeping weights.

    Runs that are named are told one by one, a whole store by method, as means over seeds.
    """
    need("train")
    from dissensus.experiment import diagnose_runs
    from dissensus.records import RunStore

    kept = RunStore(store)
    if folders := [name for name in names or [] if Path(name).is_dir()]:
        raise InputError(f"{folders[0]} is a folder, and names of runs were expected; say --store {folders[0]}.")
    runs = [kept.read(name) for name in ([kept.resolve(name) for name in names] if names else kept.names())]
    if not runs:
        raise InputError(f"{store} holds no runs. Make some with: dissensus compare --store {store}")
    outside = outside_sets(ood)

    def say(line: str) -> None:
        if not quiet:
            err.print(f"{line} ...", highlight=False)

    found = diagnose_runs(runs, outside, say)
    if as_json:
        print_json([{"run": run.name, "diagnostics": [_plain(one) for one in found[run.name]]} for run in runs])
        return
    singly = bool(names) or len(runs) <= SINGLY
    together = not singly and _show_methods(runs)
    if not together:
        for run in runs:
            _show_diagnostics(run, found[run.name])
    if not any(one.weights for rows in found.values() for one in rows):
        tell_note("no run kept its weights or its features, so only how they learned is told. See --help.")
    which = "" if singly or together else " --where KEY=VALUE"  # a page is that of one comparison
    out.print(f"The page shows them, too: [bold]dissensus report {escape(str(store))}{which}[/]", highlight=False)


def _show_methods(runs: Sequence[StoredRun]) -> bool:
    """By method, as on the page; False where the runs do not belong to one comparison."""
    from dissensus.report import collect
    from dissensus.report.basin import basin

    try:
        panels = collect(runs).panels
    except InputError as error:
        tell_note(f"told run by run, since {error}")
        return False
    notes: dict[str, None] = {}
    for panel in panels:
        if inside := basin(panel):
            for table in (table for table in (inside.best, inside.last, inside.between) if table is not None):
                title = table.title if len(panels) == 1 else f"{table.title}, {panel.votes}"
                show_table(title, table.head, [[row.name, *map(str, row.cells)] for row in table.rows])
                out.print()
                notes |= dict.fromkeys(table.notes)
    for note in notes:
        out.print(f"[dim]{escape(note)}[/]", highlight=False)
    out.print("[dim]–: not defined, or not looked for.[/]\n", highlight=False)
    return True


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
