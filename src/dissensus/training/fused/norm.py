r"""Batch-norm, ReLU and the residual sum of a block as few passes over memory, forward and backward.

An activation is a matrix :math:`z` of pixels and channels, :math:`M \times C`, as channels-last memory holds it. With
mean :math:`\mu`, variance :math:`\sigma^2`, weight :math:`w` and bias :math:`b` of a channel,

.. math:: y = \mathrm{relu}\big((z - \mu)\, r w + b + \text{residual}\big), \qquad r = (\sigma^2 + \epsilon)^{-1/2}

and backward, with :math:`g` the gradient where :math:`y > 0` and :math:`\hat z = (z - \mu) r`,

.. math:: \mathrm{d}b = \sum g, \quad \mathrm{d}w = \sum g \hat z, \quad
          \mathrm{d}z = r w \big(g - \mathrm{d}b / M - \hat z\, \mathrm{d}w / M\big).

Sums over pixels are partial sums of a program, added up by atomics: 264 programs were the fastest on an H200 (two for
each of its 132 processors). The residual may be a batch-norm itself, that of the shortcut.
"""

from __future__ import annotations

from dataclasses import dataclass

import triton
import triton.language as tl
from torch import Tensor, nn

TILE = 4096  # numbers a program holds at a time: 1.255 ms a step on an H200, four runs side by side; with 2048 1.268
PROGRAMS = 264


@dataclass(frozen=True)
class Norm:
    """The tensors of one batch-norm: parameters, where their gradients go, running statistics, sums of the batch."""

    weight: Tensor
    bias: Tensor
    weight_grad: Tensor  # zero at the start of a step
    bias_grad: Tensor
    mean: Tensor
    var: Tensor
    sums: Tensor  # (2, channels): of z and of z squared; zero at the start of a step
    eps: float
    momentum: float

    @classmethod
    def of(cls, module: nn.BatchNorm2d, weight_grad: Tensor, bias_grad: Tensor, sums: Tensor) -> Norm:
        assert module.running_mean is not None
        assert module.running_var is not None
        assert module.momentum is not None
        mean, var = module.running_mean, module.running_var
        return cls(module.weight, module.bias, weight_grad, bias_grad, mean, var, sums, module.eps, module.momentum)


def moments(z: Tensor, norm: Norm) -> None:
    """Add the sums of z and of its squares to those of the norm."""
    pixels, channels = z.shape
    rows, programs, share = _shares(pixels, channels)
    _moments[(programs,)](z, norm.sums, pixels, channels, share, rows, num_warps=4)


def normalised(
    z: Tensor, norm: Norm, residual: Tensor | None = None, shortcut: Norm | None = None, *, evaluate: bool = False,
    relu: bool = True,
) -> Tensor:  # fmt: skip
    """relu(norm(z) + residual), where the residual goes through the ``shortcut`` norm if there is one.

    In training the norms' sums must be there, and their running statistics move; in evaluation those are used.
    """
    pixels, channels = z.shape
    y = z.new_empty(z.shape)
    other = norm if shortcut is None else shortcut
    rows = _rows(channels)
    _normalise[(triton.cdiv(pixels, rows),)](
        z, norm.sums, norm.mean, norm.var, norm.weight, norm.bias,
        z if residual is None else residual, other.sums, other.mean, other.var, other.weight, other.bias,
        y, pixels, norm.eps, norm.momentum, channels, _joins(residual, shortcut), evaluate, relu, rows, num_warps=4,
    )  # fmt: skip
    return y


def gradient_sums(
    g: Tensor, z: Tensor, norm: Norm, y: Tensor | None = None, other: Tensor | None = None,
    residual: Tensor | None = None, shortcut: Norm | None = None,
) -> None:  # fmt: skip
    """Add the gradients of weight and bias to those of the norm, and of the shortcut's.

    With ``y``, the output of a block: ``g`` becomes (g + other) where y is above 0, in place. Without it the mask
    follows from ``z``, and ``g`` stays as it is.
    """
    pixels, channels = z.shape
    rows, programs, share = _shares(pixels, channels)
    second = norm if shortcut is None else shortcut
    _gradient_sums[(programs,)](
        g, g if other is None else other, z if y is None else y, z, norm.sums, norm.weight, norm.bias,
        norm.weight_grad, norm.bias_grad, z if residual is None else residual, second.sums, second.weight_grad,
        second.bias_grad, pixels, norm.eps, channels, y is not None, other is not None, shortcut is not None, share,
        rows, num_warps=4,
    )  # fmt: skip


