"""How many seeds? Asked before the runs are made, since afterwards it is too late."""

from __future__ import annotations

import math

import numpy as np

from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.base.words import many
from dissensus.stats.paired import EXACT_UP_TO, null_distribution
from dissensus.stats.pairs import Alternative, as_alternative


def smallest_pvalue(seeds: int, alternative: Alternative = "two-sided") -> float:
    """The least that the exact Wilcoxon test can give: one sign pattern of 2ⁿ, or two of them two-sided.

    >>> smallest_pvalue(5, "less")
    0.03125
    """
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, but it is {seeds!r}.")
    sides = 2 if as_alternative(alternative) == "two-sided" else 1
    return min(1.0, sides * 2.0**-seeds)


def fewest_seeds(tests: int = 1, alternative: Alternative = "two-sided", alpha: float = 0.05) -> int:
    """The fewest paired seeds with which Holm over ``tests`` exact Wilcoxon tests can ever reject one.

    Holm multiplies the smallest p-value by the number of tests, so ``tests * smallest_pvalue`` must be below ``alpha``.

    >>> fewest_seeds(12, "less"), fewest_seeds(6, "two-sided")
    (8, 8)
    """
    _check_family(tests, alpha)
    seeds = 1
    while tests * smallest_pvalue(seeds, alternative) >= alpha:
        seeds += 1
    return seeds


def warning_for(seeds: int, tests: int = 1, alternative: Alternative = "two-sided", alpha: float = 0.05) -> str | None:
    """A sentence, if a plan with so few seeds can never reject whatever the runs give; else None.

    >>> print(warning_for(5, tests=12, alternative="less"))
    5 seeds can never show a difference here: the smallest one-sided p-value of 5 pairs is 0.0312, which Holm over 12
    tests makes 0.375, and it must be below 0.05. Use at least 8 seeds.
    """
    fewest = fewest_seeds(tests, alternative, alpha)
    if seeds >= fewest:
        return None
    smallest = smallest_pvalue(seeds, alternative)
    side = "two-sided" if alternative == "two-sided" else "one-sided"
    holm = f", which Holm over {tests} tests makes {min(1.0, tests * smallest):.3g}" if tests > 1 else ""
    return (
        f"{many(seeds, 'seed')} can never show a difference here: the smallest {side} p-value of {many(seeds, 'pair')} "
        f"is {smallest:.3g}{holm}, and it must be below {alpha:g}. Use at least {fewest} seeds."
    )


def plan_seeds(
    difference: float,
    sd: float,
    *,
    tests: int = 1,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    r"""Paired seeds needed to find a mean ``difference`` with probability ``power``.

    ``sd`` is the standard deviation, over seeds, of the *differences* between the two methods: pairing makes it smaller
    than that of the scores. A test counts as passed at Holm's first and strictest step, p < ``alpha / tests``.

    For normal differences the number is near

    .. math:: n_0 = \frac{\pi}{3} \frac{(z_{\alpha'} + z_{\mathrm{power}})^2}{(\mathrm{difference}/\mathrm{sd})^2}
              + \frac{z_{\alpha'}^2}{2},

    with :math:`\alpha'` the level of that step (halved two-sided), 3/π the efficiency of Wilcoxon's test and the last
    term for a spread estimated from few seeds. The p-values of few seeds are too coarse for a formula, so up to 200
    seeds the test itself is simulated, from just below :math:`n_0` upwards.

    >>> plan_seeds(difference=0.025, sd=0.025), plan_seeds(difference=0.025, sd=0.025, tests=6)
    (11, 17)
    """
    from scipy.special import ndtri

    _check_family(tests, alpha)
    if not (np.isfinite(difference) and difference != 0):
        raise InputError(f"difference must be a number other than 0, but it is {difference!r}.")
    if not (np.isfinite(sd) and sd >= 0):
        raise InputError(f"sd must not be negative, but it is {sd!r}.")
    if not 0 < power < 1:
        raise InputError(f"power must lie between 0 and 1, but it is {power!r}.")
    sides = 2 if as_alternative(alternative) == "two-sided" else 1
    level = alpha / tests / sides
    z = float(-ndtri(level))
    near = math.ceil(math.pi / 3 * (z + float(ndtri(power))) ** 2 * (sd / difference) ** 2 + z**2 / 2)
    if near > EXACT_UP_TO:
        return near
    seeds = max(near - 3, fewest_seeds(tests, alternative, alpha))
    while sd and _simulated_power(seeds, abs(difference) / sd, level) < power:
        seeds += 1
    return seeds


def _simulated_power(seeds: int, effect: float, level: float, draws: int = 10_000) -> float:
    """How often the exact test finds a shift of ``effect`` standard deviations, on its own side, p < ``level``."""
    differences = stream(0, "seed plan", seeds).normal(effect, 1.0, (draws, seeds))
    ranks = np.abs(differences).argsort(1).argsort(1) + 1
    statistic = (ranks * (differences > 0)).sum(1)
    at_least = np.cumsum(null_distribution(np.arange(1, seeds + 1))[::-1])[::-1]
    return float((at_least[statistic] < level).mean())


def _check_family(tests: int, alpha: float) -> None:
    if tests < 1:
        raise InputError(f"tests must be at least 1, but it is {tests!r}.")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, but it is {alpha!r}.")
