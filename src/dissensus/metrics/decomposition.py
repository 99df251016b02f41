"""The Brier score against one label an item, and what it is made of."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import PerItem
from dissensus.metrics.calibration import equal_mass
from dissensus.metrics.checks import as_labelled, as_whole


@dataclass(frozen=True)
class BrierDecomposition:
    """Five terms whose sum, with their signs, is the Brier score."""

    reliability: float  # lower is better: squared gap between probability and frequency
    resolution: float  # higher is better: how far the bins' frequencies lie from the class's own
    uncertainty: float  # of the labels alone, the same for all models
    within_variance: float  # of the probabilities within their bins
    within_covariance: float  # twice that of probabilities and labels within their bins

    @property
    def brier(self) -> float:
        """The Brier score: reliability - resolution + uncertainty + within_variance - within_covariance."""
        return self.reliability - self.resolution + self.uncertainty + self.within_variance - self.within_covariance


def brier(probs: ArrayLike, labels: ArrayLike) -> PerItem:
    r"""Brier score :math:`\sum_k (q_{ik} - [y_i = k])^2` against one label an item, in 0 to 2.

    >>> brier([[0.8, 0.2], [1.0, 0.0]], [0, 1]).round(4)
    array([0.08, 2.  ])
    """
    rows, classes = as_labelled(probs, labels)
    rows[np.arange(len(rows)), classes] -= 1  # the check has made its own copy
    return (rows**2).sum(1)


def brier_decomposition(probs: ArrayLike, labels: ArrayLike, bins: int = 15) -> BrierDecomposition:
    r"""The mean Brier score in five terms, summed over the classes.

    Each class has ``bins`` equal-mass bins of its own. For a class with probabilities :math:`q_i`, outcomes
    :math:`o_i`, and means over bins b of :math:`n_b` items,

    .. math:: \frac1n \sum_i (q_i - o_i)^2 =
        \underbrace{\sum_b \frac{n_b}{n} (\bar q_b - \bar o_b)^2}_\text{reliability}
        - \underbrace{\sum_b \frac{n_b}{n} (\bar o_b - \bar o)^2}_\text{resolution}
        + \underbrace{\bar o (1 - \bar o)}_\text{uncertainty}
        + \underbrace{\sum_b \frac{n_b}{n} \mathrm{Var}_b(q)}_\text{within variance}
        - \underbrace{2 \sum_b \frac{n_b}{n} \mathrm{Cov}_b(q, o)}_\text{within covariance}

    (Murphy 1973, with the terms within bins of Stephenson, Coelho & Jolliffe 2008, which make it exact.)

    >>> terms = brier_decomposition([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1], bins=2)
    >>> round(terms.brier, 6) == round(float(brier([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1]).mean()), 6)
    True
    """
    rows, classes = as_labelled(probs, labels)
    as_whole("bins", bins, least=1)
    terms = [
        _one_class(np.ascontiguousarray(column), (classes == k).astype(np.float64), bins)
        for k, column in enumerate(rows.T)
    ]
    return BrierDecomposition(*(float(term) for term in np.sum([astuple(t) for t in terms], axis=0)))


def brier_reliability(probs: ArrayLike, labels: ArrayLike) -> float:
    """The reliability term of :func:`brier_decomposition`.

    >>> brier_reliability([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    0.0
    """
    return brier_decomposition(probs, labels).reliability


def brier_resolution(probs: ArrayLike, labels: ArrayLike) -> float:
    """The resolution term of :func:`brier_decomposition`.

    >>> brier_resolution([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    0.5
    """
    return brier_decomposition(probs, labels).resolution


def brier_uncertainty(probs: ArrayLike, labels: ArrayLike) -> float:
    """The uncertainty term of :func:`brier_decomposition`: a property of the labels.

    >>> brier_uncertainty([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    0.5
    """
    return brier_decomposition(probs, labels).uncertainty


def _one_class(probs: PerItem, outcomes: PerItem, bins: int) -> BrierDecomposition:
    bin = equal_mass(probs, bins)
    items = np.bincount(bin)
    weight = items / len(probs)
    said, seen, rate = np.bincount(bin, probs) / items, np.bincount(bin, outcomes) / items, outcomes.mean()
    off_said, off_seen = probs - said[bin], outcomes - seen[bin]
    return BrierDecomposition(
        reliability=float(weight @ (said - seen) ** 2),
        resolution=float(weight @ (seen - rate) ** 2),
        uncertainty=float(rate * (1 - rate)),
        within_variance=float((off_said**2).mean()),
        within_covariance=2 * float((off_said * off_seen).mean()),
    )
