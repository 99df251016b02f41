"""``dissensus runs``: list, show, remove and hand over the runs of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.errors import StoreError
from dissensus.base.words import first, listed, many
from dissensus.cli import options
from dissensus.cli.exits import MISTAKE
from dissensus.cli.given import refuse_beside
from dissensus.cli.tables import in_words, number, show_table, widths_of
from dissensus.cli.telling import err, out, print_json, tell_note

if TYPE_CHECKING:
    from dissensus.records import RunStore, StoredRun

app = typer.Typer(help="List, show, remove and hand over the runs of a store.", no_args_is_help=True)


@app.command("list", epilog="Example: [bold]dissensus runs list looked[/bold]")
def runs_list(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="RUNS", help="The folder of a run store; runs by default.", show_default=False),
    ] = None,
    store: options.Store = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """What is in a store: a line a run, and which of them kept weights, for dissensus predict."""
    from dissensus.records import RunStore

    if folder is not None:
        refuse_beside(str(folder), {f"--store {store}": store not in (Path("runs"), folder)})
    kept = RunStore(folder or store)
    rows, damaged = [], []
    for run in map(kept.read, kept):
        try:
            rows.append(_run_row(run))
        except StoreError as error:  # the others are listed all the same
            damaged.append(str(error))
    for line in damaged:
        err.print(f"[bold red]Damaged:[/] {escape(line)}", soft_wrap=True)
    if as_json:
        print_json(rows)
    else:
        _show_runs(kept, rows)
    if damaged:
        raise typer.Exit(MISTAKE)


def _show_runs(kept: RunStore, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        rows = sorted(rows, key=_order)
        rows = [
            {**row, "data": Path(row["file"]).name or row["data"], "soft NLL": _told(row["soft_nll"])} for row in rows
        ]
        head = [name for name in rows[0] if name not in ("soft_nll", "file", "weights")]
        head += ["weights"] if any(row["weights"] for row in rows) else []
        spared = _spared(head, rows)
        head = [name for name in head if name not in spared]
        show_table("", head, _cells(head, rows))
        if spared:
            told = listed([f"{name} ({first(_values(name, rows), 5)})" for name in spared])
            out.print(f"[dim]No room here for {escape(told)}; --json tells all.[/]")
    else:
        out.print(f"No runs in {escape(str(kept.path))}.")
    if unfinished := kept.unfinished_names():
        shown = first(unfinished, 4)
        line = f"Unfinished: {len(unfinished)} ({shown}). The command that began a run goes on where it was."
        out.print(line)


def _spared(head: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns to leave out of a narrow terminal, so that words stay whole; first what is the same in all rows."""
    alike = [name for name in ("epochs", "model", "votes", "seed") if len(_values(name, rows)) == 1]
    spare = [*alike, *(name for name in ("epochs", "model") if name not in alike)]
    for few in range(len(spare)):
        left = [name for name in head if name not in spare[:few]]
        if widths_of(left, _cells(left, rows), out.width) is not None:
            return spare[:few]
    return spare


def _cells(head: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[str(row[name]) for name in head] for row in rows]


def _values(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(row[name]) for row in rows))


def _told(soft_nll: float | None) -> str:
    return "diverged" if soft_nll is None else number(soft_nll)


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """By what a run is made of; few votes before many, and all of them last; seeds side by side."""
    votes = float("inf") if row["votes"] == "all" else row["votes"]
    return row["data"], row["file"], row["model"], row["epochs"], votes, row["method"], row["seed"]


def _run_row(run: StoredRun) -> dict[str, Any]:
    plan, history = run.plan, run.history
    if not len(history.get("soft_nll", [])):
        raise run.damaged("history.csv", ValueError("it has no soft_nll"))
    best = history.get("select_nll", history["soft_nll"]).argmin()  # the epoch that was selected, and is scored
    return {
        "run": run.name,
        "data": plan["data"]["name"],
        "method": plan["method"],
        "votes": plan["votes"],
        "seed": plan["seeds"]["split"],
        "model": plan["model"]["name"],
        "epochs": plan["recipe"]["epochs"],
        "soft_nll": None if run.diverged is not None else float(history["soft_nll"][best]),
        "file": run.votes_file,
        "weights": "kept" if run.has_weights else "",
    }


