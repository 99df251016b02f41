"""On what a paper is repeated, and how closely its models are looked at: in full, or small enough for a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, unknown
from dissensus.datasets import load_images
from dissensus.experiment.defaults import DEFAULTS, Defaults
from dissensus.experiment.papers import PAPERS, SMOKE_SEEDS, Paper, read_paper
from dissensus.experiment.source import Source
from dissensus.experiment.subject import shaped_like

PRECISIONS = ("tf32", "fp32")


@dataclass(frozen=True)
class Effort:
    """How closely a model is looked at."""

    probes: int = 50  # of the trace
    tolerance: float = 0.01  # of the top eigenvalue
    curved: int | None = None  # items of the curvature; None: all that are evaluated
    statistics: int = 2000  # training items from which batch-norm statistics are computed anew on a line
    points: int = 21  # on a line
    precision: str = "tf32"  # of products on a GPU; a CPU has fp32 only
    chunk: int = 500  # items at once
    made_up: bool = False  # outside sets that are made from the items themselves


@dataclass(frozen=True)
class Setting:
    """What the plans of a paper have in common."""

    source: Source
    defaults: Defaults
    effort: Effort = field(default_factory=Effort)
    seeds: int | None = None  # so many; None: as many as the paper's file says
    reliability: bool = True  # whether the lines of reliability diagrams are kept


def full(paper: Paper, precision: str = "tf32") -> Setting:
    """The paper's own data, model and recipe; ``precision`` is that of products inside models on a GPU."""
    if precision not in PRECISIONS:
        raise InputError(unknown("precision of looks", precision, PRECISIONS))
    if paper.data not in DEFAULTS:
        raise InputError(
            f"{paper.name} has no data set of its own with a model and a recipe; papers that have: "
            f"{', '.join(name for name in PAPERS if read_paper(name).data in DEFAULTS)}"
        )
    return Setting(Source(name=paper.data), DEFAULTS[paper.data], Effort(precision=precision))


def smoke() -> Setting:
    """Everything once on embedded data, in a minute: numbers without a meaning, from code that is all used."""
    recipe = {"epochs": 3, "batch_size": 64, "lr": 0.05}
    return Setting(
        Source(name="glyphs", options={"items": 320, "votes": 45}),
        Defaults("small-cnn", recipe),
        Effort(probes=2, tolerance=0.5, curved=24, statistics=64, points=5, precision="fp32", made_up=True),
        seeds=SMOKE_SEEDS,
    )


def outside_images(name: str, like: NDArray[np.uint8], effort: Effort) -> NDArray[np.uint8]:
    """The images of an outside set; ``like`` are items that the model knows."""
    return _made_up(name, like) if effort.made_up else shaped_like(like, name, _read(name))


@lru_cache(4)
def _read(name: str) -> NDArray[np.uint8]:
    return load_images(name)


def _made_up(name: str, like: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For a test: far from the items, farther, and near."""
    change = {"streetview": 255 - like, "dtd": like[::-1, :, ::-1] ^ 85, "cifar100": np.roll(like, 1, axis=1)}
    return np.ascontiguousarray(change[name])
