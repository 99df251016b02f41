"""What the top class is worth: accuracy, and accuracy for those who may abstain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_labelled


def confidence_and_hits(probs: ArrayLike, labels: ArrayLike) -> tuple[PerItem, PerItem]:
    """The probability of each item's top class, and 1 where that class is the label, else 0.

    Of equally probable classes the first is the top one.
    """
    rows, classes = as_labelled(probs, labels)
    top = rows.argmax(1)
    confidence = np.minimum(rows[np.arange(len(rows)), top], 1.0)  # a row may sum to a little more than 1
    return confidence, (top == classes).astype(np.float64)


def accuracy(probs: ArrayLike, labels: ArrayLike) -> float:
    """The share of items whose top class is the label.

    >>> accuracy([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]], [0, 1, 1, 0])
    0.75
    """
    return float(confidence_and_hits(probs, labels)[1].mean())


@dataclass(frozen=True)
class RiskCoverage:
    """Risk against coverage: the error rate among the most confident items."""

    coverage: NDArray[np.float64]  # (items,), 1/n to 1
    risk: NDArray[np.float64]  # (items,), the error rate of the most confident share
    area: float  # under the curve, the mean risk over all coverages


def risk_coverage(probs: ArrayLike, labels: ArrayLike) -> RiskCoverage:
    r"""Selective prediction: answer the most confident items only, and see how often the answer is wrong.

    .. math:: \mathrm{risk}(k / n) = \frac1k \sum_{i \le k} [\hat y_i \ne y_i], \qquad
              \mathrm{area} = \frac1n \sum_k \mathrm{risk}(k / n)

    with the items in falling order of confidence (Geifman, Uziel & El-Yaniv, ICLR 2019). Equally confident items are
    taken in a random order, of which this is the expectation, so the order of the items does not matter.

    >>> curve = risk_coverage([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1])
    >>> curve.risk.round(4), round(curve.area, 4)
    (array([0.    , 0.5   , 0.3333]), 0.2778)
    """
    confidence, hits = confidence_and_hits(probs, labels)
    _, place, size = np.unique(-confidence, return_inverse=True, return_counts=True)
    wrong_of_tie = np.bincount(place, 1 - hits) / size
    taken = np.arange(1, len(hits) + 1)
    risk = np.cumsum(np.repeat(wrong_of_tie, size)) / taken
    return RiskCoverage(coverage=taken / len(hits), risk=risk, area=float(risk.mean()))


def aurc(probs: ArrayLike, labels: ArrayLike) -> float:
    """The area under the risk-coverage curve, see :func:`risk_coverage`.

    >>> round(aurc([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1]), 4)
    0.2778
    """
    return risk_coverage(probs, labels).area
