"""Are two methods the same, for all that matters? A large p-value of a difference does not show it; this does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.errors import InputError
from dissensus.stats.pairs import as_pair
from dissensus.stats.student import p_above_zero


@dataclass(frozen=True)
class Equivalence:
    """The outcome of an equivalence test."""

    pvalue: float  # small: the difference lies within the margin
    difference: float  # mean of a - b
    margin: float
    low: float  # the interval of level 1 - 2 alpha (90 %): within the margin exactly where the test rejects
    high: float
    equivalent: bool


def equivalence(a: ArrayLike, b: ArrayLike, *, margin: float, alpha: float = 0.05) -> Equivalence:
    r"""Two one-sided paired t-tests (Schuirmann, 1987): is the mean of :math:`d = a - b` within ± ``margin``?

    With :math:`s` the standard error of :math:`\bar d`,
    :math:`p = \max\{P(T_{n-1} \ge (\bar d + m) / s),\; P(T_{n-1} \le (\bar d - m) / s)\}`: both "far below" and "far
    above" have to be ruled out. The margin has to be fixed before anyone looks.

    Where all differences are equal, p is its limit: 0 within the margin, 1 elsewhere. A single pair shows nothing:
    p = 1, and its interval is unknown (nan).

    >>> a = np.array([0.50, 0.52, 0.49, 0.51, 0.50])
    >>> equivalence(a, a + [0.002, -0.001, 0.001, 0.003, -0.002], margin=0.01).equivalent
    True
    """
    from scipy.special import stdtrit

    first, second = as_pair(a, b)
    if not (np.isfinite(margin) and margin > 0):
        raise InputError(f"margin must be above 0, but it is {margin!r}. It is the largest difference that is none.")
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha must lie between 0 and .5, but it is {alpha!r}.")
    differences = first - second
    mean, n = float(differences.mean()), len(differences)
    if n == 1:
        return Equivalence(1.0, mean, margin, np.nan, np.nan, equivalent=False)
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    inside = margin - abs(mean)  # how far the mean is from the nearer end
    pvalue = p_above_zero(inside, error, n)
    reach = float(stdtrit(n - 1, 1 - alpha)) * error
    return Equivalence(pvalue, mean, margin, mean - reach, mean + reach, equivalent=pvalue < alpha)
