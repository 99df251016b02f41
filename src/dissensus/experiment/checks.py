"""What the data would make fail, said before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.experiment.mistakes import Mistake
from dissensus.experiment.parts import aim_of, parts, strata
from dissensus.experiment.plan import ModelPart, RecipePart, SplitPart
from dissensus.experiment.seen import model_part


def data_mistakes(data: Dataset, split: SplitPart) -> Iterator[Mistake]:
    """Data that cannot be split, trained on or scored."""
    votes = data.votes
    if votes.multilabel:
        yield Mistake(
            ("data",),
            "data: a vote may name several classes here, but the metrics of a comparison need one class a vote. "
            "dissensus.fit trains on such votes.",
        )
        return
    try:
        votes.refuse_items_without_votes()
    except InputError as error:
        yield Mistake(("data", "votes"), f"data: {error}")
        return
    if votes.n_items < votes.n_classes:
        yield Mistake(
            ("data",),
            f"data: {votes.n_items} items are too few for {votes.n_classes} classes; more items are needed.",
        )
        return
    voted = np.flatnonzero(votes.counts().any(0))
    if len(voted) == 1:
        yield Mistake(
            ("data",), f"data: all votes name the class {votes.classes[voted[0]]!r}, so there is nothing to learn."
        )
        return
    yield from _lone_items(data)
    try:
        parts(data, split.test, split.select, seed=0)
    except InputError as error:
        yield Mistake(("split",), f"split: {error}")


def lone_note(data: Dataset) -> list[str]:
    """A note on classes of one item, or of one group: they can be learned or evaluated, but not both."""
    lone, _ = _lone_classes(data)
    if not lone:
        return []
    others = "1 other class is" if len(lone) == 2 else f"{len(lone) - 1} other classes are"
    more = f", and {others} such, too" if len(lone) > 1 else ""
    return [f"{lone[0]}{more}: trained on or evaluated, but not both, so the scores say nothing of it."]


def _lone_items(data: Dataset) -> Iterator[Mistake]:
    """Classes that cannot be both trained on and evaluated, where they leave fewer than two that can."""
    lone, others = _lone_classes(data)
    if others < 2:
        for told in lone:
            yield Mistake(
                ("data",),
                f"data: {told}, which cannot be both trained on and evaluated. "
                "Leave it out, or join the class with another.",
            )


def _lone_classes(data: Dataset) -> tuple[list[str], int]:
    """The classes of one item, or of one group, in words, and how many classes have more."""
    by = strata(data)
    groups = np.arange(len(data)) if data.groups is None else data.groups
    lone, others = [], 0
    for number, name in enumerate(data.votes.classes):
        rows = np.flatnonzero(by == number)
        if len(places := set(groups[rows])) != 1:
            others += len(places) > 1
            continue
        item = data.votes.items[rows[0]].item()
        told = f"one item only ({item!r})" if len(rows) == 1 else f"{len(rows)} items of one group only (as {item!r})"
        lone.append(f"{name!r} is the class of {told}")
    return lone, others


def vote_mistakes(data: Dataset, numbers: Iterable[Literal["all"] | int], draw: str) -> Iterator[Mistake]:
    """More votes asked for than an item has; any item may come to be trained on."""
    if draw != "subsample":
        return  # drawn with replacement: any number will do
    have = data.votes.votes_per_item
    least = int(have.argmin())
    for number in numbers:
        if number != "all" and number > have[least]:
            yield Mistake(
                ("votes",),
                f"votes: {number} are asked for, but item {data.votes.items[least].item()!r} has {have[least]} "
                f"({int((have < number).sum())} of {len(have)} items have fewer than {number}). Ask for {have[least]}"
                f"{' or fewer' if have[least] > 1 else ''}, "
                'or for "all", or draw with replacement: --draw resample, or draw = "resample" in a plan.',
            )


def recipe_mistakes(data: Dataset, recipe: RecipePart) -> Iterator[Mistake]:
    """Parts of a recipe that only images have, and means that do not fit the inputs."""
    if not data.images:
        for field in ("crop", "flip"):
            if getattr(recipe, field):
                yield Mistake(("recipe", field), f"recipe.{field} is for images, but the inputs are {data.kind}.")
    if data.texts:
        return  # what becomes of texts is the model's affair
    width, unit = data.array.shape[1], "channels" if data.images else "features"
    for field in ("mean", "std"):
        given = getattr(recipe, field)
        if given is not None and len(given) != width:
            yield Mistake(
                ("recipe", field), f"recipe.{field} has {len(given)} numbers, but the inputs have {width} {unit}."
            )


def method_mistakes(data: Dataset, methods: Iterable[str], target: str, hold: int) -> Iterator[Mistake]:
    """Targets and deliveries that cannot be made of these votes, and labels that cannot be held; tried on one item."""
    votes = data.votes.take([0])
    try:
        aim = aim_of(votes, target)
    except InputError as error:
        yield Mistake(("target",), f"target: {error}")
        return
    for method in methods:
        try:
            DELIVERIES[METHODS[method].delivery](aim, hold=hold)
        except InputError as error:
            yield Mistake(("methods",), f"methods: {method} with the target {target!r} and hold = {hold}: {error}")


def model_mistakes(data: Dataset, model: ModelPart, encoder: str | None = None) -> Iterator[Mistake]:
    """Models that do not exist or do not fit the inputs, and encoders that cannot be had."""
    from dissensus.models import make

    try:
        model_part(model.name, model.options, data, encoder)
        if not data.texts:
            make(model.name, data.array.shape[1:], data.votes.n_classes, **model.options)
    except InputError as error:
        yield Mistake(("model",), f"model: {error}")


def mixing_mistakes(data: Dataset, model: ModelPart, methods: Iterable[str], recipe: RecipePart) -> Iterator[Mistake]:
    """Methods and recipes that mix inputs which cannot be mixed."""
    from dissensus.models.text import TEXT_MODELS

    if not data.texts or model.name not in TEXT_MODELS or TEXT_MODELS[model.name].mixes:
        return
    why = f"mixes features, but {model.name} takes texts, and two texts have no middle. Leave it out, or use frozen."
    if recipe.mixup:
        yield Mistake(("recipe", "mixup"), f"recipe.mixup {why}")
    for method in methods:
        if METHODS[method].recipe.get("mixup"):
            yield Mistake(("methods",), f"methods: {method} {why}")
