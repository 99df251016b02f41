"""The numbers that a paper published, each under its address: where it stands, and what it is a number of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

from dissensus.base.errors import InputError, unknown

Side = Literal["one-sided", "two-sided"]


@dataclass(frozen=True)
class Address:
    """What a number is of, and the table or figure where it stands."""

    place: str
    method: str
    metric: str
    votes: int | Literal["all"] = "all"
    hold: int = 1
    slice: str = "all"
    outside: str = ""  # the set that is told from the evaluation items
    other: str = ""  # the method of the second model, or the one that is compared with
    seeds: int | None = None  # None: the paper does not say


@dataclass(frozen=True)
class Number:
    """A mean over seeds; without an SD where none was published."""

    mean: float
    sd: float | None
    seeds: int | None
    unit: str


@dataclass(frozen=True)
class Range:
    """The lowest and the highest of the seeds."""

    low: float
    high: float
    seeds: int | None
    unit: str


@dataclass(frozen=True)
class PValue:
    """Of a paired test against another method; ``at_least`` where the paper gives a bound only."""

    value: float
    at_least: bool
    against: str
    side: Side
    seeds: int | None


Told = TypeVar("Told", Number, Range, PValue)


@dataclass(frozen=True)
class Published:
    """All numbers of a paper, by address; in the paper's order.

    A look-up names place, method and metric, and as much of the address (``votes=5``, ``slice="disputed"``) as it takes
    to mean one number. What is not there, or means several, is an error that lists what is there.

    >>> one = Address("table1", "sls", "soft_nll", votes=5)
    >>> published = Published({one: Number(0.5599, None, 5, "nats")}, {}, {})
    >>> published.value("table1", "sls", "soft_nll", votes=5).mean
    0.5599
    >>> published.value("table1", "sls", "soft_nll", votes=6)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: no number of table1, sls, soft_nll has votes 6. There are: 5
    """

    numbers: Mapping[Address, Number]
    ranges: Mapping[Address, Range]
    p_values: Mapping[Address, PValue]
    also: Mapping[str, str] = field(default_factory=dict)  # a place without numbers of its own -> the one that has them

    def value(self, place: str, method: str, metric: str, **more: Any) -> Number:
        """The mean over seeds, with its SD where published."""
        return _only("number", self.numbers, self._wanted(place, method, metric) | more)

    def range(self, place: str, method: str, metric: str, **more: Any) -> Range:
        """From the lowest seed to the highest."""
        return _only("range", self.ranges, self._wanted(place, method, metric) | more)

    def p_value(self, place: str, method: str, metric: str, **more: Any) -> PValue:
        """Of the method against the one that the place compares with."""
        return _only("p-value", self.p_values, self._wanted(place, method, metric) | more)

    def _wanted(self, place: str, method: str, metric: str) -> dict[str, Any]:
        return {"place": self.also.get(place, place), "method": method, "metric": metric}


def _only(what: str, told: Mapping[Address, Told], wanted: Mapping[str, Any]) -> Told:
    left = {address: asdict(address) for address in told}
    fields = list(Address.__dataclass_fields__)
    said: list[str] = []
    for key, given in wanted.items():
        if key not in fields:
            raise InputError(unknown("part of an address", key, fields))
        there = _values(left.values(), key)
        left = {address: parts for address, parts in left.items() if parts[key] == given}
        if not left:
            of = f" of {', '.join(said)}" if said else ""
            raise InputError(f"no {what}{of} has {key} {given}. There are: {', '.join(there)}")
        said.append(str(given) if key in ("place", "method", "metric") else f"{key} {given}")
    if len(left) > 1:
        differ = {key: _values(left.values(), key) for key in fields}
        choices = "; ".join(f"{key} {', '.join(values)}" for key, values in differ.items() if len(values) > 1)
        raise InputError(f"{len(left)} {what}s are of {', '.join(said)}. Say which: {choices}")
    return told[next(iter(left))]


def _values(addresses: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """What stands under a key, each once, in the paper's order."""
    return list(dict.fromkeys(str(parts[key]) for parts in addresses))
