"""What every model here is: features of an item, and one linear layer that turns them into logits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

from torch import Tensor, nn

from dissensus.base.errors import InputError

Shape: TypeAlias = tuple[int, ...]  # of one item: (channels, height, width) of an image, (features,) otherwise


class Classifier(nn.Module, ABC):
    """``head(features(x))``: what is before the last layer can be looked at without hooks.

    ``version`` is raised whenever the same options come to mean another model; plans carry it.
    """

    version: ClassVar[int]
    head: nn.Linear

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """The penultimate features, (items, features)."""

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def is_image(shape: Shape) -> bool:
    """Whether items of this shape are images; an error if they are not features either."""
    if len(shape) not in (1, 3):
        hint = " Pass inputs.shape[1:]." if len(shape) in (2, 4) else ""
        raise InputError(
            "the shape of one item must be (channels, height, width) of an image or (features,), "
            f"but it is {tuple(shape)}.{hint}"
        )
    if math.prod(shape) == 0:
        raise InputError(f"the shape of one item must have no side of 0, but it is {tuple(shape)}.")
    return len(shape) == 3


def whole(name: str, value: Any, least: int) -> int:
    """``value`` if it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, but is {value!r}.")
    return int(value)
