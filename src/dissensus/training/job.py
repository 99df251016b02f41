"""One training run, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.training.checkpoint import Checkpoint
from dissensus.training.labels import Deliver
from dissensus.training.recipe import Recipe, Seeds

Inputs: TypeAlias = Tensor | NDArray
Row: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Job:
    """The arguments of one :func:`~dissensus.training.fit`, and a ``tag`` by which the caller knows it again."""

    make_model: Callable[[], nn.Module]
    inputs: Inputs
    deliver: Deliver
    recipe: Recipe = field(default_factory=Recipe)
    seed: int | Seeds = 0
    held_out: tuple[Inputs, ArrayLike] | None = None
    select_on: tuple[Inputs, ArrayLike] | None = None
    progress: Callable[[Row], Any] | None = None
    checkpoint: Checkpoint | None = None
    features: bool = False
    tag: Any = None
