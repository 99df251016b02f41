"""Where training ended up: curvature, basins, representations, attention, gradients, out-of-distribution scores.

A function takes any ``torch.nn.Module``, inputs and targets, or arrays alone, and returns numbers with names and, where
they are estimates, their standard errors. Each is imported when it is first used; those of arrays need no torch.
"""

# ruff: noqa: F401 - the names for type checkers are those of the table

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import require

if TYPE_CHECKING:
    from dissensus.diagnostics.alignment import aligned, renamed
    from dissensus.diagnostics.barrier import Barrier, barrier, barrier_with_reset_statistics
    from dissensus.diagnostics.cam_stability import Stability, cam_stability
    from dissensus.diagnostics.card import card
    from dissensus.diagnostics.correlation import Correlation, partial_spearman, spearman
    from dissensus.diagnostics.curvature import Curvature, curvature
    from dissensus.diagnostics.dynamics import Dynamics, dynamics
    from dissensus.diagnostics.gradcam import gradcam
    from dissensus.diagnostics.gradient_variance import (
        GradientVariance,
        against_entropy,
        gradient_variance,
        logit_variance,
        sampled_gradient_variance,
    )
    from dissensus.diagnostics.hvp import Hessian, hvp
    from dissensus.diagnostics.lanczos import Eigenvalue, Eigenvalues, top_eigenvalue, top_eigenvalues
    from dissensus.diagnostics.last_layer import LastLayer, gradient_variance_of, last_layer
    from dissensus.diagnostics.odin import odin
    from dissensus.diagnostics.ood import (
        Separation,
        aupr,
        auroc,
        auroc_error,
        energy,
        entropy_score,
        fpr_at_95,
        knn,
        margin,
        msp,
        separation,
    )
    from dissensus.diagnostics.power_iteration import power_iteration
    from dissensus.diagnostics.proposition import proposition_deviation
    from dissensus.diagnostics.registry import DIAGNOSTICS
    from dissensus.diagnostics.shared_items import shared_items
    from dissensus.diagnostics.similarity import Similarity, cka_errors, debiased_cka, linear_cka, similarity_over_seeds
    from dissensus.diagnostics.sparse_target import Relation, SparseTarget, relation, sparse_target
    from dissensus.diagnostics.trace import Trace, deflated_trace, hessian_trace
    from dissensus.diagnostics.units import Group, unit_groups

# One line for every public name: the file it lives in.
_HOME_OF = {
    "aligned": "alignment",
    "renamed": "alignment",
    "Barrier": "barrier",
    "barrier": "barrier",
    "barrier_with_reset_statistics": "barrier",
    "Stability": "cam_stability",
    "cam_stability": "cam_stability",
    "card": "card",
    "Correlation": "correlation",
    "partial_spearman": "correlation",
    "spearman": "correlation",
    "Curvature": "curvature",
    "curvature": "curvature",
    "Dynamics": "dynamics",
    "dynamics": "dynamics",
    "gradcam": "gradcam",
    "GradientVariance": "gradient_variance",
    "against_entropy": "gradient_variance",
    "gradient_variance": "gradient_variance",
    "logit_variance": "gradient_variance",
    "sampled_gradient_variance": "gradient_variance",
    "Hessian": "hvp",
    "hvp": "hvp",
    "Eigenvalue": "lanczos",
    "Eigenvalues": "lanczos",
    "top_eigenvalue": "lanczos",
    "top_eigenvalues": "lanczos",
    "LastLayer": "last_layer",
    "gradient_variance_of": "last_layer",
    "last_layer": "last_layer",
    "odin": "odin",
    "Separation": "ood",
    "aupr": "ood",
    "auroc": "ood",
    "auroc_error": "ood",
    "energy": "ood",
    "entropy_score": "ood",
    "fpr_at_95": "ood",
    "knn": "ood",
    "margin": "ood",
    "msp": "ood",
    "separation": "ood",
    "power_iteration": "power_iteration",
    "proposition_deviation": "proposition",
    "DIAGNOSTICS": "registry",
    "shared_items": "shared_items",
    "Similarity": "similarity",
    "cka_errors": "similarity",
    "debiased_cka": "similarity",
    "linear_cka": "similarity",
    "similarity_over_seeds": "similarity",
    "Relation": "sparse_target",
    "SparseTarget": "sparse_target",
    "relation": "sparse_target",
    "sparse_target": "sparse_target",
    "Trace": "trace",
    "deflated_trace": "trace",
    "hessian_trace": "trace",
    "Group": "units",
    "unit_groups": "units",
}

__all__ = list(_HOME_OF)


class _Room(ModuleType):
    """Some functions have the name of their file; importing the file, which Python notes here, must not hide them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus.diagnostics' has no attribute {name!r}")
    try:
        home = importlib.import_module(f"dissensus.diagnostics.{_HOME_OF[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        require("torch", extra="train")  # says which extra brings it
        raise
    return getattr(home, name)
