"""Binned calibration: is the top class right as often as its probability says?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_whole
from dissensus.metrics.decisions import confidence_and_hits


@dataclass(frozen=True)
class Reliability:
    """A binned reliability curve; bins in rising order of confidence, none of them empty."""

    confidence: NDArray[np.float64]  # (bins,), mean probability of the top class
    accuracy: NDArray[np.float64]  # (bins,), how often it was right
    items: NDArray[np.int64]  # (bins,), how many

    @property
    def gap(self) -> NDArray[np.float64]:
        """Accuracy less confidence: below 0 is overconfidence."""
        return self.accuracy - self.confidence

    @property
    def weight(self) -> NDArray[np.float64]:
        """The share of the items in each bin."""
        return self.items / self.items.sum()


def equal_mass(values: PerItem, bins: int) -> NDArray[np.int64]:
    """The bin of each value: ``bins`` runs of the sorted values, equally many in each, the first ones one more.

    Equal values share a bin: a run that would start among equals starts at the nearer end of them. So there may be
    fewer bins, and the order of the items does not matter.

    >>> equal_mass(np.array([0.3, 0.1, 0.2, 0.9, 0.9]), bins=3)
    array([1, 0, 0, 2, 2])
    """
    size, more = divmod(len(values), as_whole("bins", bins, least=1))
    run = np.arange(min(bins, len(values)))
    starts = run * size + np.minimum(run, more)
    ordered = np.sort(values)
    left, right = (np.searchsorted(ordered, ordered[starts], side) for side in ("left", "right"))
    starts = np.where(starts - left <= right - starts, left, right)
    edges = np.unique(ordered[starts[starts < len(values)]])
    return np.searchsorted(edges, values, side="right") - 1


def reliability(probs: ArrayLike, labels: ArrayLike, bins: int = 15) -> Reliability:
    """Accuracy against confidence in ``bins`` equal-mass bins.

    >>> curve = reliability([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1, 0], bins=2)
    >>> curve.confidence.round(4), curve.accuracy, curve.items
    (array([0.65, 0.85]), array([0.5, 0.5]), array([2, 2]))
    """
    confidence, hits = confidence_and_hits(probs, labels)
    bin = equal_mass(confidence, bins)
    items = np.bincount(bin)
    return Reliability(np.bincount(bin, confidence) / items, np.bincount(bin, hits) / items, items)


def ece(probs: ArrayLike, labels: ArrayLike, bins: int = 15) -> float:
    r"""Expected calibration error :math:`\sum_b \frac{n_b}{n} |\mathrm{acc}_b - \mathrm{conf}_b|` in equal-mass bins.

    Never 0 for a finite set, not even for a perfect model: see :func:`~dissensus.metrics.floor` for what such a model
    would score, and :func:`debiased_ece`.

    >>> round(ece([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1, 0], bins=2), 4)
    0.25
    """
    curve = reliability(probs, labels, bins)
    return float(curve.weight @ np.abs(curve.gap))


def debiased_ece(probs: ArrayLike, labels: ArrayLike, bins: int = 15) -> float:
    r"""ECE less its estimated bias, after Kumar, Liang & Ma ("Verified Uncertainty Calibration", NeurIPS 2019).

    The accuracy of a bin is taken as normal around its observed value, with :math:`\sigma_b^2 = \mathrm{acc}_b (1 -
    \mathrm{acc}_b) / n_b`. Drawing it anew would raise the gap :math:`g_b` to the mean of a folded normal, and that
    rise is taken off:

    .. math:: \sum_b \frac{n_b}{n} \left(2 |g_b| - E|N(g_b, \sigma_b^2)|\right), \qquad
              E|N(g, \sigma^2)| = \sigma \sqrt{2 / \pi}\, e^{-g^2 / 2 \sigma^2} + g\, \mathrm{erf}(g / \sigma \sqrt 2)

    in closed form, where the authors resample. It can fall below 0. For a perfectly calibrated model it takes off two
    fifths of the bias (the observed gap is itself a draw), so the floor is still needed beside it. A bin that is all
    right or all wrong shows no noise and is left as it is.

    >>> probs = [[0.6, 0.4]] * 10
    >>> labels = [0] * 7 + [1] * 3
    >>> round(ece(probs, labels), 4), round(debiased_ece(probs, labels), 4)
    (0.1, 0.0579)
    """
    from scipy.special import erf

    curve = reliability(probs, labels, bins)
    gap = np.abs(curve.gap)
    spread = np.sqrt(curve.accuracy * (1 - curve.accuracy) / curve.items)
    z = np.divide(gap, spread, out=np.full_like(gap, np.inf), where=spread > 0)
    redrawn = spread * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + gap * erf(z / np.sqrt(2))
    return float(curve.weight @ (2 * gap - redrawn))
