r"""Convolutions of stride 2 on Hopper GPUs, with the sums of batch-norm; see :mod:`~dissensus.training.fused.conv`.

Seen as :math:`(n, h / 2, 2, w / 2, 2 c)`, which costs nothing in channels-last memory, an image is a grid of 2x2 cells:
a tap of a stride-2 convolution is then a box of one parity, as dense as any, and what lies outside is zero again.
Backward, the pixels of one parity get their gradient from one, two or four of the nine taps. Those of a block's input
come from two convolutions, 3x3 and the shortcut's 1x1, and are added up in one accumulator.
"""

from __future__ import annotations

import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma, warpgroup_mma_wait
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from dissensus.training.fused.conv import (
    DEPTH,
    MATRIX,
    Tiles,
    _barriers,
    _boxes,
    _bring_cells,
    _scale,
    add_weight_gradient,
    bring,
)
from dissensus.training.fused.norm import Norm

SHORTCUT = {
    16: Tiles(1, 4, 128, 4, 8, splits=128),
    8: Tiles(1, 8, 128, 4, 8, splits=16),
    4: Tiles(4, 4, 128, 4, 8, splits=4),
}
PLAIN, MOMENTS, EVALUATE, EVALUATE_RELU = range(4)  # what is done with a product before it goes to memory
CELLS = gl.NVMMASharedLayout(128, 16, rank=5)


# By the height of the smaller image.
FORWARD = {16: Tiles(1, 8, 128, 3, 4), 8: Tiles(2, 8, 128, 3, 4), 4: Tiles(8, 4, 128, 3, 4)}
BACK = {16: Tiles(1, 8, 64, 3, 4), 8: Tiles(2, 8, 128, 3, 4), 4: Tiles(8, 4, 128, 3, 4)}
WEIGHTS = {
    16: Tiles(1, 4, 128, 3, 8, splits=44),
    8: Tiles(1, 8, 128, 3, 8, splits=11),
    4: Tiles(4, 4, 128, 3, 8, splits=2),
}


def convolution(x: Tensor, weights: Tensor, height: int, norm: Norm | None) -> Tensor:
    """(pixels, in) of images of this height to (pixels / 4, out); the weights say whether it is 3x3 or 1x1.

    The sums of the result go to the norm, if there is one.
    """
    return _launch(x, weights, height, norm, PLAIN if norm is None else MOMENTS)


def normalised(x: Tensor, weights: Tensor, height: int, norm: Norm, *, relu: bool) -> Tensor:
    """The same through the norm in evaluation, with the running statistics, and through ReLU."""
    return _launch(x, weights, height, norm, EVALUATE_RELU if relu else EVALUATE)


