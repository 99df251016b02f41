r"""Proposition 1 of Basins, checked by enumeration.

For one item with annotator distribution :math:`p`, logits :math:`z`, :math:`q = \mathrm{softmax}(z)`, a label
:math:`y \sim p` and its loss :math:`\ell = -\log q_y`: every expectation is a sum over the classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import stream
from dissensus.metrics import softmax

Array = NDArray[np.float64]

ITEMS, CLASSES, WEIGHTS = 1000, 10, 7


def proposition_errors(items: int = ITEMS, seed: int = 0) -> dict[str, float]:
    r"""How far each statement is from its formula, at most, over random items; relative to the largest number in it.

    =============================== =======================================================
    mean loss                       :math:`E\,\ell = -\sum_k p_k \log q_k`
    mean gradient                   :math:`E\,\nabla_z \ell = q - p`
    covariance                      :math:`\mathrm{Cov}\,\nabla_z \ell = \mathrm{diag}(p) - pp^\top`
    covariance in weights           :math:`J^\top (\mathrm{diag}(p) - pp^\top) J`
    squared error                   :math:`E\|q - e_y\|^2 = \|q - p\|^2 + 1 - \|p\|^2`
    =============================== =======================================================

    A quarter of the items are unanimous, where the last term of each vanishes.

    >>> max(proposition_errors(items=20).values()) < 1e-12
    True
    """
    p, z, jacobian = _items(items, seed)
    q = softmax(z)
    one_hot = np.eye(p.shape[1])
    loss = -np.log(q)  # of each label, (items, classes)
    gradient = q[:, None, :] - one_hot  # (items, label, classes)
    mean = np.einsum("ny,nyk->nk", p, gradient)
    off = gradient - mean[:, None, :]
    covariance = np.einsum("ny,nyk,nyl->nkl", p, off, off)
    weights = np.einsum("nyk,nkw->nyw", off, jacobian)
    stated = one_hot * p[:, None, :] - p[:, :, None] * p[:, None, :]
    return {
        "mean loss": _error((p * loss).sum(1), -(p * (z - _log_sum_exp(z))).sum(1)),
        "mean gradient": _error(mean, q - p),
        "covariance": _error(covariance, stated),
        "covariance in weights": _error(
            np.einsum("ny,nyv,nyw->nvw", p, weights, weights),
            np.einsum("nkv,nkl,nlw->nvw", jacobian, stated, jacobian),
        ),
        "squared error": _error((p * (gradient**2).sum(2)).sum(1), ((q - p) ** 2).sum(1) + 1 - (p**2).sum(1)),
    }


def _items(items: int, seed: int) -> tuple[Array, Array, Array]:
    """Distributions from nearly unanimous to nearly uniform, some of them one-hot; logits; Jacobians of logits."""
    chance = stream(seed, "proposition 1")
    concentration = np.exp(chance.uniform(-3, 3, (items, 1)))
    p = chance.gamma(concentration, size=(items, CLASSES)) + 1e-300
    p /= p.sum(1, keepdims=True)
    p[::4] = np.eye(CLASSES)[chance.integers(CLASSES, size=len(p[::4]))]
    return p, 3 * chance.normal(size=(items, CLASSES)), chance.normal(size=(items, CLASSES, WEIGHTS))


def _log_sum_exp(z: Array) -> Array:
    top = z.max(1, keepdims=True)
    return top + np.log(np.exp(z - top).sum(1, keepdims=True))


def _error(found: Array, stated: Array) -> float:
    return float(np.abs(found - stated).max() / max(np.abs(stated).max(), 1.0))
