"""The cells of a part: which numbers each is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from dissensus.experiment.claims.claim import AXES, Part, metric_title


@dataclass(frozen=True)
class Number:
    """One number a seed, whatever the protocol."""

    metric: str
    method: str
    votes: int | str = "all"
    hold: int = 1
    slice: str = "all"
    where: str = "evaluation"
    outside: str = ""
    other: str = ""
    tempered: bool = False


@dataclass(frozen=True)
class Difference:
    """A number less another, or less a constant."""

    first: Number
    second: Number | None


@dataclass(frozen=True)
class Quantity:
    """One cell of a part: the mean of differences, less ``times`` the mean of others."""

    label: str
    metric: str
    differences: tuple[Difference, ...]
    less: tuple[Difference, ...] = ()
    times: float = 1.0

    @property
    def outside(self) -> str:
        """The kind of outside set that its numbers are of; "" where they are of none."""
        return self.differences[0].first.outside if self.differences else ""

    @property
    def numbers(self) -> list[Number]:
        both = [one for pair in (*self.differences, *self.less) for one in (pair.first, pair.second)]
        return [one for one in both if one is not None]


def quantities(part: Part) -> list[Quantity]:
    """All cells of the part, in the order of its lists.

    >>> from dissensus.experiment.claims.claim import read_claims
    >>> [cell.label for cell in quantities(read_claims("basins")["B4"].parts[0])][:5]
    ['5 votes, sls', '5 votes, multipass', '5 votes, deterministic-control', '10 votes, sls', '10 votes, multipass']
    """
    shown = [axis for axis in AXES if axis not in part.mean_of and len(part.axes[axis]) > 1]
    cells: dict[tuple[Any, ...], list[Difference]] = {}
    for axes in _combinations(part.axes, part.between):
        for difference, changed in _compared(part, axes):
            key = tuple(axes.get(axis) for axis in AXES if axis not in part.mean_of), changed
            cells.setdefault(key, []).append(difference)
    made = []
    for (_, changed), differences in cells.items():
        first = differences[0].first
        words = [_word(axis, getattr(first, axis)) for axis in shown]
        words += [first.method] if part.between else []
        words += [f"against {changed}"] if changed and (part.between or _several(part)) else []
        less = tuple(_elsewhere(part, differences)) if part.less is not None else ()
        made.append(Quantity(", ".join(words), first.metric, tuple(differences), less, part.times))
    return made


def _combinations(axes: Mapping[str, tuple[Any, ...]], between: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    methods = {"method": tuple(combinations(between, 2))} if between else {}
    lists = {**axes, **methods}
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _compared(part: Part, axes: Mapping[str, Any]) -> Iterator[tuple[Difference, str]]:
    """The number, with each that it is compared with, and what is different in that one."""
    if part.between:
        first, second = axes["method"]
        yield Difference(_number(axes, {"method": first}), _number(axes, {"method": second})), second
    elif not part.against:
        yield Difference(_number(axes), None), ""
    for table in part.against:
        for changed in _combinations(table, ()):
            words = ", ".join(_word(axis, value) for axis, value in changed.items())
            yield Difference(_number(axes), _number(axes, changed)), words


def _elsewhere(part: Part, differences: Iterable[Difference]) -> Iterator[Difference]:
    """The differences at the places that are taken away, each once."""
    once: dict[Difference, None] = {}
    assert part.less is not None
    for one in differences:
        for changed in _combinations(part.less, ()):
            second = replace(one.second, **changed) if one.second is not None else None
            once[Difference(replace(one.first, **changed), second)] = None
    yield from once


def _number(axes: Mapping[str, Any], changed: Mapping[str, Any] | None = None) -> Number:
    return Number(**{**axes, **(changed or {})})


def _several(part: Part) -> bool:
    return len(part.against) > 1 or any(len(values) > 1 for table in part.against for values in table.values())


def _word(axis: str, value: Any) -> str:
    if axis == "votes":
        return f"{value} votes"
    if axis == "hold":
        return f"held for {value}"
    if axis == "slice":
        return "all items" if value == "all" else "most disputed items"
    if axis == "other":
        return f"to {value}"
    if axis == "tempered":
        return "with a temperature" if value else "as trained"
    return metric_title(value) if axis == "metric" else str(value)
