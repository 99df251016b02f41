"""SGD with momentum and weight decay on all parameters at once."""

from __future__ import annotations

from dataclasses import dataclass

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


@dataclass(frozen=True)
class Rule:
    """How SGD changes a weight, as ``torch.optim.SGD`` does; ``friction`` is what it calls momentum."""

    friction: float
    decay: float
    nesterov: bool


@dataclass(frozen=True)
class Memory:
    """Weights and their momentum in fp32, and a copy in half precision where there is one."""

    values: Tensor
    momentum: Tensor
    half: Tensor | None


def update(memory: Memory, grad: Tensor, rate: Tensor, rule: Rule) -> None:
    """One step of SGD in place. Leaves the gradient zero for the next step."""
    n = memory.values.numel()
    _update[(triton.cdiv(n, BLOCK),)](
        memory.values, grad, memory.momentum, memory.values if memory.half is None else memory.half, n, rate,
        rule.friction, rule.decay, rule.nesterov, memory.half is not None, BLOCK, num_warps=8,
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
