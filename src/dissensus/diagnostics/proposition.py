"""Does Proposition 1 of arXiv 2605.20642 hold for the predictions of a model? To rounding, it must."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dissensus.metrics import soft_nll
from dissensus.metrics.checks import as_pair


def proposition_deviation(probs: ArrayLike, human: ArrayLike) -> float:
    r"""How far its identities are off, at most, over all items; labels :math:`y \sim p` are summed over, not drawn.

    .. math:: \mathbb{E}[-\log q_y] = H(p, q), \quad \mathbb{E}\,g = q - p, \quad
              \mathrm{Cov}\,g = \mathrm{diag}(p) - pp^\top, \quad
              \mathbb{E}\lVert q - e_y \rVert^2 = \lVert q - p \rVert^2 + 1 - \lVert p \rVert^2

    with the gradient in the logits :math:`g = q - e_y` (Proposition 1 of arXiv 2605.20642). NaN where a class that
    somebody chose has probability 0, since then the first is :math:`\infty = \infty`.

    >>> proposition_deviation([[0.7, 0.2, 0.1]], [[0.5, 0.5, 0.0]]) < 1e-15
    True
    """
    q, p = as_pair(probs, human)
    p = p / p.sum(1, keepdims=True)
    if (q[p > 0] == 0).any():
        return float("nan")
    gradient = q[:, None, :] - np.eye(q.shape[1])  # (items, labels, classes)
    mean = np.einsum("iy,iyk->ik", p, gradient)
    spread = gradient - mean[:, None, :]
    covariance = np.einsum("iy,iyk,iyl->ikl", p, spread, spread, optimize=True)
    surprise = np.where(p > 0, -np.log(np.where(p > 0, q, 1.0)), 0.0)
    pairs = (
        ((p * surprise).sum(1), soft_nll(q, p)),
        (mean, q - p),
        (covariance, p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]),
        ((p * (gradient**2).sum(2)).sum(1), ((q - p) ** 2).sum(1) + 1 - (p**2).sum(1)),
    )
    return float(max(np.abs(enumerated - formula).max() for enumerated, formula in pairs))