def input_gradients(
    g: Tensor, z: Tensor, norm: Norm, *, masked: bool, residual: Tensor | None = None, shortcut: Norm | None = None
) -> tuple[Tensor, Tensor]:
    """The gradient of z, and that of the residual: through the shortcut's norm, or g itself without one.

    ``masked`` says that g is already zero where ReLU was; else the mask follows from z.
    """
    pixels, channels = z.shape
    dz = z.new_empty(z.shape)
    d_residual = g if shortcut is None else z.new_empty(z.shape)
    second = norm if shortcut is None else shortcut
    rows = _rows(channels)
    _input_gradients[(triton.cdiv(pixels, rows),)](
        g, z, norm.sums, norm.weight, norm.bias, norm.weight_grad, norm.bias_grad,
        z if residual is None else residual, second.sums, second.weight, second.weight_grad,
        dz, d_residual, pixels, norm.eps, channels, masked, shortcut is not None, rows, num_warps=4,
    )  # fmt: skip
    return dz, d_residual


@triton.jit
def _moments(z, sums, pixels, channels: tl.constexpr, share: tl.constexpr, rows: tl.constexpr):
    c = tl.arange(0, channels)
    first = tl.zeros((rows, channels), tl.float32)
    second = tl.zeros((rows, channels), tl.float32)
    for start in range(0, share, rows):
        r = tl.program_id(0) * share + start + tl.arange(0, rows)
        v = tl.load(z + r[:, None] * channels + c[None, :], mask=(r < pixels)[:, None], other=0.0).to(tl.float32)
        first += v
        second += v * v
    tl.atomic_add(sums + c, tl.sum(first, 0), sem="relaxed")
    tl.atomic_add(sums + channels + c, tl.sum(second, 0), sem="relaxed")


@triton.jit
def _scale(sums, c, pixels, eps, channels: tl.constexpr):
    mean = tl.load(sums + c) / pixels
    return mean, tl.rsqrt(tl.load(sums + channels + c) / pixels - mean * mean + eps)


@triton.jit
def _move(sums, mean, var, c, pixels, momentum, channels: tl.constexpr):
    """Running statistics, with the unbiased variance as torch has it."""
    now = tl.load(sums + c) / pixels
    spread = (tl.load(sums + channels + c) / pixels - now * now) * (pixels / (pixels - 1))
    tl.store(mean + c, (1 - momentum) * tl.load(mean + c) + momentum * now)
    tl.store(var + c, (1 - momentum) * tl.load(var + c) + momentum * spread)


@triton.jit
def _affine(sums, mean, var, weight, bias, c, pixels, eps, channels: tl.constexpr, evaluate: tl.constexpr):
    """Slope and shift of a channel."""
    if evaluate:
        mu = tl.load(mean + c)
        slope = tl.rsqrt(tl.load(var + c) + eps) * tl.load(weight + c)
    else:
        mu, r = _scale(sums, c, pixels, eps, channels)
        slope = r * tl.load(weight + c)
    return slope, tl.load(bias + c) - mu * slope


@triton.jit
def _normalise(
    z, sums, mean, var, weight, bias, residual, sums2, mean2, var2, weight2, bias2, y, pixels, eps, momentum,
    channels: tl.constexpr, joins: tl.constexpr, evaluate: tl.constexpr, relu: tl.constexpr, rows: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, channels)
    slope, shift = _affine(sums, mean, var, weight, bias, c, pixels, eps, channels, evaluate)
    if joins == 2:
        slope2, shift2 = _affine(sums2, mean2, var2, weight2, bias2, c, pixels, eps, channels, evaluate)
        shift += shift2
    if not evaluate and tl.program_id(0) == 0:
        _move(sums, mean, var, c, pixels, momentum, channels)
        if joins == 2:
            _move(sums2, mean2, var2, c, pixels, momentum, channels)
    r = tl.program_id(0) * rows + tl.arange(0, rows)
    at = r[:, None] * channels + c[None, :]
    inside = (r < pixels)[:, None]
    v = tl.load(z + at, mask=inside, other=0.0).to(tl.float32) * slope[None, :] + shift[None, :]
    if joins == 1:
        v += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    if joins == 2:
        v += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32) * slope2[None, :]
    if relu:
        v = tl.maximum(v, 0.0)
    tl.store(y + at, v, mask=inside)


