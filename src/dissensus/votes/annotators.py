r"""Who is odd: how far each annotator agrees with the others who voted on the same items.

Nothing here grows with pairs of votes or of people: ten million votes take seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.votes.alpha_without import alpha_without
from dissensus.votes.cast import Apart, Cast, Distance, Floats, Wholes, between, differ, parts
from dissensus.votes.table import Class, Votes

LIKELY = 1.959964  # standard deviations to either side: 95 % of a normal distribution


@dataclass(frozen=True)
class WithOthers:
    """A mean over an annotator's votes, each set beside all votes of others on the same item."""

    mean: float
    low: float  # 95 % interval, as items are drawn: wide where few are shared
    high: float
    others: float | None  # the same between the others, on the same items; None where there are never two
    by_chance: float  # the same beside the votes of others on any item


@dataclass(frozen=True)
class Beside:
    """An annotator beside the others. What cannot be said is None."""

    annotator: str | int
    votes: int
    shared: int  # items on which others voted, too
    agreement: WithOthers | None  # share of the others who say the same
    distance: WithOthers | None  # of ordered classes: how many classes apart, 1 being neighbours
    lean: float | None  # of ordered classes: how many classes above the others, or below them if it is negative
    commonest: Class  # what they say most often
    commonest_share: float
    alpha_without: float | None  # Krippendorff's alpha of all others, ordinal where the classes are ordered

    @property
    def beyond_chance(self) -> float | None:
        """1 for full agreement and 0 for that of chance; by distance where the classes are ordered."""
        if self.agreement is None:
            return None
        apart, chance = 1 - self.agreement.mean, 1 - self.agreement.by_chance
        if self.distance is not None:
            apart, chance = self.distance.mean, self.distance.by_chance
        return 1 - apart / chance if chance > 0 else None


def by_annotator(votes: Votes) -> list[Beside]:
    r"""Each annotator beside the others, the odd ones first.

    With :math:`n` votes on an item and :math:`o` of annotator :math:`a` among them, agreement and what chance would
    give are means over the votes :math:`v` of :math:`a`, on item :math:`i` for class :math:`c`:

    .. math:: \frac{1}{|V_a|} \sum_{v \in V_a} \frac{n_{ic} - o_{ic}}{n_i - o_i}, \qquad
              \frac{1}{|V_a|} \sum_{v \in V_a} q_c,

    :math:`q` being the shares of the classes among the others' votes, on all items that two people or more voted on. So
    who always says the same, or anything at random, agrees as by chance. Where classes are ordered, the distance in
    classes stands beside it and decides.

    First comes whose agreement beyond chance is lowest at the upper end of its interval: who shares few items may look
    odd by accident, and comes later; who shares none, last. Odd is not wrong. It may be an expert, or who is given the
    items that are hard: on these, the others agree less with one another, too.

    >>> votes = Votes.from_records(
    ...     items=[0, 0, 0, 1, 1, 1], labels=list("yynnny"), annotators=["ann", "bob", "eve"] * 2
    ... )
    >>> for one in by_annotator(votes):
    ...     print(one.annotator, one.agreement.mean, one.agreement.others, round(one.alpha_without, 2))
    eve 0.0 1.0 1.0
    ann 0.5 0.0 -0.5
    bob 0.5 0.0 -0.5
    """
    if votes.multilabel:
        raise InputError("agreement by annotator needs votes for one class each, but these may name several.")
    cast = Cast(votes)
    if not votes.n_votes:
        return []
    number, shared = cast.by_person(np.ones(votes.n_votes)), cast.by_person(cast.first & (cast.others > 0))
    apart = Apart.of(cast, differ)
    agreement, distance, lean = _Means.of(cast, apart, differ, 1), None, None
    if votes.ordered:
        distance = _Means.of(cast, Apart.of(cast, between), between, votes.n_classes - 1)
        lean = _lean(cast)
    alpha, (common, times) = alpha_without(cast, apart), _commonest(cast)
    names = (votes.annotator_names if votes.annotator_names is not None else np.empty(0)).tolist()
    return [
        Beside(
            annotator=names[a],
            votes=int(number[a]),
            shared=int(shared[a]),
            agreement=agreement.told(a, share=True),
            distance=None if distance is None else distance.told(a),
            lean=None if lean is None else _known(lean[a]),
            commonest=votes.classes[common[a]],
            commonest_share=float(times[a] / number[a]),
            alpha_without=_known(alpha[a]),
        )
        for a in (agreement if distance is None else distance).odd_first.tolist()
        if number[a]
    ]


