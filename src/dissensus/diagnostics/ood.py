"""Does the model know what it was not made for? Scores of single items, and how well they tell two sets apart.

Of every score, higher means more like what the model was trained on. :func:`~dissensus.diagnostics.odin` needs the
model and has a file of its own; the others need logits or features, as any framework gives them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem, as_matrix
from dissensus.base.errors import InputError
from dissensus.metrics import entropy, softmax
from dissensus.metrics.checks import as_logits, as_whole

_BLOCK = 1 << 22  # distances at once: 32 MB


def energy(logits: ArrayLike, temperature: float = 1.0) -> PerItem:
    r"""Negative free energy :math:`T \log \sum_k e^{z_{ik} / T}` (Liu et al., "Energy-based out-of-distribution
    detection", NeurIPS 2020).

    >>> energy([[0.0, 0.0], [1000.0, 0.0]]).round(4)
    array([6.931e-01, 1.000e+03])
    """
    from scipy.special import logsumexp

    if not 0 < temperature < np.inf:
        raise InputError(f"temperature must be a positive number, but it is {temperature!r}.")
    return temperature * logsumexp(as_logits("logits", logits) / temperature, axis=1)


def msp(logits: ArrayLike) -> PerItem:
    r"""Maximum softmax probability :math:`\max_k q_{ik}` (Hendrycks & Gimpel, ICLR 2017).

    >>> msp([[0.0, 0.0], [3.0, 0.0]]).round(4)
    array([0.5   , 0.9526])
    """
    return softmax(logits).max(1)


def entropy_score(logits: ArrayLike) -> PerItem:
    r"""Entropy of the prediction with its sign turned, :math:`\sum_k q_{ik} \log q_{ik}` (Lakshminarayanan et al.,
    NeurIPS 2017).

    >>> entropy_score([[0.0, 0.0], [30.0, 0.0]]).round(4) + 0.0
    array([-0.6931,  0.    ])
    """
    return -entropy(softmax(logits))


def margin(logits: ArrayLike) -> PerItem:
    r"""The largest logit less the second one, :math:`z_{i(1)} - z_{i(2)}` (table 7 of arXiv 2605.20642).

    >>> margin([[0.0, 5.0, 3.0]])
    array([2.])
    """
    z = as_logits("logits", logits)
    if z.shape[1] < 2:
        raise InputError("logits must have at least two classes for a margin, but have one.")
    second, first = np.partition(z, -2, axis=1)[:, -2:].T
    return first - second


def knn(features: ArrayLike, bank: ArrayLike, k: int = 50) -> PerItem:
    r"""Negative distance to the ``k``-th nearest item of the ``bank`` (Sun et al., "Out-of-distribution detection with
    deep nearest neighbors", ICML 2022).

    Both are what enters the last layer, (items, features) and (training items, features), and are brought to length 1
    first: :math:`-\lVert f_i / |f_i| - g_{(k)} / |g_{(k)}| \rVert`. It is exact, by brute force, in blocks.

    >>> knn([[2.0, 0.0], [0.0, 1.0]], bank=[[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]], k=2).round(4) + 0.0
    array([ 0.    , -1.4142])
    """
    f, g = _of_length_one("features", features), _of_length_one("bank", bank)
    if f.shape[1] != g.shape[1]:
        raise InputError(f"features have {f.shape[1]} columns, but those of the bank have {g.shape[1]}.")
    if not 1 <= as_whole("k", k, least=0) <= len(g):
        raise InputError(f"k must lie in 1 to {len(g)}, the items of the bank, but it is {k!r}.")
    scores = np.empty(len(f))
    step = max(1, _BLOCK // len(g))
    for low in range(0, len(f), step):
        part = f[low : low + step]
        squares = (part**2).sum(1)[:, None] + (g**2).sum(1) - 2 * part @ g.T
        scores[low : low + step] = -np.sqrt(np.maximum(np.partition(squares, k - 1, axis=1)[:, k - 1], 0))
    return scores


@dataclass(frozen=True)
class Separation:
    """How well a score tells items inside from items outside. ``auroc_se`` is the standard error over items."""

    auroc: float
    auroc_se: float
    aupr: float
    fpr_at_95: float
    inside: int
    outside: int


def separation(inside: ArrayLike, outside: ArrayLike) -> Separation:
    r"""All three measures for the scores of two sets of items.

    The standard error of AUROC is that of DeLong, DeLong & Clarke-Pearson (Biometrics 44, 1988): with :math:`v_i` the
    share of outside items below inside item :math:`i` and :math:`w_j` that of inside items above outside item
    :math:`j`, :math:`\sqrt{\mathrm{var}(v) / m + \mathrm{var}(w) / n}`.

    >>> found = separation([0.9, 0.8, 0.7], [0.1, 0.8, 0.3])  # 1, 5/6, 2/3 of those outside are lower; 1, 1/2, 1 higher
    >>> round(found.auroc, 4), round(found.auroc_se**2, 4)  # (1/36 + 1/12) / 3
    (0.8333, 0.037)
    """
    above, below = _placed(inside, outside)
    error = np.sqrt(sum(np.var(part, ddof=1) / len(part) if len(part) > 1 else np.nan for part in (above, below)))
    return Separation(
        auroc(inside, outside),
        float(error),
        aupr(inside, outside),
        fpr_at_95(inside, outside),
        len(above),
        len(below),
    )


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""The chance that an inside item scores higher than an outside one, ties counting half:
    :math:`P(s_i > s_j) + \tfrac12 P(s_i = s_j)`, the area under the ROC curve (Hanley & McNeil, 1982).

    >>> auroc([2, 3], [1, 2])
    0.875
    """
    above, _ = _placed(inside, outside)
    return float(above.mean())


def aupr(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""Average precision :math:`\sum_t (R_t - R_{t-1}) P_t` over the distinct scores, inside items being the positives.

    With recall R and precision P; not interpolated, which would be too high (Davis & Goadrich, 2006). Items with equal
    scores come in together, so their order cannot matter. Unlike AUROC it depends on how many items there are on either
    side.

    >>> round(aupr([2, 3], [1, 2]), 4)  # 3 first: all right; then a tie of one each
    0.8333
    """
    hits, alarms = _accepted(inside, outside)
    gained = np.diff(hits, prepend=0) / hits[-1]
    return float(gained @ (hits / (hits + alarms)))


def fpr_at_95(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""The share of outside items that are let in by the highest threshold that lets 95 % of the inside items in:
    :math:`P(s_j \ge t)` with :math:`t = \max \{t : P(s_i \ge t) \ge .95\}` (Liang et al., 2018).

    >>> fpr_at_95(inside=range(100), outside=[3, 4, 5, 6])  # 5 and above come in
    0.5
    """
    hits, alarms = _accepted(inside, outside)
    enough = (100 * hits >= 95 * hits[-1]).argmax()  # in whole numbers: 0.95 * 20 is no 19 in every arithmetic
    return float(alarms[enough] / alarms[-1])


def _placed(inside: ArrayLike, outside: ArrayLike) -> tuple[PerItem, PerItem]:
    """For every inside item the share of outside items below it, for every outside item that of inside items above."""
    a, b = _scores("inside", inside), _scores("outside", outside)
    sorted_a, sorted_b = np.sort(a), np.sort(b)
    above = (np.searchsorted(sorted_b, a, "left") + np.searchsorted(sorted_b, a, "right")) / (2 * len(b))
    below = 1 - (np.searchsorted(sorted_a, b, "left") + np.searchsorted(sorted_a, b, "right")) / (2 * len(a))
    return above, below


def _accepted(inside: ArrayLike, outside: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many of each side score at least as much as each distinct score, from the highest down."""
    a, b = _scores("inside", inside), _scores("outside", outside)
    thresholds = np.unique(np.concatenate([a, b]))[::-1]
    hits, alarms = (len(s) - np.searchsorted(np.sort(s), thresholds, "left") for s in (a, b))
    return hits, alarms


def _scores(name: str, value: ArrayLike) -> PerItem:
    scores = np.asarray(value, np.float64)
    if scores.ndim != 1 or not len(scores):
        raise InputError(f"{name} must be one score an item, at least one, but its shape is {scores.shape}.")
    if np.isnan(scores).any():
        raise InputError(f"{name} must be numbers, but the score of item {int(np.isnan(scores).argmax())} is NaN.")
    return scores


def _of_length_one(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Rows over their lengths; one that is 0 throughout, as after a ReLU, stays so."""
    rows = as_matrix(name, value).astype(np.float64)
    if not np.isfinite(rows).all():
        raise InputError(f"{name} must be finite, but row {int((~np.isfinite(rows)).any(1).argmax())} is not.")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
