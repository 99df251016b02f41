"""``dissensus train``: one model, kept as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dissensus.base.errors import InputError
from dissensus.cli import options
from dissensus.cli.deadline import deadline_of
from dissensus.cli.extras import need
from dissensus.cli.given import comparison_of, look_for, model_of, recipe_of, source_of, votes_an_item
from dissensus.cli.predict import show_next
from dissensus.cli.runs import scores_of, show_run
from dissensus.cli.sweeping import carry_out
from dissensus.cli.telling import print_json, waiting

EXAMPLES = (
    "Examples: [bold]dissensus train --data glyphs --method multipass --seed 0[/bold]; "
    "[bold]dissensus train --votes labels.csv --texts texts.csv --save-model[/bold]"
)


def train(
    plan: options.PlanFile = None,
    data: options.Data = None,
    votes: options.VotesOrK = None,
    inputs: options.Inputs = None,
    texts: options.TextTable = None,
    option: options.Options = None,
    method: Annotated[
        str | None, typer.Option("--method", help="How votes are delivered: multipass, or another one of compare's.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of split, first weights, order and draws; 0 by default.")
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
    budget: options.BudgetOf = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train one model, and keep its predictions and scores as a run.

    Model and recipe are those of the named data set unless given; see compare. A training that was killed or stopped
    goes on from its last checkpoint. With --save-model the model stays, too, and dissensus predict takes it to new
    items.
    """
    need("train")
    from dissensus.records import RunStore

    end, looking = deadline_of(budget), look_for(diagnose, ood)
    how_many = votes_an_item(votes, per_item)
    if how_many is not None and len(how_many) > 1:
        raise InputError(
            f"train makes one run, with one number of votes an item, but {votes if per_item is None else per_item} was "
            "given. To make several: dissensus compare."
        )
    comparison = comparison_of(
        plan,
        data=source_of(data, votes, inputs, texts, option),
        methods=[method] if method else None if plan else ["multipass"],
        seeds=None if seed is None else [seed],
        votes=how_many,
        draw=draw,
        model=model_of(model, encoder),
        recipe=recipe_of(recipe, epochs),
        split=None if select is None else {"select": select},
        target=target,
    ).only()
    kept = RunStore(store)
    kept.check_place()
    with waiting("Reading the data", quiet):
        loaded = comparison.data.load()
        (only,) = comparison.plans(loaded)
    how = {"jobs": 1, "width": 1, "keep_model": save_model, "features": features, "diagnose": looking}
    carry_out(comparison, loaded, [only], kept, how, end, quiet)
    run = kept.read(only.name)
    if as_json:
        print_json({"run": run.name, "path": str(run.path), "records": scores_of(run)})
        return
    show_run(run)
    if save_model:
        show_next(run, store, "Its model predicts it:")
