"""Results with names as rows of a table: a number, and how far it can be off."""

from __future__ import annotations

from dataclasses import replace

from dissensus.diagnostics.correlation import Z95, Correlation
from dissensus.diagnostics.registry import DIAGNOSTICS
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
    """An estimate, with 1.96 of its standard errors to either side, as far as it can be at all.

    >>> round(estimated("trace", 10.0, 0.5, items=200).high, 2), estimated("knn_auroc", 0.99, 0.02, items=200).high
    (10.98, 1.0)
    """
    found = within(name, value, Z95 * standard_error, items, slice, weights, other)
    if name not in DIAGNOSTICS:
        return found
    low, high = DIAGNOSTICS[name].within(found.low, found.high)
    return replace(found, low=low, high=high)


def within(
    name: str, value: float, bound: float, items: int, slice: Slice = "all", weights: Weights = "", other: str = ""
) -> Diagnosis:
    """A number that is known to lie so near, such as an eigenvalue within its residual."""
    return Diagnosis(name, value, value - bound, value + bound, items, slice, weights, other)


def correlated(
    name: str, found: Correlation, slice: Slice = "all", weights: Weights = "", other: str = ""
) -> Diagnosis:
    return Diagnosis(name, found.value, found.low, found.high, found.items, slice, weights, other)
