"""One temperature for a set of logits, fitted to human distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dissensus.metrics.checks import as_logits, as_rows, same_shape
from dissensus.metrics.logits import softmax

LEAST, MOST = 0.01, 100.0  # cosine similarities, the smallest logits in use, need about 0.01


def fit_temperature(logits: ArrayLike, target: ArrayLike) -> float:
    r"""The temperature that minimises the mean soft cross-entropy of ``logits`` against ``target``.

    The loss is convex in :math:`\beta = 1/T`, with the slope :math:`E_q[z] - E_p[z]` averaged over the items: at the
    optimum, the model's mean logit is the one that the annotators choose. The slope falls in T, so its only root is
    found by bracketing in :math:`\log T`, from no starting point and with no randomness.

    The answer lies in 0.01 to 100. A bound is returned where the optimum lies beyond it: 0.01 if every target is
    exactly the top class, 100 if the logits say less than nothing about the target. Logits that are constant within
    every row fit all temperatures alike and give 1.

    >>> z = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 4.0]])
    >>> round(fit_temperature(z, softmax(z, temperature=2.5)), 6)
    2.5
    """
    from scipy.optimize import brentq

    scores, wanted = same_shape(logits=as_logits("logits", logits), target=as_rows("target", target))
    scores = scores - scores.max(1, keepdims=True)
    if not scores.any():
        return 1.0
    chosen = float((wanted * scores).sum() / wanted.sum())

    def slope(log_temperature: float) -> float:
        probs = softmax(scores, float(np.exp(log_temperature)))
        return float((probs * scores).sum(1).mean()) - chosen

    low, high = float(np.log(LEAST)), float(np.log(MOST))
    if slope(low) <= 0:
        return LEAST
    if slope(high) >= 0:
        return MOST
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)))