@triton.jit
def _gradient_sums(
    g, other, y, z, sums, weight, bias, weight_grad, bias_grad, residual, sums2, weight_grad2, bias_grad2, pixels, eps,
    channels: tl.constexpr, block: tl.constexpr, adds: tl.constexpr, joins: tl.constexpr, share: tl.constexpr,
    rows: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, channels)
    mean, r_std = _scale(sums, c, pixels, eps, channels)
    slope = r_std * tl.load(weight + c)
    shift = tl.load(bias + c) - mean * slope
    db = tl.zeros((rows, channels), tl.float32)
    dw = tl.zeros((rows, channels), tl.float32)
    if joins:
        mean2, r_std2 = _scale(sums2, c, pixels, eps, channels)
        dw2 = tl.zeros((rows, channels), tl.float32)
    for start in range(0, share, rows):
        r = tl.program_id(0) * share + start + tl.arange(0, rows)
        at = r[:, None] * channels + c[None, :]
        inside = (r < pixels)[:, None]
        v = tl.load(z + at, mask=inside, other=0.0).to(tl.float32)
        d = tl.load(g + at, mask=inside, other=0.0).to(tl.float32)
        if adds:
            d += tl.load(other + at, mask=inside, other=0.0).to(tl.float32)
        if block:
            d = tl.where(tl.load(y + at, mask=inside, other=0.0).to(tl.float32) > 0, d, 0.0).to(g.dtype.element_ty)
            tl.store(g + at, d, mask=inside)
            d = d.to(tl.float32)
        else:
            d = tl.where(v * slope[None, :] + shift[None, :] > 0, d, 0.0)
        db += d
        dw += d * (v - mean[None, :])
        if joins:
            dw2 += d * (tl.load(residual + at, mask=inside, other=0.0).to(tl.float32) - mean2[None, :])
    db_sum = tl.sum(db, 0)
    tl.atomic_add(bias_grad + c, db_sum, sem="relaxed")
    tl.atomic_add(weight_grad + c, tl.sum(dw, 0) * r_std, sem="relaxed")
    if joins:
        tl.atomic_add(bias_grad2 + c, db_sum, sem="relaxed")
        tl.atomic_add(weight_grad2 + c, tl.sum(dw2, 0) * r_std2, sem="relaxed")


@triton.jit
def _input_gradients(
    g, z, sums, weight, bias, weight_grad, bias_grad, residual, sums2, weight2, weight_grad2, dz, d_residual, pixels,
    eps, channels: tl.constexpr, masked: tl.constexpr, joins: tl.constexpr, rows: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, channels)
    mean, r_std = _scale(sums, c, pixels, eps, channels)
    slope = r_std * tl.load(weight + c)
    db = tl.load(bias_grad + c) / pixels
    dw = tl.load(weight_grad + c) / pixels * r_std
    r = tl.program_id(0) * rows + tl.arange(0, rows)
    at = r[:, None] * channels + c[None, :]
    inside = (r < pixels)[:, None]
    v = tl.load(z + at, mask=inside, other=0.0).to(tl.float32)
    d = tl.load(g + at, mask=inside, other=0.0).to(tl.float32)
    if not masked:
        shift = tl.load(bias + c) - mean * slope
        d = tl.where(v * slope[None, :] + shift[None, :] > 0, d, 0.0)
    tl.store(dz + at, slope[None, :] * (d - db[None, :] - (v - mean[None, :]) * dw[None, :]), mask=inside)
    if joins:
        mean2, r_std2 = _scale(sums2, c, pixels, eps, channels)
        slope2 = r_std2 * tl.load(weight2 + c)
        dw2 = tl.load(weight_grad2 + c) / pixels * r_std2
        v2 = tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(
            d_residual + at, slope2[None, :] * (d - db[None, :] - (v2 - mean2[None, :]) * dw2[None, :]), mask=inside
        )


def _joins(residual: Tensor | None, shortcut: Norm | None) -> int:
    return 0 if residual is None else 1 if shortcut is None else 2


def _rows(channels: int) -> int:
    return max(1, TILE // channels)


def _shares(pixels: int, channels: int) -> tuple[int, int, int]:
    """Rows at a time, programs, and the rows of a program."""
    rows = _rows(channels)
    share = triton.cdiv(triton.cdiv(pixels, PROGRAMS), rows) * rows
    return rows, triton.cdiv(pixels, share), share
