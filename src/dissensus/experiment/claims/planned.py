"""Which numbers a protocol plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dissensus.experiment.claims.quantities import Difference, Number, Quantity
from dissensus.experiment.papers import Cell, Paper
from dissensus.experiment.papers.evidence import REORDERED
from dissensus.metrics import METRICS

Plans = frozenset[tuple[Any, ...]]

ALIGNED = "barrier of units in order"  # a part of the diagnostic "barrier"

DIAGNOSTIC_OF = {
    **dict.fromkeys(("top_eigenvalue", "filter_normalised_top"), "curvature"),
    **dict.fromkeys(("trace", "deflated_trace", "trace_times_norm"), "trace"),
    **dict.fromkeys(
        ("gradient_variance", "gradient_variance_entropy", "gradient_variance_partial", "proposition1_deviation"),
        "gradient_variance",
    ),
    **dict.fromkeys(("cka", "debiased_cka"), "cka"),
    "cam_stability": "gradcam",
    **dict.fromkeys(("barrier", "barrier_reset"), "barrier"),
    "barrier_aligned": ALIGNED,
    **dict.fromkeys(("js_gain", "js_gain_given_entropy", "l1_gain", "l1_gain_given_entropy"), "sparse_target"),
    **dict.fromkeys(("best_epoch", "epochs_to_95", "area", "overfitting"), "dynamics"),
    **dict.fromkeys((f"{s}_auroc" for s in ("energy", "msp", "odin", "entropy", "margin", "knn")), "ood"),
}
"""A number of a model or of two -> the diagnostic that it is planned as."""


def plans(paper: Paper, protocol: str, checkpoint: str = "best") -> Plans:
    """What a protocol plans: trainings, and trainings with a diagnostic of these weights."""
    known: set[tuple[Any, ...]] = set()
    for one in paper.of(protocol):
        for cell in one.cells():
            known.add(training(cell))
            known |= {(*training(cell), diagnostic) for diagnostic in one.diagnostics}
            if "barrier" in one.diagnostics and checkpoint == "best":  # units are put in order there alone
                known.add((*training(cell), ALIGNED))
    return frozenset(known)


def planned(quantity: Quantity, known: Plans, fewer: bool) -> Quantity | None:
    """The quantity as a protocol plans it, without what it does not plan where ``fewer`` will do; else None."""

    def all_planned(one: Difference) -> bool:
        return all(needs(number) <= known for number in (one.first, one.second) if number is not None)

    kept = tuple(filter(all_planned, quantity.differences))
    less = tuple(filter(all_planned, quantity.less))
    complete = (kept, less) == (quantity.differences, quantity.less)
    if not kept or (quantity.less and not less) or not (complete or fewer):
        return None
    return replace(quantity, differences=kept, less=less)


def training(cell: Cell) -> tuple[Any, ...]:
    """As :func:`needs` has it."""
    return cell.method, cell.votes, cell.hold, bool(cell.reorder)


def needs(number: Number) -> set[tuple[Any, ...]]:
    """The trainings that a number is of, and the diagnostic that it is planned as."""
    diagnostic = () if number.metric in METRICS else (DIAGNOSTIC_OF[number.metric],)
    needed = {(number.method, number.votes, number.hold, False, *diagnostic)}
    if number.other:
        second, again = number.other.removesuffix(REORDERED), number.other.endswith(REORDERED)
        needed.add((second, number.votes, number.hold, again, *diagnostic))
    return needed
