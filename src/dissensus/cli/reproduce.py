"""``dissensus reproduce``: a paper's runs, its tables beside ours, and a verdict on each of its claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.errors import InputError
from dissensus.cli import options
from dissensus.cli.deadline import Deadline, deadline_of, tell_too_short
from dissensus.cli.exits import LEFT
from dissensus.cli.extras import need
from dissensus.cli.given import listed, refuse_together, seed_set
from dissensus.cli.sweeping import swept
from dissensus.cli.tables import show_table
from dissensus.cli.telling import err, many, out, print_json, waiting

if TYPE_CHECKING:
    from dissensus.experiment.chosen import Chosen
    from dissensus.experiment.papers import Evidence, Paper
    from dissensus.experiment.reproduce import Reproduction, Several, Standing
    from dissensus.experiment.studies import Studied
    from dissensus.records import StoredRun

SMOKE = (
    "This is a smoke test: a small model, a few epochs, embedded data. Its numbers show that everything works, and say "
    "nothing about the paper."
)

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
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="A-B|A,B,...", help="Runs of these seeds: 0-4, or 0,3,5.")
    ] = None,
    budget: options.BudgetOf = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FOLDER", help="Where the runs are kept; runs by default.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where results and page go; results/PAPER by default."),
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
        bool, typer.Option("--runs-only", help="Make runs and leave it at that, as on a borrowed GPU.")
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
    and --results-only. Results are four small files, from which --from builds tables, figures, ledger and page again.

    Studies beside a paper ask one question each. Their scores are kept seed by seed, and seeds that are there are not
    made again.
    """
    from dissensus.experiment.chosen import choose
    from dissensus.experiment.papers import Evidence, read_paper

    told = read_paper(paper)
    under = None if protocol == "all" else protocol
    wanted = choose(told, listed(only) or [], under)
    refuse_together(
        {"--plan": plan, "--from": results is not None, "--runs-only": runs_only}, "--results-only", results_only
    )
    if results is not None:
        refuse_together({"--plan": plan, "--runs-only": runs_only, "--smoke": smoke}, "--from", True)
        need("report")
        there = wanted.runs or (results / "runs.csv").exists()
        with waiting("Reading the results", quiet):
            evidence = Evidence.read(results) if there else Evidence({})
        if foreign := [cell.protocol for cell in evidence.runs.values() if cell.protocol not in told.protocols]:
            raise InputError(
                f"{results} holds no results of {told.name}: its runs are of the protocol {foreign[0]!r}, which is of "
                "another paper. Name that one."
            )
        _write_paper(evidence, told, folder or results, results, wanted, as_json, quiet)
        return
    need("train", *([] if plan or runs_only else ["report"]))
    from dissensus.experiment.reproduce import opened
    from dissensus.records import RunStore

    end = deadline_of(budget)
    out_folder = folder or (Path("dissensus-smoke") if smoke else Path("results") / told.name)
    kept = RunStore(store or (out_folder / "runs" if smoke else Path("runs")))
    if smoke:
        wanted = _without_training(wanted, bool(only))
    if runs_only and not wanted.runs:
        raise InputError(f"--runs-only makes runs, but {only} asks for studies alone; leave one of them out.")
    repeated = now = None
    if wanted.runs or not all(study.trains for study in wanted.studies):
        with waiting("Reading the data", quiet):
            repeated = opened(told, kept, under, small=smoke, look=look)
    if repeated is not None and wanted.runs:
        with waiting("Looking what is done", quiet):
            now = repeated.standing(repeated.wanted(wanted.places, under, seed_set(seeds)))
    if plan:
        _show_plan(told, repeated, now, wanted, out_folder, as_json)
        return
    code = 0
    evidence = Evidence.read(out_folder) if (out_folder / "runs.csv").exists() and not smoke else Evidence({})
    if repeated is not None and now is not None and not runs_only:
        _refuse_loss(len(repeated.loses(evidence)), out_folder, kept.path)
    if repeated is not None and now is not None and not results_only:
        code = _make(repeated, now, end, jobs, width, quiet)
    if not runs_only:
        if repeated is not None and now is not None:
            with waiting("Collecting", quiet):
                evidence = repeated.collect(evidence)
                evidence.write(out_folder)
        made = replace(wanted, studies=_without_training(wanted).studies) if results_only else wanted
        left = _make_studies(made, repeated, out_folder, seed_set(seeds), context.obj, end, quiet)
        code = code or (LEFT if left else 0)
        _write_paper(evidence, told, out_folder, out_folder, wanted, as_json, quiet)
    if code:
        raise typer.Exit(code)


