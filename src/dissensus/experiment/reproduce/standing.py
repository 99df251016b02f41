"""What of a paper's trainings is done and what is left, and how long that takes."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

from dissensus.base.errors import StoreError
from dissensus.base.words import many
from dissensus.experiment.budget import kind_of, took
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.compared import groups_of
from dissensus.experiment.reproduce.lines import Models, drawn, lines_of
from dissensus.experiment.reproduce.look import Look
from dissensus.experiment.reproduce.partners import Comparable
from dissensus.records import RunStore

MEASURED = Path("benchmarks/results")  # of a checkout, where times of a GPU may lie


@dataclass(frozen=True)
class Standing:
    """How far the runs of a paper are."""

    plans: Mapping[Cell, Plan]  # those that are wanted
    looks: Mapping[str, Look]  # by run
    done: frozenset[Cell]
    again: Mapping[Cell, str]  # runs that are there, but must be made again, and why
    recorded: frozenset[Cell] = frozenset()  # of those that are done, those that results tell of and the store does not
    spent: frozenset[Cell] = frozenset()  # of those that are done, what is made again once runs that are left are there
    diverged: frozenset[Cell] = frozenset()  # of those that are done, those that ended without a model

    @property
    def left(self) -> list[Cell]:
        return [cell for cell in self.plans if cell not in self.done]

    def joined(self, other: Standing) -> Standing:
        """Of both, which are about different runs."""
        return Standing(*(getattr(self, field.name) | getattr(other, field.name) for field in fields(Standing)))


def standing(
    plans: Mapping[Cell, Plan],
    looks: Mapping[str, Look],
    paper: Paper,
    store: RunStore,
    recorded: Evidence,
    comparable: Comparable,
    to_merge: bool = False,
) -> Standing:
    """Look at the store, and at results. What is there counts as done if it has all that should have been found in it.

    What is compared from what runs kept must be there as well, once all runs of such a group are: of runs that only
    results tell of, nothing is kept, unless another store has it, and this one is ``to_merge`` with that. A run that
    diverged is done, and there is nothing to be found in it.
    """
    diverged = diverged_of(plans, store, recorded)
    wanted, plans = plans, {cell: plan for cell, plan in plans.items() if cell not in diverged}
    stored = {cell for cell, plan in plans.items() if plan.name in store}
    there = {cell: plan.name for cell, plan in plans.items() if cell in stored or plan.name in recorded.runs}
    again = {
        cell: f"it was made without {', '.join(lost)}"
        for cell, name in there.items()
        if (look := looks.get(name)) is not None and (lost := _lacks(look, name, store, recorded))
    }
    models = Models.beside(store)
    lines = lines_of(plans, paper)
    whole = {line for line in lines if drawn(line, plans, store, recorded)}
    groups = [] if to_merge else groups_of(plans, looks, comparable)
    names = {cell: plan.name for cell, plan in plans.items()}
    known = -1
    while len(again) > known:  # a model that is made again is another one, so its lines to others are drawn again too
        known = len(again)
        for line in lines:
            ends = set(line.ends)
            if line in whole and not ends & again.keys():
                continue
            for cell in ends & there.keys():
                if not models.has(there[cell]):
                    again.setdefault(cell, "its weights are gone, and a model that is still to be made needs them")
            if ends <= there.keys() and not ends & again.keys():
                again[line.second] = f"nobody drew the line to it from {line.first.method}"  # a look that failed
        for group in groups:
            if group.cells <= there.keys():
                apart = list(group.apart(names, stored, recorded))
                apart += [{*pair} for pair in group.pairs if again.keys() & pair]
                for cell in {cell for pair in apart for cell in pair if cell not in stored}:
                    again.setdefault(cell, "what it kept is gone, and a run that it has to be compared with needs it")
    done = frozenset(there.keys() - again.keys())
    waiting = {cell for group in groups if not group.cells <= there.keys() for cell in group.cells}
    spent = waiting & (done - stored)
    gone = {cell for cell in done if not models.has(there[cell])}
    while more := {cell for line in lines for cell in line.ends if spent & {*line.ends}} & gone - spent:
        spent |= more  # their lines are drawn to the model that is made again, from models that are made again
    told = {cell for cell in diverged if wanted[cell].name not in store}
    return Standing(wanted, looks, done | diverged, again, (done - stored) | told, frozenset(spent), diverged)


def _lacks(look: Look, run: str, store: RunStore, recorded: Evidence) -> list[str]:
    """What should have been found in a run and was not, as the store tells, or else results."""
    if run in store:
        return look.lacks(store.read(run))
    return look.lacks_numbers(one for one in recorded.of(run) if one.checkpoint == "best")


def diverged_of(plans: Mapping[Cell, Plan], store: RunStore, recorded: Evidence) -> frozenset[Cell]:
    """The trainings that were made and diverged, as the store or results tell."""
    stored = {cell: store.read(plan.name) for cell, plan in plans.items() if plan.name in store}
    told = {cell for cell in recorded.diverged if cell in plans}
    return frozenset(told | {cell for cell, run in stored.items() if run.diverged is not None})


@dataclass(frozen=True)
class Times:
    """Seconds of a GPU (or of a processor) that a training takes, and a look inside, by what is looked for."""

    training: float | None
    looking: Mapping[Look, float]
    source: str  # where the numbers come from, in words

    def left(self, standing: Standing) -> tuple[float | None, int]:
        """What is left takes so long; and how many looks inside are not in that, since nobody has timed them."""
        if self.training is None:
            return None if standing.left else 0.0, 0
        looks = [standing.looks.get(standing.plans[cell].name) for cell in standing.left]
        known = [0.0 if look is None else self.looking.get(look) for look in looks]
        seconds = len(looks) * self.training + sum(one for one in known if one is not None)
        return seconds, sum(one is None for one in known)


@dataclass(frozen=True)
class Left:
    """How long what is left takes, as far as anybody has timed it."""

    seconds: float | None
    looks: int  # inside models, that are not in that
    runs: int  # that are not in that
    source: str  # where the numbers come from, in words


def times(standing: Standing, store: RunStore, measured: Path = MEASURED) -> Times:
    """From runs of the store that were made alike; where there are none, from what was measured on a GPU before."""
    by_device: dict[str, list[tuple[float, float, Look | None]]] = {}
    kinds = {kind_of(plan) for plan in standing.plans.values()}
    for name in store:
        try:
            run = store.read(name)
            if run.diverged is not None:
                continue  # its time is that of a part of its epochs
            spent = took(run)
            if kind_of(run.plan) in kinds and spent.epochs > 0:
                whole = spent.share * run.plan["recipe"]["epochs"] / spent.epochs
                one = whole, spent.looking, standing.looks.get(name)
                by_device.setdefault(run.about["device"], []).append(one)
        except (StoreError, KeyError):
            continue  # damaged, or made by something else
    if not by_device:
        models = {plan.model.name for plan in standing.plans.values()}
        precisions = {plan.recipe.precision for plan in standing.plans.values()}
        return measured_on_a_gpu(models, precisions, measured)
    device, made = max(by_device.items(), key=lambda pair: len(pair[1]))
    by_look: dict[Look, list[float]] = {}
    for _, looking, look in made:
        if look is not None and looking:
            by_look.setdefault(look, []).append(looking)
    return Times(
        median(training for training, _, _ in made),
        {look: median(seconds) for look, seconds in by_look.items()},
        f"from {many(len(made), 'run')} of the store made on {device}",
    )


def measured_on_a_gpu(models: Collection[str], precisions: Collection[str], folder: Path = MEASURED) -> Times:
    """The widest rung in the recipe's precision of a ladder that was measured on a GPU."""
    for path in sorted(folder.glob("*.json")) if set(models) == {"resnet18"} else ():
        try:
            rungs = json.loads(path.read_text("utf-8"))["result"]["rungs"].values()
            fit = [one for one in rungs if one.get("precision") in precisions and "s_a_run" in one]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # another kind of measurement
        if fit:
            best = max(fit, key=lambda one: one.get("width", 1))
            width = best.get("width", 1)
            how = f"{width} runs side by side" if width > 1 else "one run at a time"
            return Times(float(best["s_a_run"]), {}, f"from {path} ({how})")
    return Times(None, {}, "no run of their kind is in the store yet, and none was measured here before")


@dataclass(frozen=True)
class Count:
    """How far the runs of an experiment are."""

    experiment: str
    protocol: str
    feeds: tuple[str, ...]
    runs: int
    done: int


def counts(wanted: Collection[Cell], done: Collection[Cell], paper: Paper) -> list[Count]:
    """Of each experiment of which runs are wanted, in the paper's order. Experiments share runs."""
    found = []
    for one in paper.experiments:
        if cells := [cell for cell in one.cells() if cell in wanted]:
            found.append(Count(one.name, one.protocol, one.feeds, len(cells), sum(cell in done for cell in cells)))
    return found
