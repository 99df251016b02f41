"""Rank correlation of two numbers an item, plain and with a third held fixed, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError

DIGITS = 12  # of the largest number: the same votes in another order are ties, though their sums differ in the last bit
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Correlation:
    """A correlation with its 95 % interval over items; all three are NaN where either side does not vary."""

    value: float
    low: float
    high: float
    items: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def spearman(a: ArrayLike, b: ArrayLike) -> Correlation:
    r"""Spearman's :math:`\rho`: the Pearson correlation of the ranks, where ties share their mean rank.

    The interval is Fisher's, with the standard error :math:`\sqrt{(1 + \rho^2 / 2) / (n - 3)}` of Bonett & Wright
    ("Sample size requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65, 2000).

    >>> print(spearman([1, 2, 3, 4, 5, 6], [1, 4, 9, 16, 36, 25]))
    0.943 [0.383, 0.996]
    """
    x, y = _columns(a=a, b=b)
    return _with_interval(_pearson(_ranks(x), _ranks(y)), len(x), fixed=0)


def partial_spearman(a: ArrayLike, b: ArrayLike, given: ArrayLike) -> Correlation:
    r"""Spearman's :math:`\rho` of ``a`` and ``b`` among items alike in ``given``.

    .. math:: \frac{\rho_{ab} - \rho_{ag} \rho_{bg}}{\sqrt{(1 - \rho_{ag}^2)(1 - \rho_{bg}^2)}}

    It is what the ranks of ``a`` and ``b`` share beyond what each shares with those of ``given``: two numbers that both
    only follow a third have none left. The interval is that of :func:`spearman` with one item fewer (Fisher, 1924). NaN
    where ``given`` says everything of either.

    >>> chance = np.random.default_rng(0)
    >>> g = chance.normal(size=1000)
    >>> a, b = g + chance.normal(size=1000), g + chance.normal(size=1000)
    >>> bool(spearman(a, b).low > 0.3), bool(abs(partial_spearman(a, b, g).value) < 0.1)
    (True, True)
    """
    x, y, z = map(_ranks, _columns(a=a, b=b, given=given))
    ab, ag, bg = _pearson(x, y), _pearson(x, z), _pearson(y, z)
    left = (1 - ag**2) * (1 - bg**2)
    value = np.clip((ab - ag * bg) / np.sqrt(left), -1, 1) if left > 1e-12 else np.nan
    return _with_interval(float(value), len(x), fixed=1)


def _columns(**given: ArrayLike) -> list[NDArray[np.float64]]:
    columns = {name: np.asarray(value, np.float64) for name, value in given.items()}
    for name, column in columns.items():
        if column.ndim != 1:
            raise InputError(f"{name} must have the shape (items,), but its shape is {column.shape}.")
        if not np.isfinite(column).all():
            item = int(np.flatnonzero(~np.isfinite(column))[0])
            raise InputError(f"{name} must be finite, but item {item} has {column[item]}.")
    same_length(**columns)
    return list(columns.values())


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.stats import rankdata

    largest = np.abs(values).max(initial=0) or 1.0
    return rankdata((values / largest).round(DIGITS)).astype(np.float64)


def _pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if not len(a) or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1, 1))


def _with_interval(rho: float, items: int, fixed: int) -> Correlation:
    free = items - 3 - fixed
    if np.isnan(rho) or free < 1:
        return Correlation(rho, np.nan, np.nan, items)
    if abs(rho) == 1:
        return Correlation(rho, rho, rho, items)
    half = Z95 * np.sqrt((1 + rho**2 / 2) / free)
    low, high = np.tanh(np.arctanh(rho) + np.array([-half, half]))
    return Correlation(rho, float(low), float(high), items)
