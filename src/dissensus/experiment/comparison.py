"""A comparison is what a user writes: the data, the methods, the seeds, and whatever differs from the defaults.

.. code-block:: toml

    methods = ["majority", "soft", "multipass"]
    seeds = 8                  # 0 to 7; or a list: [3, 5, 7]
    votes = [5, "all"]         # votes an item to train on

    [data]
    votes = "labels.csv"       # beside this file; or name = "glyphs"
    inputs = "features.npy"

    [recipe]
    epochs = 30

    [model]
    name = "frozen"            # for texts; an encoder of one's own by its folder or hub name: encoder = "./encoder"

:meth:`Comparison.read` reads it; with the data in hand, :meth:`Comparison.plans` makes one plan a run. The same file
serves a single run: :meth:`Comparison.only` narrows it to one method, seed and number of votes. What it does not say of
model and recipe comes from :mod:`dissensus.experiment.defaults`, field by field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Hashable
from math import comb
from os import PathLike
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dissensus.base.errors import PlanError
from dissensus.base.files import existing_file
from dissensus.datasets import Dataset
from dissensus.experiment import checks
from dissensus.experiment.defaults import defaults_for
from dissensus.experiment.mistakes import Document, Mistake, line_of, plan_error, sentence
from dissensus.experiment.plan import (
    Draw,
    Method,
    ModelPart,
    Plan,
    Positive,
    RecipePart,
    SplitPart,
    Target,
    VotesPerItem,
    described,
    versions,
    votes_and_draw,
)
from dissensus.experiment.seen import is_place, model_part
from dissensus.experiment.source import Source

Value = TypeVar("Value", bound=Hashable)

MOST_SEEDS = 1000  # a larger number is rather a seed than a number of seeds


def _listed(given: Any) -> Any:
    return given if isinstance(given, list | tuple) else [given]


def _counted(given: Any) -> Any:
    if not isinstance(given, int) or isinstance(given, bool):
        return given
    if given > MOST_SEEDS:
        raise sentence(f"{given} is a great many seeds; if the one seed {given} is meant, write seeds = [{given}].")
    return list(range(given))


def _once(given: tuple[Value, ...]) -> tuple[Value, ...]:
    twice = next((value for value in given if given.count(value) > 1), None)
    if twice is not None:
        raise sentence(f"{twice!r} stands there {given.count(twice)} times; once is enough.")
    return given


class Comparison(Document):
    """Methods times seeds times numbers of votes, everything else equal."""

    data: Source
    methods: Annotated[
        tuple[Method, ...],
        BeforeValidator(_listed),
        Field(strict=False, min_length=1, description="a list of methods"),
        AfterValidator(_once),
    ] = ("majority", "soft", "sls", "multipass")
    seeds: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        BeforeValidator(_counted),
        Field(strict=False, min_length=1, description="a whole number of at least 1 (how many), or a list of seeds"),
        AfterValidator(_once),
    ] = tuple(range(8))
    votes: Annotated[
        tuple[VotesPerItem, ...],
        BeforeValidator(_listed),
        Field(strict=False, min_length=1, description='"all", a whole number of at least 1, or a list of these'),
        AfterValidator(_once),
    ] = ("all",)
    draw: Draw = "subsample"
    target: Target = "shares"
    hold: Positive = 1
    split: SplitPart = SplitPart()
    model: ModelPart | None = None
    recipe: RecipePart = RecipePart()

    @model_validator(mode="before")
    @classmethod
    def _encoder_is_a_file(cls, values: Any) -> Any:
        """Where an encoder lies is written beside the model, or in its place, and kept with the other files."""
        model, data = (values.get(part) if isinstance(values, dict) else None for part in ("model", "data"))
        if not isinstance(model, dict) or not isinstance(data, dict):
            return values
        if is_place(model.get("name")):
            model = {"encoder": model["name"]} | model | {"name": "fine-tuned"}
        if "encoder" not in model:
            return values
        others = {key: value for key, value in model.items() if key != "encoder"}
        return values | {"model": others, "data": data | {"encoder": model["encoder"]}}

    @classmethod
    def read(cls, path: str | PathLike[str], **changes: Any) -> Comparison:
        """The comparison in a TOML file, with ``changes`` in place of what it says; its paths are relative to it.

        The recipe and the split are changed field by field, anything else as a whole.
        """
        path = existing_file(path, "comparison file (TOML)")
        try:
            text = path.read_text("utf-8")
            values = tomllib.loads(text)
        except UnicodeDecodeError:
            raise PlanError(f"{path} is not text in UTF-8; a comparison file (TOML) was expected.") from None
        except tomllib.TOMLDecodeError as error:
            votes = "" if path.suffix.lower() == ".toml" else " If it is your votes file, give it with --votes."
            raise PlanError(f"{path} is not valid TOML: {error}.{votes}") from None
        given: set[tuple[str, ...]] = {(table,) for table in changes}
        for table in ("recipe", "split"):
            if isinstance(values.get(table), dict) and table in changes:
                given = (given - {(table,)}) | {(table, name) for name in changes[table]}
                changes[table] = values[table] | changes[table]

        def line(key: tuple[str, ...]) -> int | None:
            return None if {key[:1], key[:2]} & given else line_of(text, key)

        comparison = cls.from_dict(values | changes, what=str(path), line_of=line)
        if "data" in changes:
            return comparison
        return comparison.model_copy(update={"data": comparison.data.beside(path.parent)})

    def only(self) -> Comparison:
        """Narrowed to one run: the first method, seed and number of votes."""
        return self.model_copy(update={field: getattr(self, field)[:1] for field in ("methods", "seeds", "votes")})

    def plans(self, data: Dataset) -> list[Plan]:
        """A plan a run, seed by seed, so that what is done first can be compared first.

        Whatever in the data would make runs fail is said now, all at once.
        """
        default = defaults_for(self.data.name, data, None if self.model is None else self.model.name)
        asked = self.model or ModelPart(name=default.model)
        recipe = RecipePart(**{**default.recipe, **self.recipe.model_dump(exclude_unset=True)})
        if mistakes := self._mistakes(data, asked, recipe):
            raise plan_error(f"the comparison on {self.data.name or self.data.votes}", mistakes)
        model = model_part(asked.name, asked.options, data, self.data.encoder)
        shared = {
            "data": described(data),
            "model": model.model_dump(),
            "split": self.split.model_dump(),
            "target": self.target,
            "hold": self.hold,
            "recipe": recipe.model_dump(),
        }
        return [
            Plan.from_dict(
                shared
                | votes_and_draw(votes, self.draw)
                | {"seeds": seed, "method": method, "versions": versions(method, model.name)}
            )
            for seed in self.seeds
            for votes in self.votes
            for method in self.methods
        ]

    def notes(self) -> list[str]:
        """What to know before starting, if anything."""
        from dissensus.stats.seeds import warning_for

        pairs = comb(len(self.methods), 2)
        warning = warning_for(len(self.seeds), tests=pairs) if pairs else None
        return [warning] if warning else []

    def _mistakes(self, data: Dataset, model: ModelPart, recipe: RecipePart) -> list[Mistake]:
        if unfit := list(checks.data_mistakes(data, self.split)):
            return unfit  # the other checks look at votes that are in order
        return [
            *checks.vote_mistakes(data, self.votes, self.draw),
            *checks.method_mistakes(data, self.methods, self.target, self.hold),
            *checks.recipe_mistakes(data, recipe),
            *checks.model_mistakes(data, model, self.data.encoder),
            *checks.mixing_mistakes(data, model, self.methods, recipe),
        ]
