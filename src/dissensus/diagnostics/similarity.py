r"""Do two models represent items alike? Linear CKA of their features, plain and debiased.

CKA is the cosine between two matrices of similarities between items, so it needs no agreement on what a feature is: it
stays the same when features are rotated or scaled. With few items and many features the plain one is high for features
that have nothing in common; the debiased one is near 0 there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import as_matrix, same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.shared_items import shared_items

Features = NDArray[np.float64]

LEAST_ITEMS = 4  # the debiased product of three items is 0 by construction
_NOTHING = 1e-12  # of a product that is at most 1: below this it is rounding


def linear_cka(x: ArrayLike, y: ArrayLike) -> float:
    r"""Linear CKA of features of the same items, (items, features) each; from 0 to 1.

    .. math:: \frac{\lVert X^\top Y \rVert_F^2}{\lVert X^\top X \rVert_F\, \lVert Y^\top Y \rVert_F}

    with centred columns (Kornblith et al., 2019). NaN where all items have the same features.

    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    >>> round(linear_cka(x, 7 * x @ rotation), 6)
    1.0
    """
    x, y = _centred_pair(x, y, least=2)
    return _cosine(_product(x, y), _product(x, x), _product(y, y))


def debiased_cka(x: ArrayLike, y: ArrayLike) -> float:
    r"""Linear CKA with the unbiased estimator of HSIC (Song et al., 2012; Nguyen et al., 2021); from -1 to 1.

    What an item has in common with itself is left out: with centred columns, :math:`n` items, and :math:`s`, :math:`t`
    the squared lengths of the rows of X and Y, all three products of :func:`linear_cka` become

    .. math:: \lVert X^\top Y \rVert_F^2 - \frac{n}{n - 2}\, s^\top t + \frac{\sum_i s_i \sum_i t_i}{(n - 1)(n - 2)}

    NaN where all items, or all but one, have the same features. At least four items.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(40, 500)), rng.normal(size=(40, 500))  # nothing in common
    >>> round(linear_cka(x, y), 2), bool(abs(debiased_cka(x, y)) < 0.05)
    (0.92, True)
    """
    x, y = _centred_pair(x, y, least=LEAST_ITEMS)
    return _cosine(_debiased_product(x, y), _debiased_product(x, x), _debiased_product(y, y))


@dataclass(frozen=True)
class Similarity:
    """The CKA of two models of a list, ``first`` and ``second``, on the items that both have, with standard errors."""

    first: int
    second: int
    items: int
    plain: float
    plain_se: float
    debiased: float
    debiased_se: float


def similarity_over_seeds(features: Sequence[ArrayLike], items: Sequence[ArrayLike]) -> list[Similarity]:
    r"""Both CKAs for every pair of models, each on the items that are in both lists of ids.

    :math:`\mathrm{CKA}(X_S, Y_S)` with the rows of the shared items S, since what either model was trained on says
    other things (Kornblith et al., 2019, compare seeds on one test set). ``items[m]`` are the ids of the rows of
    ``features[m]``: seeds with splits of their own share only some items.

    >>> x = np.random.default_rng(0).normal(size=(9, 2))
    >>> (pair,) = similarity_over_seeds([x[:7], -x[2:]], items=[range(7), range(2, 9)])
    >>> pair.first, pair.second, pair.items, round(pair.plain, 6)
    (0, 1, 5, 1.0)
    """
    same_length(features=features, items=items)
    pairs = []
    for first, second in combinations(range(len(features)), 2):
        here, there = shared_items(items[first], items[second])
        x, y = np.asarray(features[first])[here], np.asarray(features[second])[there]
        plain_se, debiased_se = cka_errors(x, y)
        pairs.append(Similarity(first, second, len(here), linear_cka(x, y), plain_se, debiased_cka(x, y), debiased_se))
    return pairs


def cka_errors(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    r"""The standard errors over items of :func:`linear_cka` and :func:`debiased_cka`, by the jackknife.

    With :math:`v_{-i}` the CKA without item i, :math:`\sqrt{\frac{n-1}{n} \sum_i (v_{-i} - \bar v)^2}` (Efron & Stein,
    1981). Leaving out an item changes a product of two matrices by one of rank one, so all :math:`v_{-i}` together cost
    about as much as one CKA. NaN where one of them is not defined.

    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> [round(error, 6) for error in cka_errors(x, 7 * x)]  # it is 1 whichever items there are
    [0.0, 0.0]
    """
    x, y = _centred_pair(x, y, least=2)
    plain = _jackknife(x, y, _without_each)
    return plain, _jackknife(x, y, _debiased_without_each) if len(x) > LEAST_ITEMS else float("nan")


def _jackknife(x: Features, y: Features, without_each: Callable[[Features, Features], Features]) -> float:
    both, first, second = without_each(x, y), without_each(x, x), without_each(y, y)
    if min(first.min(), second.min()) < _NOTHING:
        return float("nan")
    values = np.clip(both / np.sqrt(first * second), -1.0, 1.0)
    return float(np.sqrt((len(x) - 1) * values.var()))


def _without_each(x: Features, y: Features) -> Features:
    """The product without each item, the others centred again: that of X'Y less n / (n - 1) times x_i y_i'."""
    own, weight = (x**2).sum(1) * (y**2).sum(1), len(x) / (len(x) - 1)
    shared = _products(x, y)
    return shared.sum() - 2 * weight * shared + weight**2 * own


def _debiased_without_each(x: Features, y: Features) -> Features:
    """The debiased product without each item: from sums of the two (items, items) matrices without their diagonals."""
    left = len(x) - 1
    s, t = (x**2).sum(1), (y**2).sum(1)  # of centred items these are the sums of rows, sign turned
    shared = _products(x, y) - s * t
    rows = s @ t + x @ (x.T @ t) + y @ (y.T @ s) + shared - 3 * s * t
    whole = (s.sum() - 2 * s) * (t.sum() - 2 * t)
    return shared.sum() - 2 * shared - 2 / (left - 2) * rows + whole / ((left - 1) * (left - 2))


def _centred_pair(x: ArrayLike, y: ArrayLike, least: int) -> tuple[Features, Features]:
    pair = _centred("x", x), _centred("y", y)
    items = same_length(x=pair[0], y=pair[1])
    if items < least:
        raise InputError(f"CKA needs at least {least} items here, but x and y have {items}.")
    return pair


def _centred(name: str, value: ArrayLike) -> Features:
    """Columns of mean 0, all of it of length 1: no product overflows or vanishes. 0 where all items are equal."""
    features = as_matrix(name, value).astype(np.float64)
    if not features.size:
        raise InputError(f"{name} has the shape {features.shape}: there is nothing to compare.")
    if not np.isfinite(features).all():
        row = int(np.flatnonzero(~np.isfinite(features).all(1))[0])
        raise InputError(f"{name} must be finite, but the features of item {row} are not.")
    if (features == features[0]).all():
        return np.zeros_like(features)
    features -= features.mean(0)
    features /= np.abs(features).max()
    return features / np.linalg.norm(features)


def _product(x: Features, y: Features) -> float:
    """The squared Frobenius norm of X'Y, through whichever is smaller: features by features or items by items."""
    items, (a, b) = len(x), (x.shape[1], y.shape[1])
    if items * (a + b) < a * b:
        return float(np.sum((x @ x.T) * (y @ y.T)))
    return float(np.sum((x.T @ y) ** 2))


def _products(x: Features, y: Features) -> Features:
    """What each item adds to the squared Frobenius norm of X'Y."""
    items, (a, b) = len(x), (x.shape[1], y.shape[1])
    if items * (a + b) < a * b:
        return np.asarray(((x @ x.T) * (y @ y.T)).sum(1))
    return np.asarray(((x @ (x.T @ y)) * y).sum(1))


def _debiased_product(x: Features, y: Features) -> float:
    n = len(x)
    s, t = (x**2).sum(1), (y**2).sum(1)
    return _product(x, y) - n / (n - 2) * float(s @ t) + float(s.sum() * t.sum()) / ((n - 1) * (n - 2))


def _cosine(both: float, first: float, second: float) -> float:
    if min(first, second) < _NOTHING:
        return float("nan")
    return float(np.clip(both / np.sqrt(first * second), -1.0, 1.0))
