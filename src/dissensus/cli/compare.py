"""``dissensus compare``: methods × seeds × votes an item, a verdict, and the page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.errors import StoreError
from dissensus.cli import options
from dissensus.cli.deadline import PAGE, Deadline, deadline_of, tell_no_page
from dissensus.cli.exits import LEFT
from dissensus.cli.extras import need
from dissensus.cli.given import (
    comma_separated,
    comparison_of,
    look_for,
    model_of,
    recipe_of,
    seeds_of,
    source_of,
    votes_an_item,
)
from dissensus.cli.predict import show_next
from dissensus.cli.report import place_of, show_report
from dissensus.cli.sweeping import carry_out
from dissensus.cli.tables import in_words
from dissensus.cli.telling import out, waiting

if TYPE_CHECKING:
    from dissensus.experiment import Comparison

EXAMPLES = (
    "Examples: [bold]dissensus compare --data glyphs --methods majority,soft,multipass --seeds 8[/bold]; "
    "[bold]dissensus compare --data cifar10h --votes 5 --budget 9m[/bold]; "
    "[bold]dissensus compare --votes labels.csv --inputs features.npy[/bold]; "
    "[bold]dissensus compare --votes labels.csv --texts texts.csv[/bold]; [bold]dissensus compare plan.toml[/bold]"
)


def compare(
    plan: options.PlanFile = None,
    data: options.Data = None,
    votes: options.VotesOrK = None,
    inputs: options.Inputs = None,
    texts: options.TextTable = None,
    option: options.Options = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="A,B,...",
            help="Ways to train on the votes: majority,soft,sls,multipass by default; also label-smoothing, mixup, and "
            "the controls deterministic-control and shuffled-sls.",
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N|A,B,...", help="So many seeds, or a list of seeds.")
    ] = None,
    per_item: options.PerItem = None,
    draw: options.DrawAs = None,
    model: options.Model = None,
    encoder: options.EncoderAt = None,
    epochs: options.Epochs = None,
    recipe: options.RecipeFields = None,
    select: options.Select = None,
    target: options.Target = None,
    save_model: options.SaveModel = False,
    features: options.Features = False,
    diagnose: options.Inside = False,
    ood: options.Outside = None,
    store: options.Store = Path("runs"),
    page: options.Out = None,
    jobs: options.Jobs = 2,
    width: options.Width = 4,
    budget: options.BudgetOf = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """What should I train on? Methods × seeds × votes an item, a verdict, and the page.

    Runs that are done are skipped and killed ones go on from their last checkpoint, so a comparison can be stopped,
    resumed and extended. Those that lack what --save-model, --features or --diagnose ask for are trained again, and
    replaced then. The page is written when all are done; exit code 3: the budget came first.

    What is not said of model and recipe comes with the data: cifar10h and cifar10n bring the published ones (resnet18,
    200 epochs, for a GPU), texts a head on a frozen encoder (frozen, 60 epochs; with --model fine-tuned 10 epochs),
    anything else a small model (30 epochs). Options and plans change them field by field.

    Accuracy is against the class with most votes; a tie goes to the data set's own label, if it has one and that is
    among the tied, else to the first class (training on the majority draws one by lot). Splits keep the shares of these
    classes, or of the data set's own labels.
    """
    need("train", "report")
    end, looking = deadline_of(budget), look_for(diagnose, ood)
    comparison = comparison_of(
        plan,
        data=source_of(data, votes, inputs, texts, option),
        methods=comma_separated(methods),
        seeds=seeds_of(seeds),
        votes=votes_an_item(votes, per_item),
        draw=draw,
        model=model_of(model, encoder),
        recipe=recipe_of(recipe, epochs),
        split=None if select is None else {"select": select},
        target=target,
    )
    how = {"jobs": jobs, "width": width, "keep_model": save_model, "features": features, "diagnose": looking}
    same = {
        "--data": data,
        "--votes": votes if votes_an_item(votes, None) is None else None,
        "--inputs": inputs,
        "--texts": texts,
        "--option": option,
        "--draw": draw,
        "--model": model,
        "--encoder": encoder,
        "--epochs": epochs,
        "--recipe": recipe,
        "--select": select,
        "--target": target,
        "--store": None if store == Path("runs") else store,
        "--seed": comparison.seeds[0] if seeds is not None and (plan or comparison.seeds[0]) else None,
        "--per-item": _most(comparison.votes) if plan or _most(comparison.votes) != "all" else None,
    }
    then = ["dissensus", "train", *([] if plan is None else [str(plan)]), *_as_typed(same)]
    compare_and_report(comparison, store, page, how, end, as_json, quiet, then)


def _most(votes: Sequence[int | str]) -> str:
    """The most votes an item, which the answer in short is about."""
    return str(max(votes, key=lambda one: float("inf") if one == "all" else int(one)))


def _as_typed(given: Mapping[str, Any]) -> list[str]:
    """
    >>> _as_typed({"--data": "glyphs", "--epochs": None, "--recipe": ["lr=0.1", "flip=true"]})
    ['--data', 'glyphs', '--recipe', 'lr=0.1', '--recipe', 'flip=true']
    """
    several = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    pairs = [(name, str(value)) for name, values in several.items() for value in values if value is not None]
    return [word for pair in pairs for word in pair]


def compare_and_report(
    comparison: Comparison,
    store: Path,
    page: Path | None,
    how: Mapping[str, Any],
    end: Deadline | None,
    as_json: bool,
    quiet: bool,
    then: Sequence[str] = (),
) -> None:
    """Make what is left of a comparison by the ``end``, ``how`` being options of the sweep, and write its page.

    ``then`` is the command that trains one model of it, but for the method, which is told at the end.
    """
    from dissensus.records import RunStore
    from dissensus.report import best_of, check_folder, collect, page_file

    kept = RunStore(store)
    kept.check_place()
    with waiting("Reading the data", quiet):
        data = comparison.data.load()
        plans = comparison.plans(data)
    check_folder(page_file(place_of([plan.name for plan in plans], page)).parent)
    some_left = carry_out(comparison, data, plans, kept, how, end, quiet)
    if end is not None and some_left and end.left() < PAGE:
        tell_no_page(len(plans))
        raise typer.Exit(LEFT)
    with waiting("Judging", quiet):
        runs = [kept.read(plan.name) for plan in plans]
        collected = collect(runs, source=comparison.data.told, votes=data.votes)
    try:
        show_report(collected, page, data, as_json, quiet)
    except StoreError as why:
        raise StoreError(
            f"{why} The runs are kept, and dissensus report {store} --out FOLDER writes it elsewhere."
        ) from None
    if then and not (how.get("keep_model") or as_json or quiet):
        train = shlex.join([*then, "--method", best_of(collected) or "METHOD", "--save-model"])
        out.print(f"A model to keep, for dissensus predict: [bold]{escape(train)}[/]", soft_wrap=True)
    if how.get("keep_model") and not as_json:
        one = kept.read(plans[0].name)
        place = "" if store == Path("runs") else f" --store {shlex.quote(str(store))}"
        show_next(one, store, f"A model does: {in_words(one)}, or another that dissensus runs list{place} names:")