def _show_plan(
    paper: Paper,
    repeated: Reproduction | Several | None,
    now: Standing | None,
    wanted: Chosen,
    folder: Path,
    as_json: bool,
) -> None:
    from dissensus.experiment.reproduce import counts
    from dissensus.experiment.studies import SEEDS

    rows = [] if now is None else counts(now, paper)
    done = {study: len(study.seeds_in(folder / "studies") & set(SEEDS)) for study in wanted.studies}
    if as_json:
        told: dict[str, Any] = {} if repeated is None or now is None else _json_standing(repeated, now)
        studies = [{"study": study.name, "seeds": len(SEEDS), "done": seeds} for study, seeds in done.items()]
        print_json({**told, "experiments": [asdict(row) for row in rows], "studies": studies})
        return
    if repeated is not None and now is not None:
        head = ["experiment", "protocol", "for", "runs", "done", "left"]
        cells = [
            [row.experiment, row.protocol, ", ".join(row.feeds), str(row.runs), str(row.done), str(row.runs - row.done)]
            for row in rows
        ]
        show_table(f"{paper.title}: what is run", head, cells)
        out.print("\nExperiments share runs; each is made once.", highlight=False)
        for line in _told_standing(repeated, now):
            out.print(escape(line), highlight=False, soft_wrap=True)
        out.print()
    if done:
        head = ["study", "asks", "seeds", "done", "left"]
        cells = [
            [study.name, study.question, str(len(SEEDS)), str(seeds), str(len(SEEDS) - seeds)]
            for study, seeds in done.items()
        ]
        show_table("Studies beside it", head, cells)


def _json_standing(repeated: Reproduction | Several, now: Standing) -> dict[str, Any]:
    left = repeated.left(now)
    return {
        "runs": len(now.plans),
        "done": len(now.done),
        "left": len(now.left),
        "again": len(now.again),
        "seconds_left": left.seconds,
        "looks_not_timed": left.looks,
        "runs_not_timed": left.runs,
        "source": left.source,
    }


def _told_standing(repeated: Reproduction | Several, now: Standing) -> Iterator[str]:
    """How far it is, and what is left: two or three lines."""
    from dissensus.experiment.budget import told

    again = f", of which {len(now.again)} were made before and lack something" if now.again else ""
    yield f"{many(len(now.plans), 'run')}: {len(now.done)} done, {len(now.left)} left{again}."
    if not now.left:
        return
    left = repeated.left(now)
    if left.seconds is None:
        yield f"How long they take is not known yet: {left.source}."
        return
    lacking = [f"{many(left.runs, 'run')} of other kinds"] * bool(left.runs)
    lacking += [f"the looks inside {many(left.looks, 'model')}"] * bool(left.looks)
    without = f"; without {' and '.join(lacking)}, which nobody has timed yet" if lacking else ""
    yield f"About {told(left.seconds)} are left{without} ({left.source})."


def _make(
    repeated: Reproduction | Several, now: Standing, end: Deadline | None, jobs: int, width: int, quiet: bool
) -> int:
    """What is left; returns the exit code."""
    from dissensus.experiment.run import device

    if now.left and any(plan.recipe.precision == "tf32" for plan in now.plans.values()) and device() == "cpu":
        raise InputError(
            f"{many(len(now.left), 'run')} of {repeated.paper.name} are left, which need a CUDA GPU, and this machine "
            "has none. Without one: --smoke tries everything on small data, --plan says what would run, --results-only "
            "collects what is in the store, and --from rebuilds all from results."
            + ("" if repeated.paper.data else " Models of texts that need none: --protocol frozen.")
        )
    if not quiet:
        for line in _told_standing(repeated, now):
            err.print(escape(line), highlight=False, soft_wrap=True)
    left = None if end is None else end.left()
    carry_out = partial(repeated.carry_out, now, budget=left, jobs=jobs, width=width)
    return swept(carry_out, len(now.plans), "images", repeated.store, end, quiet)


def _refuse_loss(runs: int, folder: Path, store: Path) -> None:
    """Results that cannot be made again from this store are not written over."""
    if runs:
        raise InputError(
            f"{folder} holds results of {many(runs, 'run')} that {'is' if runs == 1 else 'are'} not in the store "
            f"{store}, and would lose them. Bring the runs (dissensus runs merge), or give the --store that has them; "
            "or write elsewhere with --out, make runs alone with --runs-only, or build the page of what is there with "
            f"--from {folder}."
        )


def _without_training(wanted: Chosen, named: bool = False) -> Chosen:
    """The same without the studies that train models; where they were named, that is a mistake."""
    kept = tuple(study for study in wanted.studies if not study.trains)
    if named and (wrong := [study.name for study in wanted.studies if study.trains]):
        raise InputError(f"{wrong[0]} trains models of texts, which --smoke does not have; leave one of them out.")
    return replace(wanted, studies=kept)


