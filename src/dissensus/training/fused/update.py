"""SGD with momentum and weight decay on all parameters at once."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


def update(
    weights: Tensor, grad: Tensor, momentum: Tensor, half: Tensor | None, rate: Tensor, *, friction: float,
    decay: float, nesterov: bool,
) -> None:  # fmt: skip
    """One step of SGD in place, as ``torch.optim.SGD`` takes it; ``friction`` is what it calls momentum.

    Leaves the gradient zero for the next step, and the weights in half precision where ``half`` is given.
    """
    n = weights.numel()
    _update[(triton.cdiv(n, BLOCK),)](
        weights, grad, momentum, weights if half is None else half, n, rate, friction, decay, nesterov,
        half is not None, BLOCK, num_warps=8,
    )  # fmt: skip


@triton.jit
def _update(
    weights, grad, momentum, half, n, rate, friction, decay, nesterov: tl.constexpr, halves: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < n
    w = tl.load(weights + i, mask=inside)
    d = tl.load(grad + i, mask=inside) + decay * w
    m = friction * tl.load(momentum + i, mask=inside) + d
    w -= tl.load(rate) * (d + friction * m if nesterov else m)
    tl.store(weights + i, w, mask=inside)
    tl.store(momentum + i, m, mask=inside)
    tl.store(grad + i, tl.zeros((block,), tl.float32), mask=inside)
    if halves:
        tl.store(half + i, w, mask=inside)
