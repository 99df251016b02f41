"""How long runs take on a CPU, tried on a few items before they are started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dissensus.base.words import duration, many
from dissensus.datasets import Dataset
from dissensus.experiment.machine import device, one_thread
from dissensus.experiment.parts import Parts, given_votes, parts
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import job_of
from dissensus.experiment.seen import seen
from dissensus.votes import Votes

if TYPE_CHECKING:
    from dissensus.training import Fitted

WORTH_A_NOTE = 3600.0  # seconds
EASY = 90_000  # items times epochs that a resnet18 is through with in that time, at 0.04 s each; not worth a trial
ITEMS = 16  # to begin with: two epochs of them are a second and a half of resnet18
LONG_ENOUGH = 0.1  # seconds of an epoch; with 16 glyphs it takes 5 ms, most of it not for the items: 4 times too much


def cpu_note(plans: Sequence[Plan], data: Dataset, jobs: int = 1, encoder: str | None = None) -> str | None:
    """What to know before starting these plans on a CPU, if they take more than an hour. They are taken to be alike."""
    if not plans or device() != "cpu" or len(data) * plans[0].recipe.epochs * len(plans) < EASY:
        return None
    beside = min(jobs, len(plans), os.cpu_count() or 1)
    seconds = seconds_on_cpu(plans[0], data, encoder) * len(plans) / beside
    if seconds < WORTH_A_NOTE:
        return None
    runs, epochs = many(len(plans), "run"), many(plans[0].recipe.epochs, "epoch")
    return (
        f"about {duration(seconds)} on this machine, which has no CUDA GPU: {runs} of {epochs} of "
        f"{plans[0].model.name}, {beside} side by side. Runs that are done are kept when it is stopped."
    )


def seconds_on_cpu(plan: Plan, data: Dataset, encoder: str | None = None) -> float:
    """From epochs on more and more of the items, until one takes long enough to be timed."""
    items, data = ITEMS, seen(plan.model, data, encoder)
    while True:
        seconds, share = _tried(plan, data, items, encoder)
        if seconds >= LONG_ENOUGH or share == 1:
            return seconds * share * plan.recipe.epochs
        items *= 4


def _tried(plan: Plan, data: Dataset, items: int, encoder: str | None) -> tuple[float, int]:
    """The seconds of an epoch on one of so many items of each part; the second epoch, which warms nothing up."""
    split = parts(data, plan.split.test, plan.split.select, plan.seeds.split)
    share = max(1, len(split.train) // items)
    few = Parts(split.train[::share], split.select[::share], split.evaluation[::share])
    train, select = given_votes(data.votes, few, plan.votes, plan.draw, plan.seeds.split)
    recipe = plan.recipe.model_copy(update={"epochs": 2, "lr": 1e-9})  # a rate at which nothing can diverge
    with one_thread():
        fitted = trained(plan.model_copy(update={"recipe": recipe}), data, few, train, select, encoder)
    return float(fitted.history[-1]["seconds"]), share


def trained(plan: Plan, data: Dataset, split: Parts, train: Votes, select: Votes, encoder: str | None = None) -> Fitted:
    from dissensus.training import fit_many

    (fitted,) = fit_many([job_of(plan, data, split, train, select, encoder)])
    return fitted
