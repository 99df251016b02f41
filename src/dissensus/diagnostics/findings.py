"""Results with names as rows of a table: a number, and how far it can be off."""

from __future__ import annotations

from dissensus.diagnostics.correlation import Z95, Correlation
from dissensus.records import Diagnosis, Slice, Weights


def estimated(
    name: str,
    value: float,
    standard_error: float,
    items: int,
    slice: Slice = "all",
    weights: Weights = "",
    other: str = "",
) -> Diagnosis:
    """An estimate, with 1.96 of its standard errors to either side.

    >>> round(estimated("trace", 10.0, 0.5, items=200).high, 2)
    10.98
    """
    return within(name, value, Z95 * standard_error, items, slice, weights, other)


def within(
    name: str, value: float, bound: float, items: int, slice: Slice = "all", weights: Weights = "", other: str = ""
) -> Diagnosis:
    """A number that is known to lie so near, such as an eigenvalue within its residual."""
    return Diagnosis(name, value, value - bound, value + bound, items, slice, weights, other)


def correlated(
    name: str, found: Correlation, slice: Slice = "all", weights: Weights = "", other: str = ""
) -> Diagnosis:
    return Diagnosis(name, found.value, found.low, found.high, found.items, slice, weights, other)
