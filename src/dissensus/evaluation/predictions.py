"""What a model says of some items at one epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.metrics import softmax


@dataclass(frozen=True)
class Predictions:
    """Logits of the items at an epoch, and the penultimate features where they were asked for.

    >>> Predictions(np.array([[0.0, 0.0]], np.float32), epoch=3).probs
    array([[0.5, 0.5]])
    """

    logits: NDArray[np.floating[Any]]  # (items, classes)
    epoch: int
    features: NDArray[np.floating[Any]] | None = None  # (items, features)

    @property
    def probs(self) -> NDArray[np.float64]:
        """Probabilities in float64, in which metrics are computed."""
        return softmax(self.logits)
