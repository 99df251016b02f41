"""Does the model disagree with itself where people disagree with each other?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.base.errors import InputError
from dissensus.metrics.checks import Matrix, as_pair, as_rows

DIGITS = 12  # of an entropy, when ranked: .8/.2 and .2/.8 are ties, though their sums differ in the last bit


def entropy(probs: ArrayLike) -> PerItem:
    r"""Entropy :math:`-\sum_k q_{ik} \log q_{ik}` of each row, in nats; of ``human``: the annotators' disagreement.

    >>> entropy([[1.0, 0.0], [0.5, 0.5]]).round(4)
    array([0.    , 0.6931])
    """
    return _entropy(as_rows("probs", probs))


def entropy_gap(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Entropy of the model less entropy of the annotators, :math:`H(q_i) - H(p_i)`: below 0 is false confidence.

    >>> entropy_gap([[1.0, 0.0]], [[0.5, 0.5]]).round(4)
    array([-0.6931])
    """
    q, p = as_pair(probs, human)
    return _entropy(q) - _entropy(p)


def entropy_correlation(probs: ArrayLike, human: ArrayLike) -> float:
    """Spearman correlation of the model's entropy with the annotators' over a set of items; ties share their mean rank.

    NaN where it is undefined: one item, or entropies that are all the same on either side (votes without any
    disagreement, a model that says the same of all items).

    >>> probs, human = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]], [[1.0, 0.0], [0.5, 0.5], [0.6, 0.4]]
    >>> round(entropy_correlation(probs, human), 4)
    1.0
    """
    q, p = as_pair(probs, human)
    return _pearson(_ranks(_entropy(q)), _ranks(_entropy(p)))


def entropy_correlation_pearson(probs: ArrayLike, human: ArrayLike) -> float:
    """Pearson correlation of the model's entropy with the annotators'; NaN where :func:`entropy_correlation` is.

    >>> probs, human = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]], [[1.0, 0.0], [0.5, 0.5], [0.6, 0.4]]
    >>> round(entropy_correlation_pearson(probs, human), 4)
    0.9898
    """
    q, p = as_pair(probs, human)
    return _pearson(_entropy(q).round(DIGITS), _entropy(p).round(DIGITS))


def most_disputed(human: ArrayLike, share: float = 0.1) -> NDArray[np.int64]:
    """The high-disagreement slice: the positions of the ``share`` of items with the highest annotator entropy.

    In rising order, at least one; among ties at the edge the earlier ones.

    >>> most_disputed([[1.0, 0.0], [0.5, 0.5], [0.9, 0.1], [0.6, 0.4]], share=0.5)
    array([1, 3])
    """
    if not 0 < share <= 1:
        raise InputError(f"share must lie above 0 and be at most 1, but it is {share!r}.")
    disagreement = _entropy(as_rows("human", human)).round(DIGITS)
    size = max(1, round(share * len(disagreement)))
    return np.sort(np.argsort(-disagreement, kind="stable")[:size])


def _entropy(rows: Matrix) -> PerItem:
    from scipy.special import entr

    return entr(rows).sum(1) + 0.0  # no negative zero


def _ranks(values: PerItem) -> PerItem:
    """Mean ranks of the rounded values."""
    _, place, size = np.unique(values.round(DIGITS), return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size - 1) / 2)[place]


def _pearson(a: PerItem, b: PerItem) -> float:
    if a.min() == a.max() or b.min() == b.max():
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))
