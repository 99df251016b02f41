r"""How far annotators agree: item by item, and beyond chance.

With :math:`n_{ic}` votes for class :math:`c` among the :math:`n_i` votes of item :math:`i`. Votes that may name several
classes have no one distribution over classes and are refused.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import PerItem
from dissensus.base.errors import InputError, unknown
from dissensus.votes.table import Votes


def entropy(votes: Votes) -> PerItem:
    r"""Entropy of the annotator distribution, :math:`-\sum_c p_{ic} \log p_{ic}`, per item in nats.

    >>> entropy(Votes.from_counts([[4, 0], [2, 2]])).round(3)
    array([0.   , 0.693])
    """
    _refuse_multilabel("entropy", votes)
    human = votes.frequencies()
    return -np.sum(human * np.log(human, out=np.zeros_like(human), where=human > 0), axis=1) + 0.0  # no -0


def observed_agreement(votes: Votes) -> PerItem:
    r"""Share of the pairs of votes on an item that agree, :math:`\sum_c n_{ic}(n_{ic}-1) / n_i(n_i-1)`, per item.

    >>> observed_agreement(Votes.from_counts([[4, 0], [2, 2]])).round(3)
    array([1.   , 0.333])
    """
    _refuse_multilabel("observed agreement", votes)
    n = votes.votes_per_item
    lonely = np.flatnonzero(n < 2)
    if lonely.size:
        raise InputError(
            f"agreement needs two votes an item, but item {votes.items[lonely[0]].item()!r} has {n[lonely[0]]} "
            f"({lonely.size} of {votes.n_items} items have fewer than two). "
            "Leave such items out with votes.take(votes.votes_per_item > 1)."
        )
    counts = votes.counts()
    return (counts * (counts - 1)).sum(1) / (n * (n - 1))


def krippendorff_alpha(votes: Votes, level: Literal["nominal", "ordinal"] = "nominal") -> float:
    r"""Krippendorff's alpha, :math:`1 - D_o / D_e`: 1 for full agreement, 0 for what chance would give.

    Disagreement :math:`D` is the mean of :math:`\delta^2_{ck}` over pairs of votes, on one item (:math:`D_o`) and on
    any (:math:`D_e`). ``nominal``: 1 if the classes differ. ``ordinal``, for ordered classes: the square of the number
    of votes between them, :math:`(\sum_{g=c}^{k} n_g - (n_c + n_k) / 2)^2`. Items with one vote say nothing of
    agreement and do not count. NaN if all votes name one class: chance alone would then agree as well. Krippendorff,
    *Content Analysis* (2018), chapter 12.

    >>> round(krippendorff_alpha(Votes.from_counts([[4, 0], [0, 4], [3, 1]])), 3)
    0.686
    """
    _refuse_multilabel("Krippendorff's alpha", votes)
    if level not in ("nominal", "ordinal"):
        raise InputError(unknown("level", level, ["nominal", "ordinal"]))
    if level == "ordinal" and not votes.ordered:
        raise InputError('level="ordinal" needs ordered classes; say ordered=True where the votes are read.')
    counts = votes.counts()[votes.votes_per_item > 1].astype(np.float64)
    if not len(counts):
        raise InputError("agreement needs an item with two votes or more, but there is none.")
    n, total = counts.sum(1), counts.sum(0)
    # pairs of a vote with itself have distance 0 and need not be taken out
    if level == "ordinal":
        distance = _ordinal(total)
        observed = (((counts / (n - 1)[:, None]).T @ counts) * distance).sum()
        expected = (np.outer(total, total) * distance).sum()
    else:  # all pairs less those of one class: no (classes, classes) table, which took 40 s with 5,000 of them
        observed = ((n**2 - (counts**2).sum(1)) / (n - 1)).sum()
        expected = n.sum() ** 2 - (total**2).sum()
    expected /= total.sum() - 1
    return float(1 - observed / expected) if expected > 0 else float("nan")


def _ordinal(total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between classes in votes: half of each end, and all that lies between."""
    middle = np.cumsum(total) - total / 2
    return (middle[:, None] - middle) ** 2


def _refuse_multilabel(what: str, votes: Votes) -> None:
    if votes.multilabel:
        raise InputError(f"{what} needs votes for one class each, but these may name several; see votes.frequencies().")
