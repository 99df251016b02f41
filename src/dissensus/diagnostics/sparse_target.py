"""Does a hard delivery gain most where few votes misrepresent the annotators?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.correlation import Correlation, partial_spearman, spearman
from dissensus.metrics import entropy, js_distance, manhattan, most_disputed
from dissensus.metrics.calibration import equal_mass


@dataclass(frozen=True)
class Bins:
    """Items of about equal number, by rising distance; a column a bin."""

    distance: NDArray[np.float64]  # mean
    improvement: NDArray[np.float64]  # mean
    standard_error: NDArray[np.float64]  # of the improvement; NaN for one item
    items: NDArray[np.int64]


@dataclass(frozen=True)
class Relation:
    """How the improvement goes with one distance, over one set of items."""

    plain: Correlation
    given_entropy: Correlation  # among items on which annotators disagree alike
    bins: Bins


@dataclass(frozen=True)
class SparseTarget:
    """Both distances, on all items and on the tenth of them with most disagreement."""

    js: Relation
    l1: Relation
    js_disputed: Relation
    l1_disputed: Relation


def sparse_target(sparse: ArrayLike, full: ArrayLike, improvement: ArrayLike, bins: int = 10) -> SparseTarget:
    r"""Set the distance of each item's sparse target to its full one against what was gained on that item.

    ``sparse`` are the shares of the few votes a run was given, ``full`` those of all votes, both (items, classes);
    ``improvement`` is the soft NLL under soft labels less that under the hard delivery, (items,), so above 0 the hard
    delivery is better (figures 2, 5 and 6 of arXiv 2605.20642). Distances are the Jensen-Shannon distance and
    :math:`L_1 = \sum_k |s_{ik} - p_{ik}|`.

    Few votes miss most where annotators disagree most: the distance and the entropy of an item are nearly one thing
    (Spearman .96 for five votes on CIFAR-10H). So read the plain correlation beside ``given_entropy``, the one among
    items of like entropy.

    >>> chance = np.random.default_rng(0)
    >>> full = chance.dirichlet([1.0, 1.0, 1.0], size=2000)
    >>> sparse = np.array([chance.multinomial(5, p) for p in full]) / 5
    >>> from dissensus import metrics
    >>> follows_entropy = metrics.entropy(full) + 0.1 * chance.normal(size=2000)
    >>> found = sparse_target(sparse, full, follows_entropy)
    >>> bool(found.l1.plain.low > 0.1), bool(found.l1.given_entropy.low < 0 < found.l1.given_entropy.high)
    (True, True)
    """
    few, all_votes = np.asarray(sparse, np.float64), np.asarray(full, np.float64)
    gain = np.asarray(improvement, np.float64)
    if gain.ndim != 1:
        raise InputError(f"improvement must be one number an item, (items,), but its shape is {gain.shape}.")
    same_length(sparse=few, full=all_votes, improvement=gain)
    distances = js_distance(few, all_votes), manhattan(few, all_votes)
    disagreement, disputed = entropy(all_votes), most_disputed(all_votes)
    return SparseTarget(
        *(relation(distance, gain, disagreement, bins) for distance in distances),
        *(relation(distance[disputed], gain[disputed], disagreement[disputed], bins) for distance in distances),
    )


def relation(distance: ArrayLike, improvement: ArrayLike, disagreement: ArrayLike, bins: int = 10) -> Relation:
    r"""Spearman's :math:`\rho` of distance and improvement over the items, plain and partial given disagreement, and
    the mean improvement in ``bins`` of about equally many items.

    The bins are those of figures 2 and 5 of arXiv 2605.20642. Items at the same distance stay in one bin, so there may
    be fewer.

    >>> found = relation([0.1, 0.2, 0.3, 0.4], improvement=[0.0, 1.0, 2.0, 4.0], disagreement=[0, 1, 1, 0], bins=2)
    >>> found.plain.value, found.bins.improvement, found.bins.standard_error
    (1.0, array([0.5, 3. ]), array([0.5, 1. ]))
    """
    far, gain = np.asarray(distance, np.float64), np.asarray(improvement, np.float64)
    plain = spearman(far, gain)  # checks both
    which = equal_mass(far, bins)
    items = np.bincount(which)
    gained = np.bincount(which, gain) / items
    squares = np.bincount(which, (gain - gained[which]) ** 2)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a bin of one item
        standard_error = np.sqrt(squares / np.where(items > 1, items - 1, np.nan) / items)
    return Relation(
        plain,
        partial_spearman(far, gain, disagreement),
        Bins(np.bincount(which, far) / items, gained, standard_error, items),
    )
