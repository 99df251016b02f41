r"""How much does the last layer's gradient vary when the label is drawn from what the annotators said?

For one item with human distribution :math:`p`, predicted :math:`q` and a label :math:`y \sim p`, the gradient of
:math:`-\log q_y` in the logits is :math:`q - e_y`, so its mean is the gradient of soft labels, :math:`q - p`, and its
covariance :math:`\mathrm{diag}(p) - pp^\top` does not depend on the model (Proposition 1 of arXiv 2605.20642). The last
layer turns features :math:`h` into logits :math:`Wh + b`; its gradient is the outer product of :math:`q - e_y` with
:math:`(h, 1)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import PerItem, as_matrix, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.base.streams import uniform
from dissensus.diagnostics.correlation import Correlation, partial_spearman, spearman
from dissensus.metrics import entropy
from dissensus.metrics.checks import as_pair, as_whole


def gradient_variance(features: ArrayLike, human: ArrayLike, *, bias: bool = True) -> PerItem:
    r"""The trace of the covariance of the last layer's gradient over labels drawn from ``human``, exactly.

    .. math:: (1 - \lVert p_i \rVert^2)\, (\lVert h_i \rVert^2 + 1)

    Without the 1 if the layer has no bias. 0 where all annotators agree. (From Proposition 1 of arXiv 2605.20642.)

    >>> gradient_variance(features=[[2.0, 1.0], [2.0, 1.0]], human=[[1.0, 0.0], [0.5, 0.5]])
    array([0., 3.])
    """
    p = as_simplex("human", human)
    return logit_variance(p) * _squared_length(features, len(p), bias)


def logit_variance(human: ArrayLike) -> PerItem:
    r"""The part of :func:`gradient_variance` that is the same for all models: :math:`1 - \lVert p_i \rVert^2`.

    It is the trace of :math:`\mathrm{diag}(p_i) - p_i p_i^\top` (Proposition 1 of arXiv 2605.20642).

    >>> logit_variance([[1.0, 0.0], [0.5, 0.5]])
    array([0. , 0.5])
    """
    p = as_simplex("human", human)
    p /= p.sum(1, keepdims=True)
    return (p * (1 - p)).sum(1)  # exactly 0 for one-hot rows, however many classes


def sampled_gradient_variance(
    features: ArrayLike, probs: ArrayLike, human: ArrayLike, *, bias: bool = True, draws: int = 200, seed: int = 0
) -> PerItem:
    r"""The same from gradients of drawn labels, :math:`g_s = (q - e_{y_s}) \otimes (h, 1)`, without the proposition.

    .. math:: \frac{1}{S - 1} \sum_s \lVert g_s - \bar g \rVert^2

    It is unbiased, with an error that falls as :math:`1 / \sqrt{S}`: a check of arXiv 2605.20642 that owes it nothing.

    >>> features, probs, human = [[2.0, 1.0]], [[0.7, 0.3]], [[0.5, 0.5]]
    >>> found = sampled_gradient_variance(features, probs, human, draws=2000)
    >>> bool(abs(found - gradient_variance(features, human)) < 0.05)
    True
    """
    q, p = as_pair(probs, human)
    as_whole("draws", draws, least=2)  # one has no variance
    length = _squared_length(features, len(p), bias)
    steps = p.cumsum(1)
    steps /= steps[:, -1:]  # after the last class that anybody chose it is exactly 1, so none beyond is ever drawn
    mean, squares = np.zeros_like(p), np.zeros(len(p))
    for draw in range(draws):  # Welford's update: the sum of squares never cancels
        u = uniform(seed, "gradient variance", draw, at=len(p))
        gradient = q.copy()
        gradient[np.arange(len(p)), (u[:, None] >= steps).sum(1)] -= 1
        off = gradient - mean
        mean += off / (draw + 1)
        squares += (off * (gradient - mean)).sum(1)
    return squares / (draws - 1) * length


@dataclass(frozen=True)
class GradientVariance:
    """The variance of every item, and how closely it follows the annotators' entropy.

    Much of that correlation holds whatever the model does: ``by_construction`` is the correlation of entropy with
    :func:`logit_variance`, and ``partial`` what is left of ``correlation`` among items alike in it.
    """

    exact: PerItem
    sampled: PerItem
    correlation: Correlation
    sampled_correlation: Correlation
    by_construction: Correlation
    partial: Correlation


def against_entropy(
    features: ArrayLike, probs: ArrayLike, human: ArrayLike, *, bias: bool = True, draws: int = 200, seed: int = 0
) -> GradientVariance:
    r"""The gradient variance, exact and by sampling, and its Spearman correlation with annotator entropy.

    :math:`\rho(v_i, H(p_i))` over items, with :math:`v_i` of :func:`gradient_variance` and
    :math:`H(p) = -\sum_k p_k \log p_k` (figure 7 of arXiv 2605.20642).

    >>> human = np.array([[1.0, 0.0], [0.9, 0.1], [0.7, 0.3], [0.5, 0.5]])
    >>> found = against_entropy(np.ones((4, 3)), human, human)
    >>> found.correlation.value, found.exact.round(2)
    (1.0, array([0.  , 0.72, 1.68, 2.  ]))
    """
    exact = gradient_variance(features, human, bias=bias)
    sampled = sampled_gradient_variance(features, probs, human, bias=bias, draws=draws, seed=seed)
    disagreement, given = entropy(human), logit_variance(human)
    return GradientVariance(
        exact=exact,
        sampled=sampled,
        correlation=spearman(exact, disagreement),
        sampled_correlation=spearman(sampled, disagreement),
        by_construction=spearman(given, disagreement),
        partial=partial_spearman(exact, disagreement, given),
    )


def _squared_length(features: ArrayLike, items: int, bias: bool) -> PerItem:
    h = as_matrix("features", features).astype(np.float64)
    same_length(features=h, human=range(items))
    if not np.isfinite(h).all():
        row = int(np.flatnonzero(~np.isfinite(h).all(1))[0])
        raise InputError(f"features must be finite, but those of item {row} are not.")
    return (h**2).sum(1) + bias