def _make_studies(
    wanted: Chosen,
    repeated: Reproduction | Several | None,
    folder: Path,
    seeds: set[int] | None,
    command: str,
    end: Deadline | None,
    quiet: bool,
) -> int:
    """What is left of them; returns how many seeds still are, where the budget is used up."""
    from dissensus.experiment.studies import SEEDS, Given, carry_out

    def runs() -> Iterator[StoredRun]:
        names = [] if repeated is None else [plan.name for plan in repeated.plans.values()]
        return (repeated.store.read(name) for name in names if repeated is not None and name in repeated.store)

    def say(line: str) -> None:
        if not quiet:
            err.print(escape(line), highlight=False)

    kept, over = folder / "studies", None if end is None else end.end
    before = sum(len(study.left(kept, seeds or SEEDS)) for study in wanted.studies)
    left = 0
    for study in wanted.studies:
        left += len(carry_out(study, Given(study.model, runs), kept, command, seeds or SEEDS, say=say, end=over))
    if end is not None and left == before > 0 and not wanted.runs:
        tell_too_short(f"{many(left, 'seed')} of studies", end)
    elif left:
        err.print(
            f"The budget is used up: {many(left, 'seed')} of studies left. The same command goes on from here.",
            highlight=False,
        )
    return left


def _write_paper(
    evidence: Evidence, paper: Paper, folder: Path, source: Path, wanted: Chosen, as_json: bool, quiet: bool
) -> None:
    """Judge claims and studies, and write ledger and page; evidence and the scores of studies are all that it takes."""
    from dissensus.experiment.claims import answer, enough_by_set, judge_claims, read_claims, rules
    from dissensus.experiment.papers import smoke_part
    from dissensus.experiment.studies import studies_of
    from dissensus.report.paper import page_of, read_notes
    from dissensus.report.paper.ledger import legend, sign

    with waiting("Judging", quiet):
        ledger = judge_claims(evidence, paper)
        ledger.write(folder)
        read = (study.read(source / "studies") for study in studies_of(paper.name).values())
        studied = [one for one in read if one is not None]
        for one in studied:
            one.write(folder / "studies")
    sentences = answer(ledger, evidence)
    smoke = not evidence.comparable(paper)
    banner = SMOKE if smoke else ""
    with waiting("Drawing the page", quiet):
        written = page_of(paper)(
            evidence,
            ledger,
            smoke_part(paper, evidence) if smoke else paper,
            folder,
            answer=sentences,
            rules={claim.name: rules(claim) for claim in read_claims(paper.name).claims},
            notes=read_notes(source),
            banner=banner,
            **({} if paper.data else {"enough": enough_by_set(evidence), "studies": studied}),
        )
    named = [one for one in studied if one.study in wanted.studies]
    if not wanted.runs:
        _show_studies(named, written, as_json)
        return
    views = list(dict.fromkeys(row.view for row in ledger))
    claims = list(dict.fromkeys(row.claim for row in ledger))
    if as_json:
        verdicts = {claim: {view: ledger.row(claim, view).verdict for view in views} for claim in claims}
        told = {"runs": len(evidence.runs), "answer": sentences, "verdicts": verdicts}
        print_json({**told, **_json_studies(named), "page": str(written)})
        return
    titled = {row.claim: f"{row.claim} {row.title}" for row in ledger}
    title = f"{paper.title}, from {many(len(evidence.runs), 'run')}"
    if len(views) > len(claims):  # a line a data set and model that was run
        run = [view for view in views if any(row.seeds for row in ledger.under(view))]
        rows = [[view, *(sign(ledger.row(claim, view)) for claim in claims)] for view in run]
        show_table(title, ["", *claims], rows)
        out.print("\n".join(["", *map(escape, titled.values()), legend()]), highlight=False)
    else:
        rows = [[titled[claim], *(ledger.row(claim, view).verdict for view in views)] for claim in claims]
        show_table(title, ["claim", *views], rows)
    out.print()
    for sentence in [*([banner] if banner else []), *sentences]:
        out.print(escape(sentence), highlight=False)
    for one in named:
        out.print(escape("\n".join(["", one.question, *one.plain])), highlight=False)
    out.print(f"\nThe page: [bold]{escape(str(written))}[/]", highlight=False, soft_wrap=True)


def _show_studies(studied: Sequence[Studied], page: Path, as_json: bool) -> None:
    """What was found, in plain words and by the rules."""
    if as_json:
        print_json({**_json_studies(studied), "page": str(page)})
        return
    for one in studied:
        out.print(f"[bold]{escape(one.question)}[/] {many(one.seeds, 'seed')}", highlight=False)
        lines = ["", *one.plain, "", "By the rule:", *(f"- {line}" for line in one.verdicts), ""]
        out.print(escape("\n".join(lines)), highlight=False)
    out.print(f"The page: [bold]{escape(str(page))}[/]", highlight=False, soft_wrap=True)


def _json_studies(studied: Sequence[Studied]) -> dict[str, Any]:
    told = {one.name: {"seeds": one.seeds, "plain": list(one.plain), "verdicts": list(one.verdicts)} for one in studied}
    return {"studies": told} if told else {}
