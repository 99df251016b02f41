"""The top eigenvalue as it is usually published; :mod:`~dissensus.diagnostics.lanczos` is what to trust."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor, nn

from dissensus.diagnostics.hvp import Array, Hessian, Options
from dissensus.diagnostics.lanczos import Eigenvalue, Operator, start
from dissensus.metrics.checks import as_whole


def power_iteration(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    *,
    tolerance: float = 1e-3,
    seed: int = 0,
    most: int = 100,
    **options: Unpack[Options],
) -> Eigenvalue:
    r"""The eigenvalue of largest size by power iteration with the stopping rule of PyHessian (Yao et al., 2020).

    :math:`v \leftarrow Hv / \|Hv\|` until :math:`\lambda = v'Hv` changes by less than ``tolerance`` of itself. That
    it stands still does not say that it is there: with many eigenvalues close below :math:`\lambda_1` it moves by a
    thousandth a step while it is some per cent too low. The residual, which the rule does not look at, is given beside
    it. Where a negative eigenvalue is the largest in size, it is found instead.

    >>> import numpy as np
    >>> model = nn.Linear(200, 1, bias=False)
    >>> x, bent = np.eye(200, dtype=np.float32), np.linspace(0, 200, 200, dtype=np.float32)[:, None]
    >>> square = lambda outputs, targets: (targets * outputs**2).sum(1) / 2
    >>> found = power_iteration(model, x, bent, loss=square)  # of a diagonal from 0 to 1
    >>> found.converged, found.value < 0.99, found.residual > 0.01  # it says that it is there
    (True, True, True)
    >>> bent[0] = -400  # and of one with -2
    >>> round(power_iteration(model, x, bent, loss=square).value, 2)
    -2.0
    """
    hessian = Hessian(model, inputs, targets, **options)
    return iterated(hessian, start(hessian, seed), tolerance, most)


def iterated(operator: Operator, vector: Tensor, tolerance: float, most: int) -> Eigenvalue:
    """Power iteration from ``vector``; ``converged`` says that the rule stopped it, not that the value is right."""
    before = None
    for products in range(1, as_whole("most", most, least=1) + 1):
        vector = vector / vector.norm()
        product = operator(vector[None])[0]
        value = float(vector @ product)
        stands = before is not None and abs(value - before) / (abs(before) + 1e-6) < tolerance
        if stands or products == most or not product.any():
            return Eigenvalue(value, float((product - value * vector).norm()), products, stands or not product.any())
        before, vector = value, product
    raise AssertionError("most is at least 1")
