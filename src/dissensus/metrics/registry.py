"""Every metric by its name: what it needs, which way is better, whether it has a human ceiling and a noise floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.errors import InputError, unknown
from dissensus.metrics.calibration import debiased_ece, ece
from dissensus.metrics.decisions import accuracy
from dissensus.metrics.decomposition import brier, brier_reliability, brier_resolution, brier_uncertainty
from dissensus.metrics.distances import (
    manhattan,
    soft_accuracy,
    soft_brier,
    soft_micro_f1,
    total_variation,
    wasserstein,
)
from dissensus.metrics.divergences import js_distance, kl, soft_nll
from dissensus.metrics.entropies import entropy_correlation, entropy_correlation_pearson, entropy_gap
from dissensus.metrics.risk_coverage import aurc
from dissensus.metrics.smooth import smooth_ece


@dataclass(frozen=True)
class Metric:
    """A metric and what one has to know to report it. Calling it gives the number of a set.

    >>> METRICS["soft_brier"]([[1.0, 0.0], [0.5, 0.5]], human=[[0.5, 0.5], [0.5, 0.5]])
    0.25
    """

    name: str
    title: str  # short, for the heads of tables
    function: Callable[..., Any]
    needs: Literal["human", "labels"]  # its second argument
    higher_is_better: bool | None  # None: neither way is
    per_item: bool = False  # one number an item, whose mean is the number of the set
    ordered_only: bool = False  # has a meaning for ordered classes only
    simplex: bool = True  # needs one class a vote; if not, it takes per-class shares too
    can_be_infinite: bool = False  # where a probability is exactly 0
    correlation: bool = False  # its ceiling can be corrected for the votes that halving takes away
    top_class: bool = False  # its labels are the most frequent votes; if not, a vote like any other will do
    has_ceiling: bool = True
    has_floor: bool = True

    def __call__(self, probs: ArrayLike, human: ArrayLike | None = None, labels: ArrayLike | None = None) -> float:
        """The number of the set; of ``human`` and ``labels`` only the one that it needs is looked at."""
        against = human if self.needs == "human" else labels
        if against is None:
            raise InputError(f"{self.name} needs {self.needs}, but none were given.")
        return float(np.mean(self.function(probs, against)))


def metric(name: str) -> Metric:
    """The metric of that name, or an error that lists the names."""
    if name not in METRICS:
        raise InputError(unknown("metric", name, METRICS))
    return METRICS[name]


def _human(function: Callable[..., Any], title: str, *, higher: bool | None = False, **more: Any) -> Metric:
    return Metric(function.__name__, title, function, "human", higher, **{"per_item": True, **more})


def _labels(function: Callable[..., Any], title: str, *, higher: bool | None = False, **more: Any) -> Metric:
    # half of the annotators say a distribution of votes, not one of labels: no ceiling but for the top class
    return Metric(function.__name__, title, function, "labels", higher, **{"has_ceiling": False, **more})


METRICS: dict[str, Metric] = {
    entry.name: entry
    for entry in (
        _human(soft_nll, "soft NLL", can_be_infinite=True),
        _human(kl, "KL", can_be_infinite=True),
        _human(soft_brier, "soft Brier"),
        _human(js_distance, "JS distance"),
        _human(total_variation, "total variation"),
        _human(manhattan, "L1"),
        _human(wasserstein, "Wasserstein", ordered_only=True),
        _human(soft_accuracy, "soft accuracy", higher=True),
        _human(soft_micro_f1, "soft micro F1", higher=True, per_item=False, simplex=False),
        _human(entropy_correlation, "EntCorr", higher=True, per_item=False, correlation=True),
        _human(entropy_correlation_pearson, "EntCorr (Pearson)", higher=True, per_item=False, correlation=True),
        _human(entropy_gap, "entropy gap", higher=None),
        _labels(accuracy, "accuracy", higher=True, top_class=True, has_ceiling=True),
        _labels(ece, "ECE"),
        _labels(debiased_ece, "debiased ECE"),
        _labels(smooth_ece, "smooth ECE"),
        _labels(brier, "Brier", per_item=True),
        _labels(brier_reliability, "reliability"),
        _labels(brier_resolution, "resolution", higher=True),
        _labels(brier_uncertainty, "uncertainty", higher=None, has_floor=False),
        _labels(aurc, "AURC", top_class=True),
    )
}
