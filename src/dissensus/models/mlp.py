"""Fully connected layers, for features that somebody else computed."""

from __future__ import annotations

import math
from itertools import chain, pairwise
from typing import ClassVar, final

from torch import Tensor, nn

from dissensus.models.classifier import Classifier, Shape, is_image, whole


@final
class MLP(Classifier):
    r"""``layers`` times :math:`\max(0, Wx + b)`, ``width`` units each. Images are taken as one long row of pixels.

    No batch-norm: it would fail on a last batch of one item, which training keeps.

    >>> import torch
    >>> MLP((5,), 3, width=32).features(torch.zeros(2, 5)).shape
    torch.Size([2, 32])
    """

    version: ClassVar[int] = 1

    def __init__(self, shape: Shape, n_classes: int, width: int = 128, layers: int = 2) -> None:
        super().__init__()
        is_image(shape)  # both kinds are welcome, anything else is an error
        width = whole("width", width, 1)
        sizes = [math.prod(shape), *[width] * whole("layers", layers, 1)]
        stages = [(nn.Linear(before, after), nn.ReLU(inplace=True)) for before, after in pairwise(sizes)]
        self.trunk = nn.Sequential(*chain.from_iterable(stages))
        self.head = nn.Linear(width, whole("n_classes", n_classes, 2))

    def features(self, x: Tensor) -> Tensor:
        return self.trunk(x.flatten(1))
