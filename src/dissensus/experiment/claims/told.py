"""What the paper has for a quantity: found by address, computed as ours is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log
from typing import Any

from dissensus.experiment.claims.claim import Part
from dissensus.experiment.claims.measured import Values, computed
from dissensus.experiment.claims.quantities import Number, Quantity
from dissensus.experiment.papers import Address, Paper


def published(quantity: Quantity, part: Part, paper: Paper, places: Iterable[str], outside: Mapping[str, Any]) -> str:
    """What the paper has for the quantity, in words: a number, a range, or nothing."""
    if part.published is not None and _meant(quantity, part.published, part):
        address = dict(part.published)
        where = (address.pop("place"), address.pop("method"), address.pop("metric"))
        ranges = [one for one in paper.published.ranges if (one.place, one.method, one.metric) == where]
        if ranges:
            told = paper.published.ranges[ranges[0]]
            return f"{told.low:g} to {told.high:g}"
        return f"{paper.published.value(*where, **address).mean:g}"
    value = published_value(quantity, part, paper, places, outside)
    return "" if value is None else f"{value:.4g}"


def published_value(
    quantity: Quantity, part: Part, paper: Paper, places: Iterable[str], outside: Mapping[str, Any]
) -> float | None:
    """The same from published means, by the same arithmetic and on the scale that is shown; None where one is missing.

    Of several rows that have a number, that of most seeds is taken which all numbers of the quantity have.
    """
    there = {paper.published.also.get(place, place) for place in places}
    found = {number: _addresses(number, paper, there, outside) for number in quantity.numbers}
    if not found or not all(found.values()):
        return None
    shared = set.intersection(*({address.seeds for address in several} for several in found.values()))
    best = max(shared, key=lambda seeds: seeds or 0) if shared else None
    means: dict[Number, float] = {}
    for number, several in found.items():
        chosen = [address for address in several if address.seeds == best] if shared else several
        means[number] = paper.published.numbers[max(chosen, key=lambda address: address.seeds or 0)].mean

    def of(number: Number) -> Values:
        return {0: log(means[number]) if part.ratio else means[number]}

    signed = (part.direction(quantity.metric) or 1) * computed(quantity, part.to, of)[0]
    return exp(signed) if part.ratio else signed


def _meant(quantity: Quantity, address: Mapping[str, Any], part: Part) -> bool:
    """Whether the address that a part names is that of this cell: of its metric and slice, if it is a metric of it."""
    if address["metric"] not in part.axes["metric"]:
        return True
    slices = {number.slice for number in quantity.numbers}
    return address["metric"] == quantity.metric and slices == {address.get("slice", "all")}


def _addresses(number: Number, paper: Paper, places: set[str], outside: Mapping[str, Any]) -> list[Address]:
    sets = set(outside[number.outside]) if number.outside else {""}
    if number.tempered or number.where != "evaluation":
        return []
    return [
        address
        for address in paper.published.numbers
        if address.place in places
        and (address.metric, address.method, address.votes, address.hold, address.slice)
        == (number.metric, number.method, number.votes, number.hold, number.slice)
        and address.outside in sets
        and address.other in (number.other, "" if number.other else number.method)
    ]
