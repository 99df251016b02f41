"""Pure functions of arrays: how well predictions reproduce what annotators said, and how well they could.

``probs`` and ``human`` are (items, classes) with rows that sum to 1, ``labels`` one class an item. Per item:
:func:`soft_nll`, :func:`kl`, :func:`soft_brier`, :func:`js_distance`, :func:`total_variation`, :func:`manhattan`,
:func:`soft_accuracy`, :func:`wasserstein`, :func:`entropy_gap`, :func:`brier`. The others give one number for a set.
``METRICS`` lists them all; :func:`ceiling` and :func:`floor` say which numbers can be reached.
"""

from __future__ import annotations

from dissensus.metrics.calibration import Reliability, debiased_ece, ece, reliability
from dissensus.metrics.ceilings import ceiling, corrected_ceiling, halves
from dissensus.metrics.decisions import accuracy
from dissensus.metrics.decomposition import (
    BrierDecomposition,
    brier,
    brier_decomposition,
    brier_reliability,
    brier_resolution,
    brier_uncertainty,
)
from dissensus.metrics.distances import (
    manhattan,
    soft_accuracy,
    soft_brier,
    soft_micro_f1,
    total_variation,
    wasserstein,
)
from dissensus.metrics.divergences import js_distance, kl, soft_nll
from dissensus.metrics.entropies import (
    entropy,
    entropy_correlation,
    entropy_correlation_pearson,
    entropy_gap,
    most_disputed,
)
from dissensus.metrics.estimate import Estimate
from dissensus.metrics.floors import floor
from dissensus.metrics.logits import log_softmax, soft_cross_entropy, softmax
from dissensus.metrics.registry import METRICS, Metric
from dissensus.metrics.risk_coverage import (
    RiskCoverage,
    aurc,
    excess_aurc,
    risk_coverage,
    soft_aurc,
    soft_risk_coverage,
)
from dissensus.metrics.smooth import SmoothReliability, smooth_ece, smooth_reliability
from dissensus.metrics.temperature import fit_temperature

__all__ = [
    "METRICS",
    "BrierDecomposition",
    "Estimate",
    "Metric",
    "Reliability",
    "RiskCoverage",
    "SmoothReliability",
    "accuracy",
    "aurc",
    "brier",
    "brier_decomposition",
    "brier_reliability",
    "brier_resolution",
    "brier_uncertainty",
    "ceiling",
    "corrected_ceiling",
    "debiased_ece",
    "ece",
    "entropy",
    "entropy_correlation",
    "entropy_correlation_pearson",
    "entropy_gap",
    "excess_aurc",
    "fit_temperature",
    "floor",
    "halves",
    "js_distance",
    "kl",
    "log_softmax",
    "manhattan",
    "most_disputed",
    "reliability",
    "risk_coverage",
    "smooth_ece",
    "smooth_reliability",
    "soft_accuracy",
    "soft_aurc",
    "soft_brier",
    "soft_cross_entropy",
    "soft_micro_f1",
    "soft_nll",
    "soft_risk_coverage",
    "softmax",
    "total_variation",
    "wasserstein",
]
