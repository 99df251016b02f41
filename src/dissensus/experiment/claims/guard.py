"""A hard arm that has learned nothing can lose nothing by hard labels: where it has not, no claim is decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dissensus.experiment.papers import Evidence

if TYPE_CHECKING:
    from dissensus.experiment.claims.claim import View

FEWEST = 2  # protocols of an average


@dataclass(frozen=True)
class Guard:
    """The method's metric must be above another number by so much, on average over seeds."""

    method: str
    metric: str
    above: str
    by: float


def guarded(view: View, guard: Guard | None, evidence: Evidence) -> tuple[View, str, str]:
    """The view without the protocols that the guard leaves out; why nothing is decided; and what to say beside.

    A protocol that was not measured yet stays: then that is what keeps a claim open.
    """
    if guard is None:
        return view, "", ""
    leads = {name: lead(guard, name, view.checkpoint, evidence) for name in view.protocols}
    out = {name: value for name, value in leads.items() if value is not None and value < guard.by}
    if not out:
        return view, "", ""
    if not view.mean_of:
        return view, f"nothing can be told: the {guard.method} arm {_short(out[view.protocol], guard)}", ""
    names = ", ".join(out)
    kept = tuple(name for name in view.mean_of if name not in out)
    if len(kept) < FEWEST:
        short = f"in {len(kept)} of {len(view.mean_of)} protocols only does the {guard.method} arm beat the most "
        return view, f"nothing can be told: {short}frequent class by {100 * guard.by:g} points", ""
    told = f"mean of {len(kept)} of {len(view.mean_of)}: where the {guard.method} arm has learned too little, left out"
    return replace(view, mean_of=kept), "", f"{told} ({names})"


def lead(guard: Guard, protocol: str, checkpoint: str, evidence: Evidence) -> float | None:
    """By how much the guard's number is above the other, on average over seeds; None where it was not measured."""
    first, second = (
        evidence.numbers(name, protocol=protocol, method=guard.method, checkpoint=checkpoint)
        for name in (guard.metric, guard.above)
    )
    leads = [first[seed] - second[seed] for seed in first if seed in second]
    return sum(leads) / len(leads) if leads else None


def _short(value: float, guard: Guard) -> str:
    points = 100 * value
    how = (
        f"beats the most frequent class by {points:.1f} points of accuracy"
        if points > 0
        else (f"is {-points:.1f} points of accuracy below the most frequent class")
    )
    return f"{how}, and it takes {100 * guard.by:g}"
