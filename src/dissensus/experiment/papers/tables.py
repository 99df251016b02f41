"""From the tables of a paper's file to its numbers: what place, column and row say makes the address of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dissensus.base.errors import InputError
from dissensus.delivery import METHODS
from dissensus.experiment.papers.keys import check_keys, check_known, check_lists
from dissensus.experiment.papers.published import Address, Number, Published, PValue, Range

UNITS = {
    "nats": (0.0, math.inf),
    "squared distance": (0.0, 2.0),
    "share": (0.0, 1.0),
    "AUROC": (0.0, 1.0),
    "similarity": (0.0, 1.0),
    "correlation": (-1.0, 1.0),
    "curvature": (0.0, math.inf),
    "epochs": (-math.inf, math.inf),
}
"""Unit -> the lowest and the highest number that a mean can be."""

_PARTS = [part for part in Address.__dataclass_fields__ if part != "place"]
_NUMBERS = ["mean", "sd", "low", "high", "p"]
_NONE = "-"
_AT_LEAST = ">="


def published(places: Mapping[str, Any], units: Mapping[str, str], slices: Mapping[str, str]) -> Published:
    """All numbers of all places; whatever is wrong with them is an error that says where."""
    numbers: dict[Address, Number] = {}
    ranges: dict[Address, Range] = {}
    p_values: dict[Address, PValue] = {}
    for name, place in places.items():
        _check_place(name, place)
        for where, address, told in _cells(name, place, units, slices):
            if address in numbers or address in ranges or address in p_values:
                raise InputError(f"{where} stands there twice.")
            unit = units[address.metric]
            _check_numbers(where, told, unit)
            if "mean" in told:
                numbers[address] = Number(told["mean"], told.get("sd"), address.seeds, unit)
            if "low" in told:
                ranges[address] = Range(told["low"], told["high"], address.seeds, unit)
            if told.get("p", _NONE) != _NONE:
                p_values[address] = _p_value(where, told["p"], place.get("test"), address.seeds)
    also = {place["also"]: name for name, place in places.items() if "also" in place}
    return Published(numbers, ranges, p_values, also)


def _check_place(name: str, place: Mapping[str, Any]) -> None:
    check_keys(f"places.{name}", place, ["title"], ["also", "test", "columns", "rows", *_PARTS])
    for column in place.get("columns", []):
        check_keys(f"a column of {name}", column, [], _PARTS)
    if "test" in place:
        test, where = place["test"], f"places.{name}.test"
        check_keys(where, test, ["against", "side"])
        check_known(where, "method", test["against"], METHODS)
        check_known(where, "side", test["side"], ["one-sided", "two-sided"])


def _cells(
    name: str, place: Mapping[str, Any], units: Mapping[str, str], slices: Mapping[str, str]
) -> Iterator[tuple[str, Address, dict[str, Any]]]:
    """Where each cell stands, its address, and what the row says of it under mean, sd, low, high and p."""
    columns = place.get("columns", [])
    shared = _parts(place)
    for number, row in enumerate(place.get("rows", []), 1):
        where = f"row {number} of {name}"
        _check_row(where, row, len(columns))
        for position, column in enumerate(columns):
            if twice := _parts(row).keys() & column.keys():
                raise InputError(f"{where}: {min(twice)} is said by the row and by a column.")
            parts = shared | column | _parts(row)
            for key in ("method", "metric"):
                if key not in parts:
                    raise InputError(f"{where}: no {key} is said.")
            check_known(where, "method", parts["method"], METHODS)
            check_known(where, "method", parts.get("other", parts["method"]), METHODS)
            check_known(where, "metric", parts["metric"], units)
            check_known(where, "slice", parts.get("slice", "all"), slices)
            told = {key: row[key][position] for key in _NUMBERS if key in row}
            yield f"{where}: {parts['metric']} of {parts['method']}", Address(place=name, **parts), told


def _parts(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: table[key] for key in _PARTS if key in table}


def _check_row(where: str, row: Mapping[str, Any], columns: int) -> None:
    check_keys(where, row, [], [*_NUMBERS, *_PARTS])
    check_lists(where, row, _NUMBERS)
    for key in _NUMBERS:
        if key in row and len(row[key]) != columns:
            raise InputError(f"{where} has {len(row[key])} numbers under {key}, but there are {columns} columns.")
    for key, needed in (("sd", "mean"), ("p", "mean"), ("low", "high"), ("high", "low")):
        if key in row and needed not in row:
            raise InputError(f"{where} has {key} but no {needed}.")


def _check_numbers(where: str, told: Mapping[str, Any], unit: str) -> None:
    lowest, highest = UNITS[unit]
    for key in ("mean", "sd", "low", "high"):
        if key in told and not (isinstance(told[key], int | float) and math.isfinite(told[key])):
            raise InputError(f"{where} must have a finite number under {key}, but has {told[key]!r}.")
    rising = [told[key] for key in ("low", "mean", "high") if key in told]
    for one in rising:
        if not lowest <= one <= highest:
            raise InputError(f"{where} is {one}, but a number of the unit {unit!r} is {lowest:g} to {highest:g}.")
    if rising != sorted(rising):
        raise InputError(f"{where}: low, mean and high must rise, but are {', '.join(map(str, rising))}.")
    if told.get("sd", 0) < 0:
        raise InputError(f"{where} has an SD below 0: {told['sd']}.")


def _p_value(where: str, given: Any, test: Mapping[str, Any] | None, seeds: int | None) -> PValue:
    if test is None:
        raise InputError(f"{where} has a p-value, but its place does not say of which test.")
    bound = str(given).startswith(_AT_LEAST)
    try:
        value = float(str(given).removeprefix(_AT_LEAST))
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise InputError(
            f'{where}: a p-value must be above 0 and at most 1, "{_AT_LEAST} 0.1" or "{_NONE}", but is {given!r}.'
        )
    return PValue(value, bound, test["against"], test["side"], seeds)
