"""Student's t-test, from a mean and its standard error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def p_above_zero(mean: float, standard_error: float, numbers: int) -> float:
    r"""One-sided, :math:`P(T_{n-1} \ge \bar x / s)` for the mean of so many numbers: small where it is above 0.

    Where nothing varies it is its limit, 0 or 1.

    >>> round(p_above_zero(2.262157, 1.0, numbers=10), 4), p_above_zero(0.1, 0.0, numbers=10)
    (0.025, 0.0)
    """
    from scipy.special import stdtr

    return float(stdtr(max(numbers - 1, 1), -mean / standard_error)) if standard_error else float(mean <= 0)


def p_not_worse(lost: ArrayLike, margin: float) -> float:
    """One-sided: small where the mean loss is shown to be below the margin; two numbers at least.

    >>> round(p_not_worse([0.01, 0.02, 0.00, 0.01], margin=0.025), 3), round(p_not_worse([0.01, 0.05], margin=0.025), 2)
    (0.017, 0.58)
    """
    numbers = np.asarray(lost, np.float64)
    error = float(numbers.std(ddof=1)) / np.sqrt(len(numbers))
    return p_above_zero(margin - float(numbers.mean()), error, len(numbers))
