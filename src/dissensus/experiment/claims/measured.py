"""What was measured of a quantity: one value a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite, log, nan
from typing import Any, cast

from dissensus.experiment.claims.claim import Part, View
from dissensus.experiment.claims.planned import needs, training
from dissensus.experiment.claims.quantities import Difference, Number, Quantity
from dissensus.experiment.papers import Cell, Evidence
from dissensus.experiment.papers.evidence import REORDERED
from dissensus.experiment.papers.experiments import Votes

Seed = int | tuple[int, int]  # of one run, or of a pair
Values = dict[Seed, float]

MAY_DIVERGE = 0.1  # of the seeds: with nine of ten, Holm over the 16 cells of the largest part can still reject

EITHER_WAY = ("barrier", "barrier_reset", "barrier_aligned")
"""Numbers of two models that are the same whichever of the two is named first."""


def measured(
    quantity: Quantity, part: Part, evidence: Evidence, view: View, outside: Mapping[str, Iterable[str]]
) -> Values:
    """Seed -> value, for the seeds that have all of its numbers; of ratios, the logarithm, and NaN where there is none.

    Of several outside sets that may stand for one another, the first that was measured. Of several protocols, the mean.
    """
    return _mean([_under(quantity, part, evidence, one, outside) for one in view.apart])


def diverged(quantity: Quantity, evidence: Evidence, view: View) -> dict[Cell, int]:
    """The trainings of the quantity that diverged, so that their seeds have no number.

    1 where a higher number of the training would make the quantity higher, -1 where lower, 0 where it is on both sides.
    """
    found: dict[Cell, int] = {}
    for sign, differences in ((1, quantity.differences), (-1, quantity.less)) if evidence.diverged else ():
        for number, side in ((n, s) for one in differences for n, s in ((one.first, sign), (one.second, -sign))):
            families = set() if number is None else {need[:4] for need in needs(number)}
            for cell in evidence.diverged:
                if cell.protocol in view.protocols and training(cell) in families:
                    found[cell] = side if found.get(cell, side) == side else 0
    return found


def _under(
    quantity: Quantity, part: Part, evidence: Evidence, view: View, outside: Mapping[str, Iterable[str]]
) -> Values:
    found: Values = {}
    for name in outside[quantity.outside] if quantity.outside else [""]:
        of = partial(_values, outside=name, part=part, evidence=evidence, view=view)
        found = found or computed(quantity, part.to, of)
    return found


def computed(quantity: Quantity, to: float | None, of: Callable[[Number], Values]) -> Values:
    """The quantity from its numbers, seed by seed; ``to`` is what a number is compared with that has no second."""
    told = _mean([_differences(one, to, of) for one in quantity.differences])
    if quantity.less:
        less = _mean([_differences(one, to, of) for one in quantity.less])
        told = {seed: told[seed] - quantity.times * less[seed] for seed in told if seed in less}
    return dict(sorted(told.items()))


def _differences(one: Difference, to: float | None, of: Callable[[Number], Values]) -> Values:
    first = of(one.first)
    if one.second is None:
        return {seed: value - (to or 0.0) for seed, value in first.items()}
    second = of(one.second)
    return {seed: first[seed] - second[seed] for seed in first if seed in second}


def _mean(several: list[Values]) -> Values:
    shared = set.intersection(*(set(one) for one in several))
    return {seed: sum(one[seed] for one in several) / len(several) for seed in sorted(shared)}


def _values(number: Number, outside: str, part: Part, evidence: Evidence, view: View) -> Values:
    """What was measured, without what is not finite: a run that diverged has no number."""
    found = _asked(replace(number, other=outside or number.other), part.pairs, evidence, view)
    finite = {_seed(seed): value for seed, value in found.items() if isfinite(value)}
    if part.share:
        epochs = _epochs(number, evidence, view)
        finite = {seed: value / epochs[seed] for seed, value in finite.items() if seed in epochs}
    if part.absolute:
        finite = {seed: abs(value) for seed, value in finite.items()}
    return {seed: log(value) if value > 0 else nan for seed, value in finite.items()} if part.ratio else finite


def _epochs(number: Number, evidence: Evidence, view: View) -> dict[Seed, int]:
    """How many epochs each training had."""
    votes = cast(Votes, number.votes)
    told = evidence.history(protocol=view.protocol, method=number.method, votes=votes, hold=number.hold)
    return {seed: len(next(iter(columns.values()))) for seed, columns in told.items()}


def _seed(seed: Seed) -> Seed:
    return seed if isinstance(seed, int) else (min(seed), max(seed))


def _asked(number: Number, pairs: bool, evidence: Evidence, view: View) -> Mapping[Any, float]:
    asked: dict[str, Any] = {
        "protocol": view.protocol,
        "method": number.method,
        "votes": number.votes,
        "hold": number.hold,
        "checkpoint": view.checkpoint,
        "slice": number.slice,
        "where": number.where,
    }
    if pairs:
        return evidence.pairs(number.metric, **asked)
    found = evidence.numbers(number.metric, **asked, tempered=number.tempered, other=number.other)
    return found | _turned(number, asked, evidence) if number.metric in EITHER_WAY else found


def _turned(number: Number, asked: Mapping[str, Any], evidence: Evidence) -> dict[int, float]:
    """The same number where it is said of the second run."""
    second, again = number.other.removesuffix(REORDERED), number.other.endswith(REORDERED)
    moves = {cell.reorder for cell in evidence.runs.values() if cell.reorder} if again else {0}
    found: dict[int, float] = {}
    for reorder in sorted(moves):
        there = {**asked, "method": second, "reorder": reorder}
        found |= evidence.numbers(number.metric, **there, other=number.method + REORDERED * again)
    return found
