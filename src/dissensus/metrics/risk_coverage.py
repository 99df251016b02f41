"""Accuracy for those who may abstain: how wrong the answers are that a model is surest of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_pair
from dissensus.metrics.decisions import confidence_and_hits


@dataclass(frozen=True)
class RiskCoverage:
    """Risk against coverage: how wrong the answers to the most confident items are."""

    coverage: NDArray[np.float64]  # (items,), 1/n to 1
    risk: NDArray[np.float64]  # (items,), the mean loss of the most confident share
    area: float  # under the curve, the mean risk over all coverages

    def at(self, coverage: float) -> float:
        """The risk of those who answer this share of the items: the least number that reaches it.

        >>> risk_coverage([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1]).at(0.5)
        0.5
        """
        return float(self.risk[max(0, int(np.ceil(coverage * len(self.risk) - 1e-9)) - 1)])


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
    return _curve(confidence, 1 - hits)


def soft_risk_coverage(probs: ArrayLike, human: ArrayLike) -> RiskCoverage:
    r"""The same where people disagree: how often a person, asked at random, would contradict the answer.

    The loss of an item is :math:`1 - p_{i \hat y_i}`, the share of annotators who do not say what the model says.

    >>> soft_risk_coverage([[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]).risk.round(4)
    array([0.2 , 0.35])
    """
    rows, people = as_pair(probs, human)
    confidence, _ = confidence_and_hits(rows, rows.argmax(1))
    return _curve(confidence, 1 - people[np.arange(len(rows)), rows.argmax(1)])


def aurc(probs: ArrayLike, labels: ArrayLike) -> float:
    """The area under the risk-coverage curve, see :func:`risk_coverage`.

    >>> round(aurc([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1]), 4)
    0.2778
    """
    return risk_coverage(probs, labels).area


def excess_aurc(probs: ArrayLike, labels: ArrayLike) -> float:
    """The area beyond that of a model that is wrong as often, and surest where it is right: the order alone.

    >>> round(excess_aurc([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1]), 4)
    0.1667
    >>> excess_aurc([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 0, 0])
    0.0
    """
    confidence, hits = confidence_and_hits(probs, labels)
    return _curve(confidence, 1 - hits).area - _curve(hits, 1 - hits).area


def soft_aurc(probs: ArrayLike, human: ArrayLike) -> float:
    """The area under the curve of :func:`soft_risk_coverage`.

    >>> round(soft_aurc([[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]), 4)
    0.275
    """
    return soft_risk_coverage(probs, human).area


def _curve(confidence: PerItem, loss: PerItem) -> RiskCoverage:
    _, place, size = np.unique(-confidence, return_inverse=True, return_counts=True)
    loss_of_tie = np.bincount(place, loss) / size
    taken = np.arange(1, len(loss) + 1)
    risk = np.cumsum(np.repeat(loss_of_tie, size)) / taken
    return RiskCoverage(coverage=taken / len(loss), risk=risk, area=float(risk.mean()))
