"""Carrying out plans: what to know before they start, their progress, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dissensus.base.words import many
from dissensus.cli.deadline import Deadline, tell_left, tell_too_short
from dissensus.cli.exits import FAILED, LEFT, TERMINATED
from dissensus.cli.telling import err, tell_note, tell_notes, waiting

if TYPE_CHECKING:
    from dissensus.datasets import Dataset
    from dissensus.experiment import Comparison, Event, Outcome, Plan
    from dissensus.records import RunStore, StoredRun, Wanted


def carry_out(
    comparison: Comparison,
    data: Dataset,
    plans: Sequence[Plan],
    kept: RunStore,
    how: Mapping[str, Any],
    end: Deadline | None,
    quiet: bool,
) -> bool:
    """Make the plans of a comparison, or end the command; what is to be known before, or cannot be, is told first.

    Returns whether any was still to be made. Runs that were not asked to keep what ``how`` asks for now are made again,
    and replaced then.

    ``how`` are options of :func:`dissensus.experiment.compare`, without its budget, which is what is left until
    ``end``: reading the data has taken its share.
    """
    from dissensus import experiment
    from dissensus.experiment.checks import lone_note
    from dissensus.records import RunStore

    _refuse_other_images(how, data)
    store = RunStore(kept.path, _wanted(how))
    again = _again_note([run for plan in plans if (run := store.incomplete(plan.name)) is not None], store.wanted)
    left = [plan for plan in plans if plan.name not in store]
    store.check_place(to_write=bool(left))
    before = _before_starting(left, data, how["jobs"], comparison.data.encoder, quiet)
    tell_notes([*data.votes.notes, *lone_note(data), *comparison.notes(), *before, *again])
    budget = None if end is None else end.left()
    sweep = partial(experiment.compare, plans, comparison.data, store, budget=budget, **how)
    if code := swept(sweep, len(plans), kept, end, quiet):
        raise typer.Exit(code)
    return bool(left)


def _before_starting(left: Sequence[Plan], data: Dataset, jobs: int, encoder: str | None, quiet: bool) -> list[str]:
    """What to know of the runs that are left to make; an error where this machine cannot make them.

    Texts are encoded here, once for all of them.
    """
    from dissensus.experiment.cost import cpu_note
    from dissensus.experiment.machine import refuse_other_machine

    refuse_other_machine(left)
    if left and data.texts:
        _encode(left[0], data, encoder, quiet)
    with waiting("Trying how long it takes", quiet):
        note = cpu_note(left, data, jobs, encoder)
    return [note] if note else []


def _encode(plan: Plan, data: Dataset, encoder: str | None, quiet: bool) -> None:
    """Let the texts be read by the encoder; what it found is kept."""
    from dissensus.experiment.seen import encoded

    with encoding(quiet) as progress:
        encoded(plan.model, data, encoder, progress, tell_note)


@contextmanager
def encoding(quiet: bool, once: str = ", once") -> Iterator[Callable[[int, int], None]]:
    """What is told of how many texts are read, and shows a bar."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bars:
        task = bars.add_task("Encoding the texts", total=None, visible=False)

        def progress(done: int, of: int) -> None:
            if not (quiet or err.is_terminal or bars.tasks[task].visible):
                err.print(f"Encoding {of:,} texts{once} ...")
            bars.update(task, completed=done, total=of, visible=True)

        yield progress


def _wanted(how: Mapping[str, Any]) -> Wanted:
    """Whatever is to be kept of the runs, those that are done must have kept."""
    from dissensus.records import Wanted

    return Wanted(*(bool(how.get(asked)) for asked in ("keep_model", "features", "diagnose")))


def _again_note(runs: Sequence[StoredRun], wanted: Wanted) -> list[str]:
    """What to say of runs that are done, and made again for what they were not asked to keep."""
    from dissensus.experiment.machine import device

    if not runs:
        return []
    what = " and ".join(dict.fromkeys(part for run in runs for part in wanted.lacking(run)))
    alone = len(runs) == 1
    was, its = (f"run {runs[0].name} was", "its") if alone else (f"{len(runs)} runs were", "their")
    trained = "it is trained again, and replaced" if alone else "they are trained again, and each is replaced"
    other = "" if device() == "cpu" else " On a GPU the numbers come out a little different."
    return [f"{was} made without {its} {what}: {trained} when that is done.{other}"]


def _refuse_other_images(how: Mapping[str, Any], data: Dataset) -> None:
    """Sets of images to look at must fit the model; to learn that after the training would be late."""
    if names := getattr(how.get("diagnose"), "keywords", {}).get("outside"):
        from dissensus.datasets import load_images
        from dissensus.experiment.subject import shaped_like

        for name in names:
            shaped_like(data.array, name, load_images(name))


def swept(
    sweep: Callable[..., Outcome], total: int, kept: RunStore, end: Deadline | None, quiet: bool, before: int = 0
) -> int:
    """Runs with their progress, and how it ended; returns the exit code. Of the total, ``before`` need nothing."""
    from dissensus.experiment.signals import Terminated

    try:
        with _board(total, before, quiet) as tell:
            outcome = sweep(progress=tell, say=tell_note)
    except Terminated:
        raise typer.Exit(TERMINATED) from None
    if outcome.diverged:
        _tell_diverged(outcome)
    if outcome.failed:
        _tell_failures(outcome, kept)
    others = any(map(kept.busy, outcome.left))  # another command makes them, and this one waited
    if end is not None and outcome.left and not (outcome.begun or others):
        tell_too_short(len(outcome.left), f"{len(outcome.left)} of {many(total, 'run')}", end)
    elif outcome.left:
        tell_left(len(outcome.left), total, outcome.seconds_left)
    return FAILED if outcome.failed else LEFT if outcome.left else 0


@contextmanager
def _board(total: int, before: int, quiet: bool) -> Iterator[Callable[[Event], None] | None]:
    """A live table in a terminal, lines elsewhere."""
    if quiet:
        yield None
        return
    from dissensus.cli.board import progress

    with progress(err, total, before) as tell:
        yield tell


def _tell_diverged(outcome: Outcome) -> None:
    """Outcomes, and no failures: the recipe is that of a paper, and another try would be a choice among outcomes."""
    from dissensus.cli.board import name_of

    for event in outcome.diverged:
        epoch = event.message.partition(":")[0].removeprefix("training ")
        tell_note(f"{name_of(event)} ({event.run}) {epoch}. It is kept as a run without numbers, and not made again.")


def _tell_failures(outcome: Outcome, kept: RunStore) -> None:
    from dissensus.cli.board import name_of

    for event in outcome.failed:
        err.print(f"[bold red]Failed:[/] {escape(name_of(event))} ({event.run})\n  {escape(event.message)}")
    done = len(outcome.done) + len(outcome.skipped) + sum(event.run in kept for event in outcome.failed)
    err.print(f"{len(outcome.failed)} failed, {done} done and kept.")