# -- in columns


@dataclass(frozen=True)
class _Means:
    """(annotators,): what :class:`WithOthers` holds, of distances; NaN where there is nothing."""

    mean: Floats
    low: Floats
    high: Floats
    others: Floats
    by_chance: Floats

    @classmethod
    def of(cls, cast: Cast, apart: Apart, distance: Distance, largest: int) -> _Means:
        told, two = cast.others > 0, cast.others > 1
        with np.errstate(invalid="ignore", divide="ignore"):
            likely = _likely(cast, np.where(told, apart.to_others / cast.others, 0), largest)
            between = np.where(two, apart.pairs_of_others / (cast.others * (cast.others - 1)), 0)
            others = cast.by_person(between) / cast.by_person(two)
            return cls(*likely, others, _by_chance(cast, distance))

    def told(self, a: int, share: bool = False) -> WithOthers | None:
        mean, low, high, others, chance = (
            float(part[a]) for part in (self.mean, self.low, self.high, self.others, self.by_chance)
        )
        if mean != mean:
            return None
        if share:  # of those at no distance
            mean, low, high, others, chance = (1 - part for part in (mean, high, low, others, chance))
        return WithOthers(mean, low, high, _known(others), chance)

    @property
    def odd_first(self) -> NDArray[np.int64]:
        """By the least distance that is likely, in units of what chance would give."""
        with np.errstate(invalid="ignore", divide="ignore"):
            least = self.low / self.by_chance
        return np.argsort(-np.nan_to_num(least, nan=-1.0), kind="stable")


def _likely(cast: Cast, apart: Floats, largest: int) -> tuple[Floats, Floats, Floats]:
    r"""Means, and 95 % intervals: Wilson's, by the variance that is seen between items.

    His own is that of a yes or no, as an item with one other vote says. :math:`z^2` imagined items, half of them at no
    distance and half at the largest, keep a few that are alike from looking sure.
    """
    told = cast.others > 0
    weight, items = cast.by_person(told), cast.by_person(told & cast.first)
    mean = cast.by_person(apart) / weight
    off = cast.of_own(np.where(told, apart - mean[cast.who], 0))
    variance = items / weight**2 * cast.by_person(np.where(cast.first, off**2, 0))
    more = LIKELY**2 / items
    middle = mean + more * largest / 2
    half = LIKELY * np.sqrt(variance / items + more * largest**2 / (4 * items))
    return mean, np.clip((middle - half) / (1 + more), 0, mean), np.clip((middle + half) / (1 + more), mean, largest)


def _by_chance(cast: Cast, distance: Distance) -> Floats:
    told = cast.others > 0
    who, code, times = cast.named((cast.who[told], cast.code[told]))
    totals = np.bincount(code, times, minlength=cast.classes).astype(np.int64)
    to_others = distance(totals[None])[0][code].astype(np.float64)
    for part in parts(who, cast.classes):  # less what they would have from their own
        _, place = np.unique(who[part], return_inverse=True)
        own = np.zeros((place[-1] + 1, cast.classes), np.int64)
        own[place, code[part]] = times[part]
        to_others[part] -= distance(own)[place, code[part]]
    votes = np.bincount(who, times, minlength=cast.people)
    return np.bincount(who, times * to_others, minlength=cast.people) / (votes * (totals.sum() - votes))


def _lean(cast: Cast) -> Floats:
    """(annotators,): how many classes above the others on the same items, on average."""
    told, code = cast.others > 0, cast.code.astype(np.float64)
    others = np.bincount(cast.item, code)[cast.item] - cast.of_own(code)
    with np.errstate(invalid="ignore", divide="ignore"):
        above = np.where(told, code - others / cast.others, 0)
        return cast.by_person(above) / cast.by_person(told)


def _commonest(cast: Cast) -> tuple[Wholes, Wholes]:
    """(annotators,): the class that each names most often, the first of several, and how often."""
    who, code, times = cast.named((cast.who, cast.code))
    most = np.zeros(cast.people, np.int64)
    np.maximum.at(most, who, times)
    at = np.flatnonzero(times == most[who])[::-1]  # the last assignment stays, which is that of the first class
    common = np.zeros(cast.people, np.int64)
    common[who[at]] = code[at]
    return common, most


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
