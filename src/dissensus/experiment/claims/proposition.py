r"""Proposition 1 of Basins, checked by enumeration: every expectation over a label :math:`y \sim p` is a sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import stream
from dissensus.diagnostics.proposition import proposition_deviation
from dissensus.metrics import softmax

Array = NDArray[np.float64]

ITEMS, CLASSES, WEIGHTS = 1000, 10, 7


def proposition_errors(items: int = ITEMS, seed: int = 0) -> dict[str, float]:
    r"""How far its statements are off, at most, over random items; a quarter of them unanimous.

    "in logits" are mean loss, mean gradient, covariance and squared error
    (:func:`~dissensus.diagnostics.proposition.proposition_deviation`). "in weights" is, with the Jacobian :math:`J` of
    the logits, :math:`\mathrm{Cov}[\nabla_\theta \ell] = J^\top (\mathrm{diag}(p) - pp^\top) J`.

    >>> max(proposition_errors(items=20).values()) < 1e-12
    True
    """
    p, z, jacobian = _items(items, seed)
    q = softmax(z)
    return {"in logits": proposition_deviation(q, p), "in weights": _in_weights(q, p, jacobian)}


def _in_weights(q: Array, p: Array, jacobian: Array) -> float:
    gradient = np.einsum("nyk,nkw->nyw", q[:, None, :] - np.eye(CLASSES), jacobian)  # of each label
    off = gradient - np.einsum("ny,nyw->nw", p, gradient)[:, None, :]
    covariance = np.einsum("ny,nyv,nyw->nvw", p, off, off)
    in_logits = np.eye(CLASSES) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    stated = np.einsum("nkv,nkl,nlw->nvw", jacobian, in_logits, jacobian)
    return float(np.abs(covariance - stated).max())


def _items(items: int, seed: int) -> tuple[Array, Array, Array]:
    """Distributions from nearly unanimous to nearly uniform, some of them one-hot; logits; Jacobians of logits."""
    chance = stream(seed, "proposition 1")
    concentration = np.exp(chance.uniform(-3, 3, (items, 1)))
    p = chance.gamma(concentration, size=(items, CLASSES)) + 1e-300
    p /= p.sum(1, keepdims=True)
    p[::4] = np.eye(CLASSES)[chance.integers(CLASSES, size=len(p[::4]))]
    return p, 3 * chance.normal(size=(items, CLASSES)), chance.normal(size=(items, CLASSES, WEIGHTS))
