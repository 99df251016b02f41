"""The largest eigenvalues of the Hessian, with a residual that says how far each can be from one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.diagnostics.directions import normals
from dissensus.diagnostics.hvp import Array, Hessian, Options
from dissensus.metrics.checks import as_whole

Operator: TypeAlias = Callable[[Tensor], Tensor]  # rows of vectors to rows of products

MOST = 200  # products; 1 % took 10 to 20 for the nets that were measured


@dataclass(frozen=True)
class Eigenvalue:
    r"""An eigenvalue lies within ``residual`` :math:`= \|Hu - \lambda u\|` of ``value``; it cost ``products``."""

    value: float
    residual: float
    products: int
    converged: bool


@dataclass(frozen=True)
class Eigenvalues:
    """The first k, largest first, with their residuals; ``converged`` if all passed the residual test."""

    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    products: int
    converged: bool


def top_eigenvalue(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    *,
    tolerance: float = 0.01,
    seed: int = 0,
    most: int = MOST,
    **options: Unpack[Options],
) -> Eigenvalue:
    r"""The largest eigenvalue :math:`\lambda_{\max}` of the Hessian of the mean loss: the sharpness of a minimum.

    :math:`\max_v v'Hv / v'v` (Keskar et al., 2017, and many since). Largest, not largest in size: a dominant negative
    eigenvalue, at a saddle, is not returned. See :func:`top_eigenvalues` for the method (Lanczos, 1950) and
    :class:`~dissensus.diagnostics.Hessian` for ``options``.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> x, bent = np.eye(2, dtype=np.float32), np.array([[-10.0], [4.0]], np.float32)
    >>> saddle = lambda outputs, targets: (targets * outputs**2).sum(1) / 2
    >>> top = top_eigenvalue(model, x, bent, loss=saddle)  # of diag(-5, 2), the mean over two items
    >>> round(top.value, 4), top.products
    (2.0, 2)
    """
    hessian = Hessian(model, inputs, targets, **options)
    return first(krylov(hessian, start(hessian, seed), 1, tolerance, most), tolerance)


def top_eigenvalues(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    k: int = 1,
    *,
    tolerance: float = 0.01,
    seed: int = 0,
    most: int = MOST,
    **options: Unpack[Options],
) -> Eigenvalues:
    r"""The ``k`` largest eigenvalues by Lanczos (1950), fully reorthogonalised.

    After m products the Hessian on the Krylov space :math:`\{v, Hv, \dots, H^{m-1}v\}` is a tridiagonal T. An
    eigenpair :math:`(\lambda, s)` of T has the residual :math:`\beta_m |s_m|`, and H an eigenvalue within it; we stop
    when the first k have residuals of at most ``tolerance`` :math:`\cdot |\lambda|`, or after ``most`` products. The
    error is usually far smaller than the residual, about its square over the gap. One vector of the size of the model
    is kept for every product. Of an eigenvalue that occurs several times, one is found.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> x = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    >>> squared = lambda outputs, targets: (outputs - targets).square().sum(1)
    >>> top_eigenvalues(model, x, x[:, :1], 2, loss=squared).values.round(4)
    array([4., 1.])
    """
    hessian = Hessian(model, inputs, targets, **options)
    if not 1 <= as_whole("k", k, least=0) <= hessian.size:
        raise InputError(f"k must lie in 1 to {hessian.size}, the number of parameters, but is {k}.")
    if most < k:
        raise InputError(f"most must be at least k, since every eigenvalue takes a product, but {most} is below {k}.")
    return krylov(hessian, start(hessian, seed), k, tolerance, most).eigenvalues(k, tolerance)


@dataclass(frozen=True)
class Krylov:
    """An orthonormal basis of a Krylov space, the operator on it, and how much leads out of it."""

    basis: list[Tensor]
    diagonal: NDArray[np.float64]
    beside: NDArray[np.float64]  # one fewer
    out: float  # the norm of what the next vector would be
    beyond: Tensor  # that vector, not normalised: the operator takes the last of the basis out of the space along it

    @property
    def matrix(self) -> NDArray[np.float64]:
        return np.diag(self.diagonal) + np.diag(self.beside, 1) + np.diag(self.beside, -1)

    def eigenvalues(self, k: int, tolerance: float) -> Eigenvalues:
        values, vectors = np.linalg.eigh(self.matrix)
        values, residuals = values[::-1][:k], self.out * np.abs(vectors[-1, ::-1][:k])
        passed = len(values) == k and bool((residuals <= tolerance * np.abs(values)).all())
        return Eigenvalues(values, residuals, len(self.diagonal), passed)


def krylov(operator: Operator, vector: Tensor, k: int, tolerance: float, most: int) -> Krylov:
    """Lanczos from ``vector`` until the first ``k`` eigenvalues pass the residual test, or ``most`` products."""
    most = as_whole("most", most, least=1)
    if not tolerance >= 0:
        raise InputError(f"tolerance must be 0 or a positive number, but is {tolerance!r}.")
    basis: list[Tensor] = []
    diagonal: list[float] = []
    beside: list[float] = []
    vector = vector / vector.norm()
    while True:
        basis.append(vector)
        product = operator(vector[None])[0]
        diagonal.append(float(vector @ product))
        vector = _orthogonal(product, basis)
        out = float(vector.norm())
        space = Krylov(
            basis, np.array(diagonal), np.array(beside), _or_zero(out, diagonal, beside, vector.dtype), vector
        )
        if space.eigenvalues(k, tolerance).converged or len(basis) >= min(most, len(vector)):
            return space
        if space.out == 0:  # the space is closed: k eigenvalues need another one beside it
            vector = _orthogonal(product.new_tensor(stream(len(basis), "lanczos").standard_normal(len(vector))), basis)
        beside.append(space.out)
        vector = vector / vector.norm()


def first(space: Krylov, tolerance: float) -> Eigenvalue:
    """The largest eigenvalue that the space holds."""
    found = space.eigenvalues(1, tolerance)
    return Eigenvalue(float(found.values[0]), float(found.residuals[0]), found.products, found.converged)


def start(hessian: Hessian, seed: int) -> Tensor:
    """A direction at random: the same for a seed on every device."""
    return normals(hessian.size, seed, "lanczos").to(hessian.device, hessian.dtype, copy=True)


def _orthogonal(vector: Tensor, basis: list[Tensor]) -> Tensor:
    """Twice, since once leaves rounding errors as large as what is left when most of the vector goes."""
    for _ in range(2):
        for direction in basis:
            vector = vector - (direction @ vector) * direction
    return vector


def _or_zero(out: float, diagonal: list[float], beside: list[float], dtype: torch.dtype) -> float:
    """What is only rounding counts as nothing."""
    size = max(map(abs, [*diagonal, *beside]))
    return 0.0 if out <= 10 * torch.finfo(dtype).eps * size else out
