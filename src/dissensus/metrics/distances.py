"""Distances between shares: how far a prediction lies from the annotators, in votes rather than in nats."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_pair, as_shares, same_shape


def soft_brier(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Squared distance :math:`\sum_k (q_{ik} - p_{ik})^2`, in 0 to 2.

    >>> soft_brier([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])
    array([2., 0.])
    """
    q, p = as_pair(probs, human)
    return ((q - p) ** 2).sum(1)


def manhattan(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Absolute distance :math:`\sum_k |q_{ik} - p_{ik}|`, in 0 to 2.

    >>> manhattan([[0.9, 0.1]], [[0.5, 0.5]]).round(4)
    array([0.8])
    """
    q, p = as_pair(probs, human)
    return np.abs(q - p).sum(1)


def total_variation(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""The share of votes that would have to move, :math:`\tfrac12 \sum_k |q_{ik} - p_{ik}|`, in 0 to 1.

    >>> total_variation([[0.9, 0.1]], [[0.5, 0.5]]).round(4)
    array([0.4])
    """
    return manhattan(probs, human) / 2


def soft_accuracy(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""The share of votes that are in place: 1 less the total variation, which is :math:`\sum_k \min(q_{ik}, p_{ik})`.

    With one-hot predictions and one-hot votes it is accuracy.

    >>> soft_accuracy([[0.9, 0.1]], [[0.5, 0.5]]).round(4)
    array([0.6])
    """
    return 1 - total_variation(probs, human)


def soft_micro_f1(probs: ArrayLike, human: ArrayLike) -> float:
    r"""Micro-averaged F1 of fuzzy sets, in 0 to 1.

    .. math:: \frac{2 \sum_{ik} \min(q_{ik}, p_{ik})}{\sum_{ik} (q_{ik} + p_{ik})}

    (Kurniawan, Mistica, Baldwin & Lau, "Training and Evaluating with Human Label Variation", Computational Linguistics
    52(1), 2026.) It takes per-class shares, so it fits multi-label votes too. Where rows sum to 1 it equals the mean of
    :func:`soft_accuracy`. Where there is nothing to find and nothing was found, it is 1.

    >>> round(soft_micro_f1([[1.0, 0.6]], [[0.8, 1.0]]), 4)  # 2 (0.8 + 0.6) / (1.6 + 1.8)
    0.8235
    """
    q, p = same_shape(probs=as_shares("probs", probs), human=as_shares("human", human))
    total = float(q.sum() + p.sum())
    return 2 * float(np.minimum(q, p).sum()) / total if total else 1.0


def wasserstein(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Earth mover's distance for ordered classes, :math:`\sum_{k<C} |Q_{ik} - P_{ik}|` of cumulated shares.

    Neighbouring classes lie at distance 1, so it counts steps on the rating scale, in 0 to C - 1; divide by C - 1 to
    compare scales of different lengths. It has no meaning where the order of the classes has none.

    >>> wasserstein([[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]])
    array([2., 1.])
    """
    q, p = as_pair(probs, human)
    return np.abs(np.cumsum(q - p, axis=1)[:, :-1]).sum(1)
