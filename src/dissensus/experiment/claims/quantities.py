"""Which numbers a part of a claim is about: its cells, what was measured in them, and what was published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import exp, isfinite, log
from typing import Any

from dissensus.experiment.claims.claim import AXES, Part, View, metric_title
from dissensus.experiment.papers import Address, Cell, Evidence, Paper
from dissensus.experiment.papers.evidence import REORDERED
from dissensus.metrics import METRICS

Seed = int | tuple[int, int]  # of one run, or of a pair
Values = dict[Seed, float]
Plans = frozenset[tuple[Any, ...]]

DIAGNOSTIC_OF = {
    **dict.fromkeys(
        ("top_eigenvalue", "trace", "deflated_trace", "trace_times_norm", "filter_normalised_top"), "curvature"
    ),
    **dict.fromkeys(
        ("gradient_variance", "gradient_variance_entropy", "gradient_variance_partial", "proposition1_deviation"),
        "gradient_variance",
    ),
    **dict.fromkeys(("cka", "debiased_cka"), "cka"),
    "cam_stability": "gradcam",
    **dict.fromkeys(("barrier", "barrier_reset", "barrier_aligned"), "barrier"),
    **dict.fromkeys(("js_gain", "js_gain_given_entropy", "l1_gain", "l1_gain_given_entropy"), "sparse_target"),
    **dict.fromkeys(("best_epoch", "epochs_to_95", "area", "overfitting"), "dynamics"),
    **dict.fromkeys((f"{s}_auroc" for s in ("energy", "msp", "odin", "entropy", "margin", "knn")), "ood"),
}
"""A number of a model or of two -> the diagnostic that it is planned as."""

EITHER_WAY = ("barrier", "barrier_reset", "barrier_aligned")
"""Numbers of two models that are the same whichever of the two is named first."""


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


def plans(paper: Paper, protocol: str) -> Plans:
    """What a protocol plans: trainings, and trainings with a diagnostic."""
    known: set[tuple[Any, ...]] = set()
    for one in paper.of(protocol):
        for cell in one.cells():
            known.add(_training(cell))
            known |= {(*_training(cell), diagnostic) for diagnostic in one.diagnostics}
    return frozenset(known)


def planned(quantity: Quantity, known: Plans, fewer: bool) -> Quantity | None:
    """The quantity as a protocol plans it, without what it does not plan where ``fewer`` will do; else None."""

    def all_planned(one: Difference) -> bool:
        return all(_needs(number) <= known for number in (one.first, one.second) if number is not None)

    kept = tuple(filter(all_planned, quantity.differences))
    less = tuple(filter(all_planned, quantity.less))
    complete = (kept, less) == (quantity.differences, quantity.less)
    if not kept or (quantity.less and not less) or not (complete or fewer):
        return None
    return replace(quantity, differences=kept, less=less)


def measured(
    quantity: Quantity, part: Part, evidence: Evidence, view: View, outside: Mapping[str, Iterable[str]]
) -> Values:
    """Seed -> value, for the seeds that have all of its numbers; of ratios, the logarithm."""

    def of(number: Number) -> Values:
        return _values(number, part, evidence, view, outside)

    told = _mean([_differences(one, part, of) for one in quantity.differences])
    if quantity.less:
        less = _mean([_differences(one, part, of) for one in quantity.less])
        told = {seed: told[seed] - quantity.times * less[seed] for seed in told if seed in less}
    return dict(sorted(told.items()))


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

    told = _mean([_differences(one, part, of) for one in quantity.differences])[0]
    if quantity.less:
        told -= quantity.times * _mean([_differences(one, part, of) for one in quantity.less])[0]
    signed = (part.direction(quantity.metric) or 1) * told
    return exp(signed) if part.ratio else signed


def _meant(quantity: Quantity, address: Mapping[str, Any], part: Part) -> bool:
    """Whether the address that a part names is that of this cell: of its metric and slice, if it is a metric of it."""
    if address["metric"] not in part.axes["metric"]:
        return True
    slices = {number.slice for number in quantity.numbers}
    return address["metric"] == quantity.metric and slices == {address.get("slice", "all")}


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
    return metric_title(value) if axis == "metric" else str(value)


def _differences(one: Difference, part: Part, of: Any) -> Values:
    first = of(one.first)
    if one.second is None:
        to = part.to or 0.0
        return {seed: value - to for seed, value in first.items()}
    second = of(one.second)
    return {seed: first[seed] - second[seed] for seed in first if seed in second}


def _mean(several: list[Values]) -> Values:
    shared = set.intersection(*(set(one) for one in several))
    return {seed: sum(one[seed] for one in several) / len(several) for seed in sorted(shared)}


def _values(number: Number, part: Part, evidence: Evidence, view: View, outside: Mapping[str, Iterable[str]]) -> Values:
    """What was measured, without what is not finite: a run that diverged has no number."""
    found: Mapping[Any, float] = {}
    for other in _others(number, outside):
        found = found or _asked(replace(number, other=other), part.pairs, evidence, view)
    finite = {_seed(seed): value for seed, value in found.items() if isfinite(value)}
    return {seed: log(value) for seed, value in finite.items() if value > 0} if part.ratio else finite


def _seed(seed: Seed) -> Seed:
    return seed if isinstance(seed, int) else (min(seed), max(seed))


def _others(number: Number, outside: Mapping[str, Iterable[str]]) -> list[str]:
    return list(outside[number.outside]) if number.outside else [number.other]


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


def _training(cell: Cell) -> tuple[Any, ...]:
    return cell.method, cell.votes, cell.hold, bool(cell.reorder)


def _needs(number: Number) -> set[tuple[Any, ...]]:
    diagnostic = () if number.metric in METRICS else (DIAGNOSTIC_OF[number.metric],)
    needed = {(number.method, number.votes, number.hold, False, *diagnostic)}
    if number.other:
        second, again = number.other.removesuffix(REORDERED), number.other.endswith(REORDERED)
        needed.add((second, number.votes, number.hold, again, *diagnostic))
    return needed


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