def _launch(x: Tensor, weights: Tensor, height: int, norm: Norm | None, then: int) -> Tensor:
    small = height // 2
    tiles, ins, outs = FORWARD[small], x.shape[1], len(weights)
    z = x.new_empty((len(x) // 4, outs))
    images = len(z) // small**2
    sums, mean, var, weight, bias, eps = (z, z, z, z, z, 0.0)
    if norm is not None:
        sums, mean, var, weight, bias, eps = norm.sums, norm.mean, norm.var, norm.weight, norm.bias, norm.eps
    _convolution[(outs // tiles.columns, triton.cdiv(images, tiles.images) * (small // tiles.rows))](
        _cells(x, small, tiles), TensorDescriptor.from_tensor(weights, [tiles.columns, DEPTH], MATRIX), z, sums, mean,
        var, weight, bias, eps, len(z), ins, outs, small, tiles.images, tiles.rows, tiles.columns, DEPTH,
        weights.shape[1] // ins, then, tiles.stages, num_warps=tiles.warps,
    )  # fmt: skip
    return z


def gradient(g: Tensor, weights: Tensor, g1: Tensor, weights1: Tensor, height: int) -> Tensor:
    """The gradient of what a 3x3 (g) and a 1x1 convolution (g1) saw."""
    d = g.new_empty((4 * len(g), weights1.shape[1]))
    _launch_back(g, weights, g1, weights1, height, d, d, None, d)
    return d


def through_block(
    g: Tensor, weights: Tensor, g1: Tensor, weights1: Tensor, height: int, z: Tensor, norm: Norm, y: Tensor
) -> Tensor:
    """The same before y = relu(norm(z) + residual); weight and bias of the norm get theirs."""
    d = z.new_empty(z.shape)
    _launch_back(g, weights, g1, weights1, height, d, z, norm, y)
    return d


def _launch_back(
    g: Tensor, weights: Tensor, g1: Tensor, weights1: Tensor, height: int, d: Tensor, z: Tensor, norm: Norm | None,
    y: Tensor,
) -> None:  # fmt: skip
    small = height // 2
    tiles, ins, outs = BACK[small], g.shape[1], z.shape[1]
    images = len(g) // small**2
    block = [DEPTH, tiles.columns]
    bias_grad, weight_grad, sums, eps = (d, d, d, 0.0)
    if norm is not None:
        bias_grad, weight_grad, sums, eps = norm.bias_grad, norm.weight_grad, norm.sums, norm.eps
    _back[(outs // tiles.columns, triton.cdiv(images, tiles.images) * (small // tiles.rows), 4)](
        _boxes(g, small, tiles.images, tiles.rows, DEPTH), TensorDescriptor.from_tensor(weights, block, MATRIX),
        _boxes(g1, small, tiles.images, tiles.rows, DEPTH), TensorDescriptor.from_tensor(weights1, block, MATRIX),
        d, bias_grad, weight_grad, len(g), z, sums, eps, y, ins, outs, small, tiles.images, tiles.rows, tiles.columns,
        DEPTH, norm is not None, tiles.stages, num_warps=tiles.warps,
    )  # fmt: skip


def weight_gradient(g: Tensor, x: Tensor, height: int, grad: Tensor) -> None:
    """Add the gradient of the weights of a 3x3 convolution, (out, 9 * in) in fp32, to ``grad``."""
    small = height // 2
    tiles = WEIGHTS[small]
    add_weight_gradient(tiles, g, _cells(x, small, tiles), x.shape[1], small, grad, cells=True)


def shortcut_gradient(g: Tensor, x: Tensor, height: int, grad: Tensor) -> None:
    """The same of a 1x1 convolution, (out, in)."""
    small = height // 2
    tiles, ins, outs = SHORTCUT[small], x.shape[1], g.shape[1]
    boxes, share = tiles.shares(len(g), small)
    _shortcut_gradient[((ins // DEPTH) * (outs // tiles.columns), triton.cdiv(boxes, share))](
        _boxes(g, small, tiles.images, tiles.rows, tiles.columns), _cells(x, small, tiles), grad, boxes, share, ins,
        small, tiles.images, tiles.rows, tiles.columns, DEPTH, tiles.stages, num_warps=tiles.warps,
    )  # fmt: skip


def _cells(x: Tensor, small: int, tiles: Tiles) -> TensorDescriptor:
    cells = x.view(-1, small, 2, small, 2 * x.shape[1])
    return TensorDescriptor.from_tensor(cells, [tiles.images, tiles.rows, 1, small, DEPTH], CELLS)


@gluon.jit
def _convolution(
    x, w, z, sums, mean, var, weight, bias, eps, pixels, ins: gl.constexpr, outs: gl.constexpr, small: gl.constexpr,
    images: gl.constexpr, rows: gl.constexpr, columns: gl.constexpr, depth: gl.constexpr, taps: gl.constexpr,
    then: gl.constexpr, stages: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    size: gl.constexpr = images * rows * small
    tile = gl.program_id(1)
    image = tile // (small // rows) * images
    row = tile % (small // rows) * rows
    column = gl.program_id(0) * columns
    steps: gl.constexpr = taps * (ins // depth)
    a = gl.allocate_shared_memory(gl.bfloat16, [stages] + x.block_type.shape, x.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages] + w.block_type.shape, w.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages - 1):
        _bring_forward(x, w, bars, a, b, i, image, row, column, i < steps, ins, depth, taps, stages)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, columns, 16])
    acc = gl.zeros((size, columns), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        acc = warpgroup_mma(a.index(slot).reshape([size, depth]), b.index(slot).permute((1, 0)), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        later = k + stages - 1
        _bring_forward(x, w, bars, a, b, later, image, row, column, later < steps, ins, depth, taps, stages)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [256 // columns, columns // 8], [num_warps, 1], [1, 0])
    v = gl.convert_layout(acc.to(gl.bfloat16), flat)
    c = column + gl.arange(0, columns, gl.SliceLayout(0, flat))
    r = tile * size + gl.arange(0, size, gl.SliceLayout(1, flat))
    if then >= 2:
        slope = gl.rsqrt(gl.load(var + c) + eps) * gl.load(weight + c)
        shift = gl.load(bias + c) - gl.load(mean + c) * slope
        d = v.to(gl.float32) * gl.expand_dims(slope, 0) + gl.expand_dims(shift, 0)
        if then == 3:
            d = gl.maximum(d, 0.0)
        v = d.to(gl.bfloat16)
    gl.store(z + gl.expand_dims(r, 1) * outs + gl.expand_dims(c, 0), v, mask=gl.expand_dims(r < pixels, 1))
    if then == 1:
        d = v.to(gl.float32)
        gl.atomic_add(sums + c, gl.sum(d, 0), sem="relaxed")
        gl.atomic_add(sums + outs + c, gl.sum(d * d, 0), sem="relaxed")


@gluon.jit
def _bring_forward(
    x, w, bars, a, b, step, image, row, column, wanted, ins: gl.constexpr, depth: gl.constexpr, taps: gl.constexpr,
    stages: gl.constexpr,
):  # fmt: skip
    slot = step % stages
    tap = step // (ins // depth)
    channel = step % (ins // depth) * depth
    bar = bars.index(slot)
    mbarrier.expect(bar, x.block_type.nbytes + w.block_type.nbytes, wanted)
    at = tap if taps == 9 else 4  # the middle one
    _bring_cells(x, bar, a.index(slot), image, row, at // 3 - 1, at % 3 - 1, channel, wanted, ins)
    bring(w, [column, tap * ins + channel], bar, b.index(slot), wanted)


@gluon.jit
def _back(
    g, w, g1, w1, out, bias_grad, weight_grad, cells, z, sums, eps, y, ins: gl.constexpr, outs: gl.constexpr,
    small: gl.constexpr, images: gl.constexpr, rows: gl.constexpr, columns: gl.constexpr, depth: gl.constexpr,
    through: gl.constexpr, stages: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    size: gl.constexpr = images * rows * small
    tile = gl.program_id(1)
    image = tile // (small // rows) * images
    row = tile % (small // rows) * rows
    column = gl.program_id(0) * columns
    odd_row = 1 - gl.program_id(2) // 2  # the parity with the most taps comes first
    odd_column = 1 - gl.program_id(2) % 2
    taps = (1 + odd_row) * (1 + odd_column)
    even = (1 - odd_row) * (1 - odd_column)  # there the shortcut's convolution is one tap more
    steps = (taps + even) * (ins // depth)
    a = gl.allocate_shared_memory(gl.bfloat16, [stages] + g.block_type.shape, g.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages] + w.block_type.shape, w.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages - 1):
        _bring_back(
            g, w, g1, w1, bars, a, b, i, image, row, column, odd_row, odd_column, taps, i < steps, ins, outs, depth,
            stages,
        )  # fmt: skip
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, columns, 16])
    acc = gl.zeros((size, columns), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        acc = warpgroup_mma(a.index(slot).reshape([size, depth]), b.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        later = k + stages - 1
        _bring_back(
            g, w, g1, w1, bars, a, b, later, image, row, column, odd_row, odd_column, taps, later < steps, ins, outs,
            depth, stages,
        )  # fmt: skip
    acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [256 // columns, columns // 8], [num_warps, 1], [1, 0])
    v = gl.convert_layout(acc.to(gl.bfloat16), flat)
    c = column + gl.arange(0, columns, gl.SliceLayout(0, flat))
    r = tile * size + gl.arange(0, size, gl.SliceLayout(1, flat))  # the cell, counted over all images
    pixel = (r // small * 2 + odd_row) * (2 * small) + r % small * 2 + odd_column
    at = gl.expand_dims(pixel, 1) * outs + gl.expand_dims(c, 0)
    inside = gl.expand_dims(r < cells, 1)
    if through:
        mean, r_std = _scale(sums, c, 4 * cells, eps, outs)
        before = gl.load(z + at, mask=inside, other=0.0).to(gl.float32)
        d = gl.where(gl.load(y + at, mask=inside, other=0.0).to(gl.float32) > 0, v.to(gl.float32), 0.0)
        v = d.to(gl.bfloat16)
        d = v.to(gl.float32)
        gl.atomic_add(bias_grad + c, gl.sum(d, 0), sem="relaxed")
        gl.atomic_add(weight_grad + c, gl.sum(d * (before - gl.expand_dims(mean, 0)), 0) * r_std, sem="relaxed")
    gl.store(out + at, v, mask=inside)


@gluon.jit
def _bring_back(
    g, w, g1, w1, bars, a, b, step, image, row, column, odd_row, odd_column, taps, wanted, ins: gl.constexpr,
    outs: gl.constexpr, depth: gl.constexpr, stages: gl.constexpr,
):  # fmt: skip
    slot = step % stages
    number = step // (ins // depth)
    channel = step % (ins // depth) * depth
    bar = bars.index(slot)
    mbarrier.expect(bar, g.block_type.nbytes + w.block_type.nbytes, wanted)
    # An even row comes by the middle tap; an odd one by the lower tap of its cell and the upper tap of the next.
    next_row = number // (1 + odd_column) * odd_row
    next_column = number % (1 + odd_column) * odd_column
    down = odd_row * (1 - 2 * next_row)
    right = odd_column * (1 - 2 * next_column)
    tap = (down + 1) * 3 + right + 1
    first = number < taps
    bring(g, [image, row + next_row, next_column, channel], bar, a.index(slot), wanted & first)
    bring(w, [channel, tap * outs + column], bar, b.index(slot), wanted & first)
    bring(g1, [image, row, 0, channel], bar, a.index(slot), wanted & (number >= taps))
    bring(w1, [channel, column], bar, b.index(slot), wanted & (number >= taps))


@gluon.jit
def _shortcut_gradient(
    g, x, grad, boxes, share, ins: gl.constexpr, small: gl.constexpr, images: gl.constexpr, rows: gl.constexpr,
    columns: gl.constexpr, depth: gl.constexpr, stages: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """grad[o, i] += sum over cells of g[cell, o] x[first pixel of the cell, i]."""
    size: gl.constexpr = images * rows * small
    i0 = gl.program_id(0) % (ins // depth) * depth
    o0 = gl.program_id(0) // (ins // depth) * columns
    begin = gl.program_id(1) * share
    steps = gl.minimum(share, boxes - begin)
    a = gl.allocate_shared_memory(gl.bfloat16, [stages] + g.block_type.shape, g.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages] + x.block_type.shape, x.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages - 1):
        _bring_first(g, x, bars, a, b, begin + i, i, o0, i0, i < steps, ins, small, images, rows)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, depth, 16])
    acc = gl.zeros((columns, depth), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        d = a.index(slot).reshape([size, columns]).permute((1, 0))
        acc = warpgroup_mma(d, b.index(slot).reshape([size, depth]), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        later = k + stages - 1
        _bring_first(g, x, bars, a, b, begin + later, later % stages, o0, i0, later < steps, ins, small, images, rows)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    o = o0 + gl.arange(0, columns, gl.SliceLayout(1, mma))
    i = i0 + gl.arange(0, depth, gl.SliceLayout(0, mma))
    gl.atomic_add(grad + gl.expand_dims(o, 1) * ins + gl.expand_dims(i, 0), acc, sem="relaxed")


@gluon.jit
def _bring_first(
    g, x, bars, a, b, box, slot, o0, i0, wanted, ins: gl.constexpr, small: gl.constexpr, images: gl.constexpr,
    rows: gl.constexpr,
):  # fmt: skip
    image = box // (small // rows) * images
    row = box % (small // rows) * rows
    bar = bars.index(slot)
    mbarrier.expect(bar, g.block_type.nbytes + x.block_type.nbytes, wanted)
    bring(g, [image, row, 0, o0], bar, a.index(slot), wanted)
    _bring_cells(x, bar, b.index(slot), image, row, 0, 0, i0, wanted, ins)
