r"""Pooling, the last layer and the loss of an item in one program, with the gradients that go back.

The loss is :math:`-\sum_k t_k \log q_k`, averaged over the batch; :math:`t` is a label's one-hot row, a row of
probabilities, or with mixup the mixture of two of them (cross-entropy is linear in its target).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


def head(
    y: Tensor,
    target: Tensor,
    layer: tuple[Tensor, Tensor],
    grads: tuple[Tensor, Tensor],
    share: Tensor | None,
    partner: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The mean loss, and the gradient of ``y`` (pixels, channels); those of the layer go to ``grads``, zero before."""
    weight, bias = layer
    items, (classes, channels) = len(target), weight.shape
    pixels = len(y) // items
    g = y.new_empty(y.shape)
    pooled = weight.new_empty((items, channels))
    d_logits = weight.new_empty((items, classes))
    losses = weight.new_empty(items)
    _head[(items,)](
        y, target, weight, bias, target if share is None else share, target if partner is None else partner, g, pooled,
        d_logits, losses, grads[1], items, classes, channels, pixels, triton.next_power_of_2(classes), target.ndim == 1,
        share is not None, num_warps=4,
    )  # fmt: skip
    torch.mm(d_logits.t(), pooled, out=grads[0])
    return losses.mean(), g


@triton.jit
def _target(target, item, k, classes, labels: tl.constexpr):
    if labels:
        t = (k == tl.load(target + item)).to(tl.float32)
    else:
        t = tl.load(target + item * classes + k, mask=k < classes, other=0.0)
    return t


@triton.jit
def _head(
    y, target, weight, bias, share, partner, g, pooled, d_logits, losses, bias_grad, items, classes,
    channels: tl.constexpr, pixels: tl.constexpr, width: tl.constexpr, labels: tl.constexpr, mixed: tl.constexpr,
):  # fmt: skip
    item = tl.program_id(0)
    c, p, k = tl.arange(0, channels), tl.arange(0, pixels), tl.arange(0, width)
    at = (item * pixels + p)[:, None] * channels + c[None, :]
    f = tl.sum(tl.load(y + at).to(tl.float32), 0) / pixels
    tl.store(pooled + item * channels + c, f)
    there = k < classes
    w = tl.load(weight + k[:, None] * channels + c[None, :], mask=there[:, None], other=0.0)
    z = tl.sum(w * f[None, :], 1) + tl.load(bias + k, mask=there, other=0.0)
    z = tl.where(there, z, float("-inf"))
    z -= tl.max(z, 0)
    log_sum = tl.log(tl.sum(tl.exp(z), 0))
    t = _target(target, item, k, classes, labels)
    if mixed:
        s = tl.load(share).to(tl.float32)
        t = s * t + (1 - s) * _target(target, tl.load(partner + item), k, classes, labels)
    tl.store(losses + item, tl.sum(t * tl.where(there, log_sum - z, 0.0), 0))
    d = (tl.exp(z - log_sum) * tl.sum(t, 0) - t) / items
    tl.store(d_logits + item * classes + k, d, mask=there)
    tl.atomic_add(bias_grad + k, d, mask=there, sem="relaxed")
    back = tl.sum(w * d[:, None], 0) / pixels
    tl.store(g + at, tl.broadcast_to(back[None, :], (pixels, channels)))
