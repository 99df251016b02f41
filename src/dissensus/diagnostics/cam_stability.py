"""Do two models look at the same places? How well their Grad-CAM maps agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.base.errors import InputError

FLAT = 1e-6  # of a map's largest value: smaller differences are float32's rounding, and have no correlation


@dataclass(frozen=True)
class Stability:
    """How alike the maps of two models are: the mean correlation over items, with its standard error.

    ``per_item`` is NaN for the ``dropped`` items, where a map is constant; the mean is over the others.
    """

    mean: float
    standard_error: float
    per_item: PerItem
    dropped: int


def cam_stability(maps_a: ArrayLike, maps_b: ArrayLike) -> Stability:
    r"""Pearson correlation of the two maps of each item over its places, (items, height, width) each.

    .. math:: r_i = \frac{\sum_{uv} (a_{iuv} - \bar a_i)(b_{iuv} - \bar b_i)}
              {\sqrt{\sum_{uv} (a_{iuv} - \bar a_i)^2 \sum_{uv} (b_{iuv} - \bar b_i)^2}}

    Between models of two seeds it is the cross-seed stability of arXiv 2605.20642. A constant map correlates with
    nothing: Grad-CAM is 0 everywhere where nothing speaks for the class. Such items are dropped and counted. For seeds
    with splits of their own, pass the maps of :func:`~dissensus.diagnostics.shared_items.shared_items`.

    >>> a = np.array([[[0.0, 1.0], [2.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]]])
    >>> found = cam_stability(a, 2 * a + 1)
    >>> found.mean, found.per_item, found.dropped
    (1.0, array([ 1., nan]), 1)
    """
    (a, flat_a), (b, flat_b) = _rows("maps_a", maps_a), _rows("maps_b", maps_b)
    if np.shape(maps_a) != np.shape(maps_b):
        raise InputError(f"maps_a has the shape {np.shape(maps_a)}, but maps_b {np.shape(maps_b)}; they must be alike.")
    keep = ~(flat_a | flat_b)
    per_item = np.full(len(a), np.nan)
    per_item[keep] = np.clip((a[keep] * b[keep]).sum(1), -1, 1)
    kept = int(keep.sum())
    return Stability(
        mean=float(per_item[keep].mean()) if kept else np.nan,
        standard_error=float(per_item[keep].std(ddof=1) / np.sqrt(kept)) if kept > 1 else np.nan,
        per_item=per_item,
        dropped=len(a) - kept,
    )


def _rows(name: str, value: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Every map as a row of mean 0 and length 1, and which maps are constant."""
    maps = np.asarray(value, np.float64)
    if maps.ndim != 3 or not maps.size:
        raise InputError(f"{name} must have the shape (items, height, width), but its shape is {maps.shape}.")
    if not np.isfinite(maps).all():
        item = int(np.flatnonzero(~np.isfinite(maps).all((1, 2)))[0])
        raise InputError(f"{name} must be finite, but the map of item {item} is not.")
    rows = maps.reshape(len(maps), -1)
    flat = np.ptp(rows, 1) <= FLAT * np.abs(rows).max(1)
    rows = rows - rows.mean(1, keepdims=True)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(flat[:, None], 1, length), flat
