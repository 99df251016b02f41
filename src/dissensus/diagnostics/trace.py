"""The trace of the Hessian from random probes, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.directions import packed_signs
from dissensus.diagnostics.hvp import Array, Hessian, Options
from dissensus.diagnostics.lanczos import Krylov, krylov, start
from dissensus.metrics.checks import as_whole

TOGETHER = 10  # probes a pass: they share one gradient


@dataclass(frozen=True)
class Trace:
    """An estimate of the trace, its standard error over the probes, and how many products it cost."""

    value: float
    standard_error: float
    probes: int
    products: int


def hessian_trace(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    probes: int = 50,
    *,
    seed: int = 0,
    **options: Unpack[Options],
) -> Trace:
    r"""The trace by Hutchinson (1990): the mean of :math:`z'Hz` over probes z of random signs.

    Unbiased, with the variance :math:`2 (\|H\|_F^2 - \sum_i H_{ii}^2)` a probe. The number of probes is fixed
    beforehand: stopping when the running mean stands still, as is usual, gives no error and can be 5 % off.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> x = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    >>> squared = lambda outputs, targets: (outputs - targets).square().sum(1)
    >>> hessian_trace(model, x, x[:, :1], probes=4, loss=squared)  # diag(4, 1): exact, as for every diagonal
    Trace(value=5.0, standard_error=0.0, probes=4, products=4)
    """
    hessian = Hessian(model, inputs, targets, **options)
    return estimate(probed(hessian, probes, seed).plain, products=hessian.products)


def deflated_trace(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    probes: int = 50,
    *,
    rank: int = 10,
    seed: int = 0,
    **options: Unpack[Options],
) -> Trace:
    r"""The trace with less variance: exact on a Krylov space Q of ``rank`` dimensions, by probes on the rest.

    :math:`\mathrm{tr}\,H = \mathrm{tr}\,Q'HQ + \mathrm{E}\,z'(I - QQ')H(I - QQ')z`. The large eigenvalues, which
    make most of Hutchinson's variance, are in Q after a few products: Hutch++ (Meyer et al., 2021) with the space of
    Lanczos instead of a random one, where :math:`Q'HQ` is known without further products (Chen & Hallman, 2023).

    >>> model = nn.Linear(2, 1, bias=False)
    >>> x = np.array([[2.0, 1.0], [0.0, 1.0]], np.float32)
    >>> squared = lambda outputs, targets: (outputs - targets).square().sum(1)
    >>> told = deflated_trace(model, x, x[:, :1], probes=4, rank=2, loss=squared)
    >>> round(told.value, 4), told.standard_error < 1e-5, told.products  # 4 + 2 = 6, and Q is everything
    (6.0, True, 6)
    """
    hessian = Hessian(model, inputs, targets, **options)
    if not 1 <= as_whole("rank", rank, least=0) <= hessian.size:
        raise InputError(f"rank must lie in 1 to {hessian.size}, the number of parameters, but is {rank}.")
    space = krylov(hessian, start(hessian, seed), rank, 0.0, rank)
    values = probed(hessian, probes, seed, space)
    return estimate(values.rest, known=float(space.diagonal.sum()), products=hessian.products)


@dataclass(frozen=True)
class Probed:
    """For every probe :math:`z'Hz`, and the same for what of z lies outside a Krylov space."""

    plain: NDArray[np.float64]
    rest: NDArray[np.float64]


def probed(
    hessian: Hessian,
    probes: int,
    seed: int,
    outside: Krylov | None = None,
    known: NDArray[np.float64] | None = None,
) -> Probed:
    r"""One form a probe serves both: :math:`w'Hw = z'Hz - 2 c'd + c'Tc` for :math:`w = z - Qc`, with :math:`c = Q'z`,
    :math:`T = Q'HQ`, and :math:`d = Q'Hz = Tc + e_m r'z`, since Lanczos leaves :math:`HQ = QT + r e_m'`. ``known`` are
    the forms, where another pass has found them.
    """
    probes = as_whole("probes", probes, least=2)  # one has no standard error
    plain, rest = [], []
    for low in range(0, probes, TOGETHER):
        z = _signs_from(hessian, probes, seed, low)
        plain.append(
            hessian.forms(z).double() if known is None else torch.from_numpy(known[low : low + len(z)]).to(z.device)
        )
        rest.append(plain[-1] if outside is None else plain[-1] - _inside(z, outside))
    return Probed(torch.cat(plain).cpu().numpy(), torch.cat(rest).cpu().numpy())


def probed_by_item(hessian: Hessian, probes: int, seed: int) -> NDArray[np.float64] | None:
    """The forms of every item, (probes, items); None where items cannot be told apart."""
    found = []
    for low in range(0, as_whole("probes", probes, least=2), TOGETHER):
        forms = hessian.forms_by_item(_signs_from(hessian, probes, seed, low))
        if forms is None:
            return None
        found.append(forms.double())
    return torch.cat(found).cpu().numpy()


def _signs_from(hessian: Hessian, probes: int, seed: int, low: int) -> Tensor:
    return torch.stack([signs(hessian, seed, probe) for probe in range(low, min(low + TOGETHER, probes))])


def _inside(z: Tensor, space: Krylov) -> Tensor:
    c = torch.stack([z @ direction for direction in space.basis], 1).double()
    d = c @ torch.from_numpy(space.matrix).to(c.device)
    across = 2 * c[:, -1] * (z @ space.beyond).double()
    return torch.linalg.vecdot(c, d) + across


def signs(hessian: Hessian, seed: int, probe: int) -> Tensor:
    """-1 or 1 for every parameter: 64 from every number drawn, unpacked where the model is."""
    packed = packed_signs(hessian.size, seed, probe).to(hessian.device)
    ones = (packed[:, None] >> torch.arange(8, dtype=torch.uint8, device=hessian.device)) & 1
    return ones.flatten()[: hessian.size].to(hessian.dtype) * 2 - 1


def estimate(numbers: NDArray[np.float64], *, known: float = 0.0, products: int = 0) -> Trace:
    """The mean of the probes beside what is ``known`` exactly."""
    error = float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return Trace(known + float(numbers.mean()), error, len(numbers), products)
