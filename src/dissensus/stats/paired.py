"""Does one method differ from another? A paired test over seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.stats.pairs import Alternative, as_alternative, as_pair

EXACT_UP_TO = 200  # pairs; exact for 200 takes 10 ms, and beyond that the normal p-value is within .001 of it
SINGLE = 2.5e-7  # how far differences of numbers up to 2 may be apart and be equal, if these were kept in float32
_ULPS = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Test:
    """The outcome of a test, with its side."""

    statistic: float  # sum of the ranks of the positive differences
    pvalue: float
    alternative: Alternative
    n: int  # pairs that differ
    exact: bool

    @property
    def side(self) -> int:
        """1 where the ranks speak for the first being higher, -1 for lower, 0 for neither.

        The mean may say otherwise: one pair that is far off outweighs many in a mean, and counts as one in ranks.
        """
        half = self.n * (self.n + 1) / 4
        return int(self.statistic > half) - int(self.statistic < half)


def wilcoxon(a: ArrayLike, b: ArrayLike, alternative: Alternative = "two-sided", *, resolution: float = 0.0) -> Test:
    r"""Wilcoxon's signed-rank test of paired scores; ``alternative="less"`` asks whether ``a`` is below ``b``.

    The pairs' differences :math:`d_i = a_i - b_i` are ranked by size; the statistic is
    :math:`W^+ = \sum_{d_i > 0} \operatorname{rank}|d_i|`. If the methods do not differ, every sign is a fair coin, and
    the p-value is the share of the :math:`2^n` sign patterns with a :math:`W^+` at least as extreme; two-sided, twice
    the smaller side, at most 1.

    - *Ties* share their mean rank, and the sign patterns are counted over these very ranks, so the test stays exact.
    - *Pairs that do not differ* are dropped (Wilcoxon, 1945); where none differs, p = 1.
    - Differences within 16 units of rounding of the largest score count as equal: accuracies of .8715 and .8695 differ
      by as much as .8700 and .8680 do, though not in floating point. Whoever passes differences, or numbers that were
      rounded before, says by ``resolution`` how far these may be off: what is nearer than that is equal.
    - Up to 200 pairs the distribution is exact; beyond, normal, its variance corrected for ties.

    >>> wilcoxon([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], alternative="less").pvalue == 1 / 32
    True
    """
    alternative = as_alternative(alternative)
    first, second = as_pair(a, b)
    signs, ranks = _signed_ranks(first, second, resolution)
    doubled = int(ranks[signs > 0].sum())
    exact = len(ranks) <= EXACT_UP_TO
    below, above = _tails_exact(ranks, doubled) if exact else _tails_normal(ranks, doubled)
    pvalue = {"less": below, "greater": above, "two-sided": min(1.0, 2 * min(below, above))}[alternative]
    return Test(doubled / 2, pvalue, alternative, n=len(ranks), exact=exact)


def _signed_ranks(
    a: NDArray[np.float64], b: NDArray[np.float64], resolution: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Signs and *doubled* mean ranks (whole numbers, ties or not) of the differences that are not zero."""
    difference = a - b
    order = np.argsort(np.abs(difference), kind="stable")
    size = np.abs(difference[order])
    same = max(resolution, _ULPS * max(np.abs(a).max(), np.abs(b).max()))
    group = np.cumsum(np.diff(size, prepend=0.0) > same)  # 0: no difference; then one number for each set of ties
    differs = group > 0
    _, start, members = np.unique(group[differs], return_index=True, return_counts=True)
    return np.sign(difference[order][differs]), np.repeat(2 * start + members + 1, members)


def null_distribution(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability of each sum of ``ranks`` when every rank is counted or not by a fair coin.

    >>> null_distribution(np.array([1, 2])).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    probability = np.zeros(int(ranks.sum()) + 1)
    probability[0] = 1.0
    for rank in ranks:
        counted = probability[:-rank].copy()
        probability[rank:] += counted
        probability /= 2
    return probability


def _tails_exact(ranks: NDArray[np.int64], observed: int) -> tuple[float, float]:
    probability = null_distribution(ranks)
    return min(1.0, float(probability[: observed + 1].sum())), min(1.0, float(probability[observed:].sum()))


def _tails_normal(ranks: NDArray[np.int64], observed: int) -> tuple[float, float]:
    from scipy.special import ndtr

    z = (observed - ranks.sum() / 2) / np.sqrt((ranks.astype(np.float64) ** 2).sum() / 4)
    return float(ndtr(z)), float(ndtr(-z))