@app.command("show", epilog="Example: [bold]dissensus runs show 3f2a[/bold]")
def runs_show(
    name: Annotated[str, typer.Argument(help="The name of a run, or its first digits.")],
    store: options.Store = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """One run: its plan, where it was made, its scores."""
    from dissensus.records import RunStore

    kept = RunStore(store)
    run = kept.read(kept.resolve(name))
    if as_json:
        print_json({"run": run.name, "plan": run.plan, "about": run.about, "records": scores_of(run)})
    else:
        out.print_json(data={"plan": run.plan, "about": run.about})
        show_run(run)


def scores_of(run: StoredRun) -> list[dict[str, Any]]:
    """For JSON, which has null for a score that is no number."""
    from dissensus.evaluation import records_of

    return [asdict(one) | {"value": one.value if isfinite(one.value) else None} for one in records_of(run)]


def show_run(run: StoredRun) -> None:
    from dissensus.evaluation import records_of
    from dissensus.metrics import METRICS
    from dissensus.records import Checkpoint
    from dissensus.report.tables import heading

    columns: list[tuple[Checkpoint, bool]] = [("best", False), ("best", True), ("last", False), ("last", True)]
    values = {
        (record.metric, record.checkpoint, record.tempered): record.value
        for record in records_of(run)
        if record.against == "human"
    }
    rows = [
        [heading(metric), *(number(values.get((metric, *column))) for column in columns)]
        for metric in METRICS
        if (metric, "best", False) in values
    ]
    head = ["", "best epoch", "tempered", "last epoch", "tempered"]
    show_table(f"{in_words(run)}: run {run.name}", head, rows)
    chosen, fitted = (
        ("the selection items", "a temperature fitted to their votes")
        if "select_target" in run.predictions
        else ("the evaluation items themselves", "a temperature, which each half takes from the other")
    )
    out.print(f"[dim]Best: the epoch with the lowest soft NLL on {chosen}. Tempered: after {fitted}.[/]")
    out.print(f"\nThe run: [bold]{escape(str(run.path))}[/]", soft_wrap=True)


@app.command("rm", epilog="Example: [bold]dissensus runs rm 3f2a 77b0[/bold]")
def runs_rm(
    names: Annotated[list[str], typer.Argument(help="Names of runs, or their first digits.")],
    store: options.Store = Path("runs"),
) -> None:
    """Remove runs from a store, done or unfinished."""
    from dissensus.records import RunStore

    kept = RunStore(store)
    there = [*kept.names(), *kept.unfinished_names()]
    for name in [kept.resolve(name, there) for name in names]:  # all are found before the first is removed
        kept.remove(name)
        out.print(f"Removed {name}")


@app.command(
    "pack",
    epilog="Examples: [bold]dissensus runs pack --store runs -o packed[/bold]; "
    "[bold]dissensus runs pack 3f2a 77b0 -o packed[/bold]. "
    "Then, on the other machine: [bold]dissensus runs merge packed --store runs[/bold]",
)
def runs_pack(
    names: options.RunNames = None,
    store: options.Store = Path("runs"),
    folder: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write the archives.")] = Path(
        "packed"
    ),
    as_json: options.Json = False,
) -> None:
    """Finished runs as archives of at most 15 MiB, for a store on another machine.

    Archives are zip files with a manifest. The same runs give the same files.

    Kept exactly: plan, history, predictions. Kept in half precision: features,
    or not at all where a run does not fit with them, which is then told.

    Left out: scores, which are made again where they are needed; weights
    (model.safetensors); unfinished runs.
    """
    from dissensus.records import RunStore, pack

    kept = RunStore(store)
    archives = pack(kept, folder, [kept.resolve(name) for name in names] if names else None)
    for archive in archives:
        for run in archive.without_features:
            tell_note(
                f"run {run} is packed without its features, which do not fit into one archive. "
                f"To keep them, copy its folder: {kept.read(run).path}"
            )
    if unfinished := kept.unfinished_names():
        tell_note(f"left out, since unfinished: {many(len(unfinished), 'run')}.")
    if as_json:
        print_json([asdict(archive) for archive in archives])
        return
    rows = [[str(one.path), str(len(one.runs)), f"{one.size / 2**20:.2f} MiB"] for one in archives]
    show_table("", ["archive", "runs", "size"], rows)
    runs = sum(len(archive.runs) for archive in archives)
    out.print(f"{many(runs, 'run')} in {many(len(archives), 'archive')}.")


@app.command(
    "merge",
    epilog="Examples: [bold]dissensus runs merge packed/*.zip --store runs[/bold]; "
    "[bold]dissensus runs merge packed other-runs --store runs[/bold]",
)
def runs_merge(
    sources: Annotated[
        list[Path], typer.Argument(metavar="FROM", help="Archives, folders of archives, or folders of run stores.")
    ],
    store: options.Store = Path("runs"),
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Runs that are here with other numbers give way: they had to be made again."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Bring the runs of archives and of other stores into a store.

    What is here is kept as it is, so merging again does nothing, and a merge
    that was broken off goes on. With --replace the last that comes in stays:
    merge what was packed together at once, and in the order of packing. A run
    that kept more than what comes in stays all the same.

    An archive is checked as a whole before the first of its runs comes in. One
    that is damaged keeps no other out; it is named, and the exit code is 2.
    """
    from dissensus.records import RunStore, merge

    merged = merge(RunStore(store), sources, _plan_name if find_spec("pydantic") else None, replace=replace)
    if merged.other:
        tell_note(
            f"{len(merged.other)} of those already here have other numbers; what is here is kept. "
            "One plan carried out on two machines may differ in the last digits. Those that had to be made again take "
            "their places with --replace."
        )
    if merged.fuller:
        tell_note(
            f"kept, though to be replaced: {', '.join(merged.fuller)}. What comes in lacks weights, features or "
            "diagnostics that they have. Where that is meant, remove them first: dissensus runs rm."
        )
    if merged.busy:
        tell_note(f"left alone, since they are being made here at this moment: {', '.join(merged.busy)}.")
    if as_json:
        print_json(asdict(merged))
    else:
        replaced = f", {len(merged.replaced)} replaced" if merged.replaced else ""
        out.print(f"{len(merged.new)} new, {len(merged.here)} already here{replaced}.")
    for problem in merged.problems:
        err.print(f"[bold red]Not merged:[/] {escape(problem)}", soft_wrap=True)
    if merged.problems:
        raise typer.Exit(MISTAKE)


def _plan_name(plan: Mapping[str, Any]) -> str:
    from dissensus.experiment import Plan

    return Plan.from_dict(plan).name
