"""Numbers of two seeds: their mean, and how sure it is, since pairs share seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dissensus.base.errors import InputError
from dissensus.stats.bootstrap import Interval
from dissensus.stats.student import p_above_zero


@dataclass(frozen=True)
class PairMean:
    """The mean over pairs of seeds; its standard error is nan for fewer than three seeds."""

    mean: float
    standard_error: float
    seeds: int

    def interval(self, level: float = 0.95) -> Interval:
        """From Student's t, with one degree of freedom less than there are seeds."""
        from scipy.special import stdtrit

        reach = float(stdtrit(max(self.seeds - 1, 1), (1 + level) / 2)) * self.standard_error
        return Interval(self.mean, self.mean - reach, self.mean + reach, level)

    def p_above(self, than: float = 0.0) -> float:
        """One-sided t-test: small where the mean is above ``than``; nan for fewer than three seeds."""
        return p_above_zero(self.mean - than, self.standard_error, self.seeds)

    def p_below(self, than: float = 0.0) -> float:
        """The same, small where the mean is below."""
        return PairMean(-self.mean, self.standard_error, self.seeds).p_above(-than)


def over_pairs(values: Mapping[tuple[int, int], float]) -> PairMean:
    r"""The mean over pairs of seeds, with the standard error of the jackknife.

    Pairs share seeds, so they are not independent: leaving out one seed at a time, :math:`s^2 = \frac{n-1}{n} \sum_i
    (U_{-i} - \bar U)^2`, says how much other seeds would have changed the mean. On average it is never too small (Efron
    & Stein, 1981).

    >>> over_pairs({(0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9}).interval()
    Interval(mean=0.9, low=0.9, high=0.9, level=0.95)
    """
    if not values:
        raise InputError("values is empty; at least one pair of seeds is needed.")
    seeds = sorted({seed for pair in values for seed in pair})
    mean, n = float(np.mean(list(values.values()))), len(seeds)
    left = [[value for pair, value in values.items() if seed not in pair] for seed in seeds]
    if n < 3 or not all(left):
        return PairMean(mean, np.nan, n)
    without = np.array([np.mean(rest) for rest in left])
    return PairMean(mean, float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())), n)
