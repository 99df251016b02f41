"""A number that was found by drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """The mean over draws, and their standard deviation: how far one draw, like one data set, may lie from it.

    >>> Estimate.over([1.0, 2.0, 3.0])
    Estimate(mean=2.0, sd=1.0)
    """

    mean: float
    sd: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Estimate:
        """Of two values or more; ``nan`` where one of them is."""
        drawn = np.fromiter(values, np.float64)
        return cls(float(drawn.mean()), float(drawn.std(ddof=1)))
