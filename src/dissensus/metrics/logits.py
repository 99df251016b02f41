"""From logits to probabilities, and the one number that is computed without leaving log space."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.base.errors import InputError
from dissensus.metrics.checks import as_logits, as_rows, same_shape


def log_softmax(logits: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    r"""Log-probabilities :math:`z_k / T - \log \sum_j e^{z_j / T}`, finite for all finite logits.

    >>> log_softmax([[0.0, 1000.0]]).round(3)
    array([[-1000.,     0.]])
    """
    scaled = as_logits("logits", logits) / _positive(temperature)
    scaled -= scaled.max(1, keepdims=True)
    scaled -= np.log(np.exp(scaled).sum(1, keepdims=True))
    return scaled


def softmax(logits: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    r"""Probabilities :math:`e^{z_k / T} / \sum_j e^{z_j / T}`, in float64.

    Never exactly 0: what would be rounded to 0 is :math:`10^{-307.7}`, the smallest normal number. So finite logits
    have a finite soft NLL, however sharp a fitted temperature makes them; it stops growing at 708 nats a vote.

    >>> softmax([[0.0, np.log(3)]]).round(3)
    array([[0.25, 0.75]])
    """
    return np.maximum(np.exp(log_softmax(logits, temperature)), np.finfo(np.float64).tiny)


def soft_cross_entropy(logits: ArrayLike, human: ArrayLike, temperature: float = 1.0) -> PerItem:
    r"""Soft NLL in log space: :math:`-\sum_k p_{ik} \log \mathrm{softmax}(z_i / T)_k`, always finite.

    Equal to ``soft_nll(softmax(logits, temperature), human)``, and exact where that one stops, at 708 nats a vote.

    >>> soft_cross_entropy([[0.0, 2000.0]], [[0.5, 0.5]])
    array([1000.])
    """
    log_probs, target = same_shape(logits=log_softmax(logits, temperature), human=as_rows("human", human))
    return -(target * log_probs).sum(1)


def _positive(temperature: float) -> float:
    if not 0 < temperature < np.inf:
        raise InputError(f"temperature must be a positive number, but it is {temperature!r}.")
    return float(temperature)
