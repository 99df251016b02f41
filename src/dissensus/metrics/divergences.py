"""Distances in nats: how surprised a prediction is by the annotators, item by item."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_pair


def soft_nll(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Soft negative log-likelihood, the cross-entropy :math:`-\sum_k p_{ik} \log q_{ik}`, in nats.

    Infinite where a class that a human voted for was given a probability of exactly 0: that is what was predicted. A
    class that nobody voted for costs nothing, whatever its probability. Predictions made by
    :func:`~dissensus.metrics.softmax` are never exactly 0; those of a framework in float32 can be.

    >>> soft_nll([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.9, 0.1]]).round(4)
    array([0.6931,    inf])
    """
    from scipy.special import xlogy

    q, p = as_pair(probs, human)
    return -xlogy(p, q).sum(1) + 0.0  # no negative zero


def kl(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Kullback-Leibler divergence :math:`\mathrm{KL}(p_i \| q_i) = \sum_k p_{ik} \log (p_{ik} / q_{ik})`, in nats.

    From the annotators to the prediction: soft NLL less the entropy of the annotators. Infinite where soft NLL is.
    Rounding below 0 is cut off.

    >>> kl([[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]).round(4)
    array([0.6931, 0.    ])
    """
    from scipy.special import rel_entr

    q, p = as_pair(probs, human)
    return np.maximum(rel_entr(p, q).sum(1), 0.0)


def js_distance(probs: ArrayLike, human: ArrayLike) -> PerItem:
    r"""Jensen-Shannon distance, the root of the divergence in nats, in 0 to :math:`\sqrt{\log 2} \approx .833`.

    .. math:: \sqrt{\tfrac12 \mathrm{KL}(p_i \| m_i) + \tfrac12 \mathrm{KL}(q_i \| m_i)}, \qquad m_i = (p_i + q_i) / 2

    A metric in the strict sense, always finite. Tables on ChaosNLI call this number "JSD".

    >>> js_distance([[1.0, 0.0], [0.3, 0.7]], [[0.0, 1.0], [0.3, 0.7]]).round(4)
    array([0.8326, 0.    ])
    """
    from scipy.special import rel_entr

    q, p = as_pair(probs, human)
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle).sum(1) + rel_entr(q, middle).sum(1)) / 2
    return np.sqrt(np.maximum(divergence, 0.0))
