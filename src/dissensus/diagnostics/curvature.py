"""How sharp the place is where training ended: the curvature of one model, and its scale-free companions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.diagnostics.hvp import Array, Hessian, Options
from dissensus.diagnostics.lanczos import MOST, Eigenvalue, Krylov, first, krylov, start
from dissensus.diagnostics.trace import estimate, probed


@dataclass(frozen=True)
class Curvature:
    r"""``trace`` is Hutchinson's; ``deflated_trace`` is the better estimate from the same products.

    :math:`\lambda_{\max}` and the trace grow when weights shrink, though the function stays the same. What follows
    ``weight_norm`` does not: ``trace_times_norm`` (:math:`\mathrm{tr}\,H \cdot \|\theta\|^2`) does not change when all
    weights that a norm follows are scaled together, ``filter_normalised_top`` not when each filter is scaled by itself.
    """

    top_eigenvalue: float
    top_residual: float
    trace: float
    trace_se: float
    deflated_trace: float
    deflated_trace_se: float
    weight_norm: float
    trace_times_norm: float
    filter_normalised_top: float
    filter_normalised_residual: float
    products: int
    seconds: float


def curvature(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    *,
    probes: int = 50,
    tolerance: float = 0.01,
    seed: int = 0,
    most: int = MOST,
    **options: Unpack[Options],
) -> Curvature:
    r"""The top eigenvalue to ``tolerance``, the trace from ``probes``, and both in units of the weights.

    The filter-normalised top is the largest eigenvalue of :math:`DHD`, with :math:`D` the norm of the filter (the row
    of a weight) that a parameter belongs to, and :math:`|\theta_i|` for biases and the scales of a norm: the curvature
    along directions that are normalised as by Li et al. (2018).

    >>> _ = torch.manual_seed(0)
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> x, y = torch.randn(50, 4), torch.arange(50) % 3
    >>> told = curvature(model, x, y)
    >>> abs(told.deflated_trace - told.trace) < 3 * told.trace_se
    True
    >>> with torch.no_grad():  # the same function with other weights
    ...     for parameter, factor in zip(model.parameters(), (5, 5, 1 / 5, 1), strict=True):
    ...         _ = parameter.mul_(factor)
    >>> scaled = curvature(model, x, y)
    >>> scaled.top_eigenvalue / told.top_eigenvalue > 2
    True
    >>> round(scaled.filter_normalised_top / told.filter_normalised_top, 2)
    1.0
    """
    return curvature_by(Hessian(model, inputs, targets, **options), probes, tolerance, seed, most)


def curvature_by(
    hessian: Hessian,
    probes: int,
    tolerance: float,
    seed: int,
    most: int = MOST,
    known: NDArray[np.float64] | None = None,
) -> Curvature:
    """The curvature of a Hessian; ``known`` are the forms of the probes, where another pass has found them."""
    began = time.perf_counter()
    tops = tops_by(hessian, tolerance, seed, most)
    values = probed(hessian, probes, seed, tops.space, known)
    plain, deflated = estimate(values.plain), estimate(values.rest, known=float(tops.space.diagonal.sum()))
    norm = float(torch.cat([value.flatten() for value in hessian.parameters.values()]).norm())
    return Curvature(
        top_eigenvalue=tops.plain.value,
        top_residual=tops.plain.residual,
        trace=plain.value,
        trace_se=plain.standard_error,
        deflated_trace=deflated.value,
        deflated_trace_se=deflated.standard_error,
        weight_norm=norm,
        trace_times_norm=plain.value * norm**2,
        filter_normalised_top=tops.filter_normalised.value,
        filter_normalised_residual=tops.filter_normalised.residual,
        products=hessian.products,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True)
class Tops:
    """The largest eigenvalue of a Hessian, and that of it along filter-normalised directions."""

    plain: Eigenvalue
    filter_normalised: Eigenvalue
    space: Krylov  # in which the plain one was found


def tops_by(hessian: Hessian, tolerance: float, seed: int, most: int = MOST) -> Tops:
    """What :func:`curvature_by` says without probes, at a quarter of its time: no trace."""
    space = krylov(hessian, start(hessian, seed), 1, tolerance, most)
    scale = filter_norms(hessian)
    scaled = krylov(lambda v: scale * hessian(scale * v), start(hessian, seed), 1, tolerance, most)
    return Tops(first(space, tolerance), first(scaled, tolerance), space)


def filter_norms(hessian: Hessian) -> Tensor:
    """For every parameter the norm of its filter, or its own size where it is one of a vector, (size,)."""
    return torch.cat(
        [
            (
                value.flatten(1).norm(dim=1)[:, None].expand(-1, value[0].numel()) if value.ndim > 1 else value.abs()
            ).flatten()
            for value in hessian.parameters.values()
        ]
    )
