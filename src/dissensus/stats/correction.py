"""Several tests, one family."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    r"""Adjusted p-values, in the order given: rejecting those below α keeps the chance of any false rejection below α.

    With the p-values sorted, :math:`\tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}` (Holm, 1979).
    It asks nothing of how the tests depend on each other, and rejects whatever Bonferroni rejects.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    try:
        p = np.asarray(p_values, np.float64)
    except (TypeError, ValueError, RuntimeError) as why:
        raise InputError(f"p_values must be a list of numbers ({why}).") from None
    if p.ndim != 1:
        raise InputError(f"p_values must be a list of numbers, but its shape is {p.shape}.")
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(f"p_values must lie in 0 to 1, but number {first} is {p[first]:.6g}.")
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def rejected_in_order(p_values: Iterable[float], alpha: float) -> int:
    """How many hypotheses are rejected from the first on, where the first that is not ends it.

    If the order was fixed before, the chance of any false rejection stays below α without a correction. What lies
    behind the end is not even looked at; a test without an outcome (NaN) rejects nothing.

    >>> rejected_in_order([0.01, 0.04, 0.2, 0.01], alpha=0.05)
    2
    """
    return sum(1 for _ in takewhile(lambda p: p <= alpha, p_values))
