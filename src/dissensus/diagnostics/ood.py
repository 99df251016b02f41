"""Does the model know what it was not made for? Scores of single items, and how well they tell two sets apart.

Of every score, higher means more like what the model was trained on. :func:`~dissensus.diagnostics.odin` needs the
model and has a file of its own; the others need logits or features, as any framework gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import PerItem, as_matrix
from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.metrics import entropy, softmax
from dissensus.metrics.checks import as_logits, as_whole

Accepted: TypeAlias = NDArray[np.int64]  # how many of a side score at least as much as each distinct score
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
    first: :math:`-\lVert f_i / |f_i| - g_{(k)} / |g_{(k)}| \rVert`. It is exact, by brute force, in blocks; the same on
    a GPU is :func:`~dissensus.diagnostics.neighbours.knn_on`.

    >>> knn([[2.0, 0.0], [0.0, 1.0]], bank=[[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]], k=2).round(4) + 0.0
    array([ 0.    , -1.4142])
    """
    f, g = _of_length_one("features", features), _of_length_one("bank", bank)
    refuse_bank(f.shape, g.shape, k)
    scores = np.empty(len(f))
    step = max(1, _BLOCK // len(g))
    for low in range(0, len(f), step):
        part = f[low : low + step]
        squares = (part**2).sum(1)[:, None] + (g**2).sum(1) - 2 * part @ g.T
        scores[low : low + step] = -np.sqrt(np.maximum(np.partition(squares, k - 1, axis=1)[:, k - 1], 0))
    return scores


def refuse_bank(features: tuple[int, ...], bank: tuple[int, ...], k: int) -> None:
    """An error unless items of a bank of this shape can be neighbours of items of that shape."""
    if features[1] != bank[1]:
        raise InputError(f"features have {features[1]} columns, but those of the bank have {bank[1]}.")
    if not 1 <= as_whole("k", k, least=0) <= bank[0]:
        raise InputError(f"k must lie in 1 to {bank[0]}, the items of the bank, but it is {k!r}.")


def not_finite(name: str, row: int) -> InputError:
    return InputError(f"{name} must be finite, but row {row} is not.")


@dataclass(frozen=True)
class Separation:
    """How well a score tells items inside from items outside, each measure with its standard error over items."""

    auroc: float
    auroc_se: float
    aupr: float
    aupr_se: float
    fpr_at_95: float
    fpr_at_95_se: float
    inside: int
    outside: int


def separation(inside: ArrayLike, outside: ArrayLike, *, draws: int = 200, seed: int = 0) -> Separation:
    r"""All three measures for the scores of two sets of items.

    With the standard error of :func:`auroc_error`. Those of the other two are the spread
    :math:`\sqrt{\sum_b (v_b - \bar v)^2 / (B - 1)}` over B = ``draws`` times as many items, drawn with replacement from
    either side (the bootstrap; Efron, 1979). NaN for a single item, which says nothing of the spread.

    >>> found = separation(inside=[1] * 9, outside=[0, 1] * 50)  # half of 100 are let in: sqrt(.5 * .5 / 100)
    >>> found.auroc, found.fpr_at_95, round(found.fpr_at_95_se, 2)
    (0.75, 0.5, 0.05)
    """
    again = np.array(list(_drawn_again(inside, outside, as_whole("draws", draws, least=2), seed)))
    errors = again.std(0, ddof=1) if min(np.size(inside), np.size(outside)) > 1 else (np.nan, np.nan)
    return Separation(
        auroc=auroc(inside, outside),
        auroc_se=auroc_error(inside, outside),
        aupr=aupr(inside, outside),
        aupr_se=float(errors[0]),
        fpr_at_95=fpr_at_95(inside, outside),
        fpr_at_95_se=float(errors[1]),
        inside=np.size(inside),
        outside=np.size(outside),
    )


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""The chance that an inside item scores higher than an outside one, ties counting half:
    :math:`P(s_i > s_j) + \tfrac12 P(s_i = s_j)`, the area under the ROC curve (Hanley & McNeil, 1982).

    >>> auroc([2, 3], [1, 2])
    0.875
    """
    above, _ = _placed(inside, outside)
    return float(above.mean())


def auroc_error(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""The standard error over items of :func:`auroc` (DeLong, DeLong & Clarke-Pearson, Biometrics 44, 1988).

    With :math:`v_i` the share of outside items below inside item :math:`i` and :math:`w_j` that of inside items above
    outside item :math:`j`, :math:`\sqrt{\mathrm{var}(v) / m + \mathrm{var}(w) / n}`. NaN for a single item.

    >>> error = auroc_error([3, 2, 1], [0, 2, 0])  # 1, 5/6, 2/3 of those outside are lower; 1, 1/2, 1 inside are higher
    >>> round(error**2, 4)  # (1/36 + 1/12) / 3
    0.037
    """
    parts = _placed(inside, outside)
    return float(np.sqrt(sum(np.var(part, ddof=1) / len(part) if len(part) > 1 else np.nan for part in parts)))


def aupr(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""Average precision :math:`\sum_t (R_t - R_{t-1}) P_t` over the distinct scores, inside items being the positives.

    With recall R and precision P; not interpolated, which would be too high (Davis & Goadrich, 2006). Items with equal
    scores come in together, so their order cannot matter. Unlike AUROC it depends on how many items there are on either
    side.

    >>> round(aupr([2, 3], [1, 2]), 4)  # 3 first: all right; then a tie of one each
    0.8333
    """
    return _average_precision(*_accepted(inside, outside))


def fpr_at_95(inside: ArrayLike, outside: ArrayLike) -> float:
    r"""The share of outside items that are let in by the highest threshold that lets 95 % of the inside items in:
    :math:`P(s_j \ge t)` with :math:`t = \max \{t : P(s_i \ge t) \ge .95\}` (Liang et al., 2018).

    >>> fpr_at_95(inside=range(100), outside=[3, 4, 5, 6])  # 5 and above come in
    0.5
    """
    return _let_in(*_accepted(inside, outside))


def _average_precision(hits: Accepted, alarms: Accepted) -> float:
    gained = np.diff(hits, prepend=0) / hits[-1]
    return float(gained @ (hits / np.maximum(hits + alarms, 1)))


def _let_in(hits: Accepted, alarms: Accepted) -> float:
    enough = (100 * hits >= 95 * hits[-1]).argmax()  # in whole numbers: 0.95 * 20 is no 19 in every arithmetic
    return float(alarms[enough] / alarms[-1])


def _drawn_again(inside: ArrayLike, outside: ArrayLike, draws: int, seed: int) -> Iterator[tuple[float, float]]:
    """AUPR and the false positives of items drawn with replacement, each side from itself."""
    scores = _scores("inside", inside), _scores("outside", outside)
    distinct, places = np.unique(np.concatenate(scores), return_inverse=True)
    sides = np.split(len(distinct) - 1 - places, [len(scores[0])])  # from the highest down
    for draw in range(draws):
        chance = stream(seed, "separation", draw)
        drawn = [side[chance.integers(len(side), size=len(side))] for side in sides]
        hits, alarms = (np.bincount(side, minlength=len(distinct)).cumsum() for side in drawn)
        yield _average_precision(hits, alarms), _let_in(hits, alarms)


def _placed(inside: ArrayLike, outside: ArrayLike) -> tuple[PerItem, PerItem]:
    """For every inside item the share of outside items below it, for every outside item that of inside items above."""
    a, b = _scores("inside", inside), _scores("outside", outside)
    sorted_a, sorted_b = np.sort(a), np.sort(b)
    above = (np.searchsorted(sorted_b, a, "left") + np.searchsorted(sorted_b, a, "right")) / (2 * len(b))
    below = 1 - (np.searchsorted(sorted_a, b, "left") + np.searchsorted(sorted_a, b, "right")) / (2 * len(a))
    return above, below


def _accepted(inside: ArrayLike, outside: ArrayLike) -> tuple[Accepted, Accepted]:
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
        raise not_finite(name, int((~np.isfinite(rows)).any(1).argmax()))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
