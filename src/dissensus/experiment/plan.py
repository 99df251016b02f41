"""A plan is everything that determines one run; the hash of its content names the run.

No path, machine, folder or time is in it: the same votes and inputs under another file name are the same plan. Fields
are only ever added, with a default that reproduces what was done before, and that default is left out of the hash: a
new field renames no old run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dissensus.base.errors import InputError, PlanError
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.experiment.mistakes import Document, PlanPart, known, sentence
from dissensus.records.canonical import content_name
from dissensus.targets import TARGETS
from dissensus.training import Recipe

if TYPE_CHECKING:
    from dissensus.datasets import Dataset

Text = Annotated[str, Field(min_length=1, description="a name")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="a SHA-256 in 64 hex digits")]
Version = Annotated[int, Field(ge=1, description="a whole number of at least 1")]
Positive = Annotated[int, Field(ge=1, description="a whole number of at least 1")]
Whole = Annotated[int, Field(ge=0, description="a whole number of at least 0")]
NotNegative = Annotated[float, Field(ge=0, description="a number of at least 0")]
Switch = Annotated[bool, Field(description="true or false")]
Numbers = Annotated[
    tuple[float, ...] | None, Field(strict=False, description="a list of numbers, one a channel or feature")
]
Options = Annotated[
    dict[str, bool | int | float | str], Field(description="a table of options, each a number, a text, true or false")
]
Method = Annotated[str, known("method", lambda: METHODS), Field(description="the name of a method")]
Target = Annotated[str, known("target", lambda: TARGETS), Field(description="the name of a target")]
Draw = Annotated[Literal["subsample", "resample"], Field(description='"subsample" or "resample"')]
VotesPerItem = Annotated[
    Literal["all"] | Annotated[int, Field(ge=1)], Field(description='"all" or a whole number of at least 1')
]


class DataPart(PlanPart):
    """Which items and votes, by content: the digest of the votes covers the classes and their order.

    So those, and the name, are for whoever reads the plan, and are not hashed.
    """

    name: Text
    votes: Digest
    inputs: Digest
    classes: Annotated[tuple[str, ...], Field(strict=False, min_length=2, description="a list of two or more names")]
    ordered: Switch = False
    version: Version = 1


class SplitPart(PlanPart):
    """Shares of the items: ``test`` of all are evaluated, ``select`` of the rest pick the checkpoint and temperature.

    With ``select = 0`` the evaluation items pick them too, as published.
    """

    test: Annotated[float, Field(gt=0, lt=1, description="a share above 0 and below 1")] = 0.2
    select: Annotated[float, Field(ge=0, lt=1, description="a share of at least 0 and below 1")] = 0.1


class ModelPart(PlanPart):
    """A model of :data:`dissensus.models.MODELS`, or of :data:`dissensus.models.text.TEXT_MODELS`, and its options.

    An encoder of texts is among the options by its content. What it is called is for whoever reads the plan.
    """

    name: Text
    encoder: Annotated[Text | None, Field(description="the folder of a text encoder, or its name")] = None
    options: Options = Field(default_factory=dict)


class RecipePart(PlanPart):
    """The fields of :class:`dissensus.training.Recipe`; a test holds the two together."""

    epochs: Positive = 200
    batch_size: Positive = 128
    lr: Annotated[float, Field(gt=0, description="a number above 0")] = 0.1
    momentum: Annotated[float, Field(ge=0, lt=1, description="a number of at least 0 and below 1")] = 0.9
    weight_decay: NotNegative = 5e-4
    nesterov: Switch = False
    schedule: Annotated[
        Literal["cosine", "constant", "linear"], Field(description='"cosine", "constant" or "linear"')
    ] = "cosine"
    crop: Whole = 0
    flip: Switch = False
    mixup: NotNegative = 0.0
    precision: Annotated[Literal["fp32", "tf32", "bf16"], Field(description='"fp32", "tf32" or "bf16"')] = "fp32"
    mean: Numbers = None
    std: Numbers = None
    optimizer: Annotated[Literal["sgd", "adamw"], Field(description='"sgd" or "adamw"')] = "sgd"
    warmup: Annotated[float, Field(ge=0, lt=1, description="a share of at least 0 and below 1")] = 0.0

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        try:
            self.as_recipe()
        except InputError as error:
            raise sentence(str(error)) from None
        return self

    def as_recipe(self) -> Recipe:
        return Recipe(**self.model_dump())


class SeedsPart(PlanPart):
    """Where each kind of chance starts. None of the streams knows the method, so the methods of a seed are paired."""

    split: Whole  # which items are evaluated, which select, and which votes are kept
    init: Whole
    order: Whole  # batches and augmentation
    delivery: Whole


class VersionsPart(PlanPart):
    """What the names meant when the plan was made; raised when a meaning changes."""

    delivery: Version = 1
    model: Version = 1
    recipe: Version = 1


def _one_seed(given: Any) -> Any:
    whole = isinstance(given, int) and not isinstance(given, bool) and given >= 0
    return dict.fromkeys(SeedsPart.model_fields, given) if whole else given


class Plan(Document):
    """Everything that determines one run.

    ``seeds`` may be one whole number, which then is all four.

    >>> data = {"name": "mine", "votes": "0" * 64, "inputs": "1" * 64, "classes": ["no", "yes"]}
    >>> plan = Plan(data=data, method="soft", model={"name": "mlp"}, seeds=3)
    >>> plan.seeds.order, plan.name == Plan.from_dict(plan.to_dict()).name
    (3, True)
    >>> Plan(data=data, method="sotf", model={"name": "mlp"}, seeds=3, recipe={"epochs": -3})
    Traceback (most recent call last):
    dissensus.base.errors.PlanError: this plan has 2 mistakes:
      method: unknown method 'sotf'; did you mean 'soft'? Choose one of: ...
      recipe.epochs must be a whole number of at least 1, but is -3.
    """

    data: DataPart
    method: Method
    model: ModelPart
    seeds: Annotated[
        SeedsPart,
        BeforeValidator(_one_seed),
        Field(description="a whole number of at least 0, or a table of split, init, order, delivery"),
    ]
    split: SplitPart = SplitPart()
    votes: VotesPerItem = "all"
    draw: Draw = "subsample"
    target: Target = "shares"
    hold: Positive = 1
    recipe: RecipePart = RecipePart()
    versions: VersionsPart = VersionsPart()

    def to_dict(self) -> dict[str, Any]:
        """Complete, as it is written to ``plan.json``: defaults are spelt out."""
        return self.model_dump(mode="json")

    @property
    def name(self) -> str:
        """16 hex digits that stand for the content."""
        content = self.to_dict()
        for part, told in (("data", "name"), ("data", "classes"), ("data", "ordered"), ("model", "encoder")):
            del content[part][told]
        return content_name(content, FIRST)


def described(data: Dataset) -> dict[str, Any]:
    """What a plan says of its data."""
    classes = [str(name) for name in data.votes.classes]
    told = {"name": data.name, "classes": classes, "ordered": data.votes.ordered}
    return {**told, "version": data.version, **data.digest()}


def votes_and_draw(votes: Literal["all"] | int, draw: str) -> dict[str, Any]:
    """How many votes an item a plan is about, and how they are drawn; all of them need no draw: one run, one name."""
    return {"votes": votes, "draw": "subsample" if votes == "all" else draw}


def versions(method: str, model: str) -> dict[str, int]:
    """What the names of a plan mean in this release."""
    from dissensus.models import MODELS  # needs torch
    from dissensus.models.text import TEXT_MODELS

    return {
        "delivery": DELIVERIES[METHODS[method].delivery].version,
        "model": (MODELS[model] if model in MODELS else TEXT_MODELS[model]).version,
        "recipe": Recipe.version,
    }


def refuse_other_versions(plan: Plan, *parts: str) -> None:
    """These parts of the plan must mean what they meant when it was made."""
    now = versions(plan.method, plan.model.name)
    for part in parts:
        if now[part] != getattr(plan.versions, part):
            raise PlanError(
                f"the plan {plan.name} is about version {getattr(plan.versions, part)} of its {part}, but this release "
                f"has version {now[part]}. Make the plan anew, or carry it out with the release it was made with."
            )


# The default of every field at the time it was added. Never change a value here: it would rename runs that are done.
FIRST: dict[str, Any] = {
    "data": {"version": 1},
    "model": {"options": {}},
    "split": {"test": 0.2, "select": 0.1},
    "votes": "all",
    "draw": "subsample",
    "target": "shares",
    "hold": 1,
    "recipe": {
        "epochs": 200,
        "batch_size": 128,
        "lr": 0.1,
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "nesterov": False,
        "schedule": "cosine",
        "crop": 0,
        "flip": False,
        "mixup": 0.0,
        "precision": "fp32",
        "mean": None,
        "std": None,
        "optimizer": "sgd",
        "warmup": 0.0,
    },
    "versions": {"delivery": 1, "model": 1, "recipe": 1},
}
