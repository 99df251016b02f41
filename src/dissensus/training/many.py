"""Many training runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike
from torch import nn

from dissensus.base.errors import InputError
from dissensus.training.batches import Deliver
from dissensus.training.loop import Fitted, Inputs, Row, fit
from dissensus.training.recipe import Recipe, Seeds


@dataclass(frozen=True)
class Job:
    """The arguments of one :func:`~dissensus.training.fit`."""

    make_model: Callable[[], nn.Module]
    inputs: Inputs
    deliver: Deliver
    recipe: Recipe = field(default_factory=Recipe)
    seed: int | Seeds = 0
    held_out: tuple[Inputs, ArrayLike] | None = None
    select_on: tuple[Inputs, ArrayLike] | None = None
    progress: Callable[[Row], Any] | None = None


def fit_many(jobs: Iterable[Job], width: int = 4) -> list[Fitted]:
    """Every job through :func:`~dissensus.training.fit`, in order, with the result it has on its own.

    ``width`` is how many may share a GPU. Runs on a CPU go one after the other, whatever it is: to use several cores
    start several processes of one thread each, which is faster than one process of several.
    """
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise InputError(f"width must be a whole number of at least 1, but is {width!r}.")
    return [
        fit(
            job.make_model,
            job.inputs,
            job.deliver,
            job.recipe,
            seed=job.seed,
            held_out=job.held_out,
            select_on=job.select_on,
            progress=job.progress,
        )
        for job in jobs
    ]
