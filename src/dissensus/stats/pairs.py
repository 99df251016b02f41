"""Scores that come in pairs: one number a seed for each of two methods."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError, unknown

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "less", "greater")


def as_scores(name: str, value: ArrayLike, dimensions: tuple[int, ...] = (1,)) -> NDArray[np.float64]:
    """``value`` as finite float64 scores, at least one."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError, RuntimeError) as why:
        raise InputError(f"{name} must hold numbers, one row a seed, all rows equally long ({why}).") from None
    if array.ndim not in dimensions:
        shapes = " or ".join(("(seeds,)", "(seeds, items)")[d - 1] for d in dimensions)
        hint = " One score a seed is the mean over its items: scores.mean(1)." if array.ndim == 2 else ""
        raise InputError(f"{name} must have the shape {shapes}, but its shape is {array.shape}.{hint}")
    if not array.size:
        raise InputError(f"{name} is empty; at least one score is needed.")
    if not np.isfinite(array).all():
        seed = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name} must be finite, but seed {seed[0]} has {array[tuple(seed)]}. "
            "If that run diverged, leave its seed out of both."
        )
    return array


def as_pair(
    a: ArrayLike, b: ArrayLike, dimensions: tuple[int, ...] = (1,)
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two arrays of scores, equally long: position i of both belongs to one seed."""
    first, second = as_scores("a", a, dimensions), as_scores("b", b, dimensions)
    if first.ndim == second.ndim == 1:
        same_length(a=first, b=second)
    elif first.shape != second.shape:
        raise InputError(f"a and b must have one shape, but a has {first.shape} and b has {second.shape}.")
    return first, second


def as_alternative(value: str) -> Alternative:
    for known in ALTERNATIVES:
        if value == known:
            return known
    raise InputError(unknown("alternative", value, ALTERNATIVES))
