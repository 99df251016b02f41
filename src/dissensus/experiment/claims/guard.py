"""A model that has learned nothing can lose nothing by its labels: where it has not, no claim is decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dissensus.experiment.papers import Evidence
from dissensus.metrics import METRICS

if TYPE_CHECKING:
    from dissensus.experiment.claims.claim import View

FEWEST = 2  # protocols of an average


@dataclass(frozen=True)
class Guard:
    """A method must beat what can be said without a model, by so much on average over seeds."""

    name: str
    says: str  # in words, after "must"
    method: str
    metric: str
    by: float
    than: str = ""  # the number that it is held against; by itself the same metric
    yardstick: str = ""  # of what: a prediction without a look at the item


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
    must = f"{guard.method} must {guard.says}"
    if not view.mean_of:
        return view, f"{must}, and leads by {out[view.protocol]:+.3f}", ""
    kept = tuple(name for name in view.mean_of if name not in out)
    if len(kept) < FEWEST:
        return view, f"{must}, and does in {len(kept)} of {len(view.mean_of)} protocols", ""
    told = f"the mean is that of {len(kept)} of {len(view.mean_of)} protocols: {must}, and does not in {', '.join(out)}"
    return replace(view, mean_of=kept), "", told


def lead(guard: Guard, protocol: str, checkpoint: str, evidence: Evidence) -> float | None:
    """By how much the method is better than what it is held against, mean over seeds; None where not measured."""
    sign = 1 if METRICS[guard.metric].higher_is_better else -1
    first = evidence.numbers(guard.metric, protocol=protocol, method=guard.method, checkpoint=checkpoint)
    second = evidence.numbers(
        guard.than or guard.metric,
        protocol=protocol,
        method=guard.method,
        checkpoint=checkpoint,
        other=guard.yardstick,
    )
    leads = [sign * (first[seed] - second[seed]) for seed in first if seed in second]
    return sum(leads) / len(leads) if leads else None
