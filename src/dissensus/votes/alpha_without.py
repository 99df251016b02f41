r"""Krippendorff's alpha without one annotator, for each of them.

Alpha is one minus a sum over items by what is expected from the totals of the classes. To take an annotator out changes
the items that they voted on, and the totals by their votes and by those that are left alone on an item, which no longer
count. So all alphas together cost as much as a few of one.
"""

from __future__ import annotations

import numpy as np

from dissensus.votes.cast import CELLS, Apart, Cast, Floats, Wholes


def alpha_without(cast: Cast, apart: Apart) -> Floats:
    """(annotators,): ordinal where the classes are ordered; NaN where the others all name one class, or share no item.

    ``apart`` is by whether classes :func:`~dissensus.votes.cast.differ`.

    >>> from dissensus.votes import Votes
    >>> from dissensus.votes.cast import differ
    >>> votes = Votes.from_records(items=[0, 0, 0, 1, 1, 1], labels=[1, 1, 0, 0, 0, 1], annotators=list("abe") * 2)
    >>> alpha_without(Cast(votes), Apart.of(Cast(votes), differ)).round(2)
    array([-0.5, -0.5,  1. ])
    """
    totals, removed = np.bincount(cast.code[cast.size > 1], minlength=cast.classes), _removed(cast)
    with np.errstate(invalid="ignore", divide="ignore"):
        if cast.table.ordered:
            observed, expected = _ordinal(cast, totals, *removed)
        else:
            observed, expected = _nominal(cast, apart, totals, *removed)
        return np.where(expected > 0, 1 - observed / expected, np.nan)


def _removed(cast: Cast) -> tuple[Wholes, Wholes, Wholes]:
    """Who takes how many votes for which class away: their own, and those that are then alone on an item."""
    counted, alone = cast.size > 1, cast.first & (cast.others == 1)
    code = cast.code.astype(np.float64)
    lone = np.bincount(cast.item, code)[cast.item[alone]] - cast.of_own(code)[alone]
    return cast.named((cast.who[counted], cast.code[counted]), (cast.who[alone], lone.round().astype(np.int64)))


def _changed(cast: Cast, pairs: Floats, pairs_of_others: Floats) -> Floats:
    """(annotators,): what sums over pairs on an item, each by its votes less one, add to the sum over all items."""
    before = np.where(cast.size > 1, pairs / (cast.size - 1), 0)
    after = np.where(cast.others > 1, pairs_of_others / (cast.others - 1), 0)
    return cast.by_person(np.where(cast.first, after - before, 0))


def _nominal(
    cast: Cast, apart: Apart, totals: Wholes, who: Wholes, code: Wholes, times: Wholes
) -> tuple[Floats, Floats]:
    whole = np.where(cast.size > 1, apart.pairs / ((cast.size - 1) * cast.size), 0).sum()
    n = totals.sum() - np.bincount(who, times, minlength=cast.people)
    # the sum of squares of what is left of the totals, by the few classes in which it is less
    less = np.bincount(who, times * (2.0 * totals[code] - times), minlength=cast.people)
    expected = (n**2 - ((totals**2.0).sum() - less)) / (n - 1)
    return whole + _changed(cast, apart.pairs, apart.pairs_of_others), expected


def _ordinal(cast: Cast, totals: Wholes, who: Wholes, code: Wholes, times: Wholes) -> tuple[Floats, Floats]:
    r"""Distances are squares of differences of places :math:`m` among all votes, which depend on who is left.

    :math:`\sum_{ck} n_c n_k (m_c - m_k)^2 = 2 (n \sum_c n_c m_c^2 - (\sum_c n_c m_c)^2)`, so the sum of places and that
    of their squares say all of an item.
    """
    left = np.zeros((cast.people, cast.classes)) + totals
    left[who, code] -= times
    n = left.sum(1)
    places = (np.cumsum(left, 1) - left / 2) / n[:, None] - 0.5  # of the votes, and about 0: sums of squares stay exact
    own = places[cast.who, cast.code]
    own_sums, own_squares = cast.of_own(own), cast.of_own(own**2)
    together = np.zeros((cast.classes, cast.classes))
    pairs, pairs_of_others = np.empty(cast.table.n_votes), np.empty(cast.table.n_votes)
    for at, item, counts in cast.blocks():
        some = counts[counts.sum(1) > 1].astype(np.float64)
        together += (some / (some.sum(1, keepdims=True) - 1)).T @ some
        for part in np.array_split(np.arange(at.start, at.stop), (at.stop - at.start) * cast.classes // CELLS + 1):
            said, at_places = counts[item[part - at.start]], places[cast.who[part]]
            sums = np.einsum("vc,vc->v", said, at_places)
            squares = np.einsum("vc,vc,vc->v", said, at_places, at_places)
            pairs[part] = _squared(cast.size[part], sums, squares)
            pairs_of_others[part] = _squared(cast.others[part], sums - own_sums[part], squares - own_squares[part])
    whole = 2 * (places**2 @ together.sum(1) - ((places @ together) * places).sum(1))
    expected = _squared(n, (left * places).sum(1), (left * places**2).sum(1)) / (n - 1)
    return whole + _changed(cast, pairs, pairs_of_others), expected


def _squared(n: Floats | Wholes, sums: Floats, squares: Floats) -> Floats:
    """Squared differences of all pairs, ordered."""
    return 2 * (n * squares - sums**2)
