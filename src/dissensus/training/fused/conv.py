r"""3x3 convolutions of stride 1 on Hopper GPUs, bf16, with the sums of batch-norm computed on the way.

A convolution is a product of matrices of depth 9·C. The tensor memory accelerator brings boxes of pixels, shifted by
each tap, straight from channels-last memory (zeros come where the box leaves the image), and warp-group products add
them up. On 128 images of ResNet-18, four runs side by side, that is 600 to 715 TFLOP/s for 128 channels and more, a
little faster than cuDNN; and the sums over pixels that batch-norm needs, forward and backward, cost no pass over
memory: they are taken from the result while it is in registers.

At 64 channels the boxes themselves are the bottleneck. There the rows of a box are kept apart in shared memory, so
that the three vertical taps read one box (``_product_by_rows``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from dissensus.training.fused.norm import Norm
from dissensus.training.fused.update import Memory, Rule

# Two names that changed between triton 3.6 and 3.9.
bring = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
reinterpret = getattr(gl.shared_memory_descriptor, "reinterpret", None) or gl.shared_memory_descriptor._reinterpret
BOX = gl.NVMMASharedLayout(128, 16, rank=4)
MATRIX = gl.NVMMASharedLayout(128, 16, rank=2)
DEPTH = 64  # channels a step of the product goes through: a row of 128 bytes


@dataclass(frozen=True)
class Tiles:
    """How a product is cut: images and rows of a box, columns of the result, boxes in flight, warps, programs."""

    images: int
    rows: int
    columns: int
    stages: int
    warps: int
    splits: int = 1
    by_rows: bool = False

    def shares(self, pixels: int, height: int) -> tuple[int, int]:
        """How many boxes there are in images of this height, and how many of them a program goes through."""
        boxes = triton.cdiv(pixels // height**2, self.images) * (height // self.rows)
        return boxes, triton.cdiv(boxes, self.splits)


# By the height of the image. Of about a dozen that were tried for each, the fastest with four runs side by side.
# From 3.8 on, triton refuses views of shared memory that overlap.
OVERLAPS = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 8)
PRODUCT = {
    32: Tiles(1, 4, 64, 1, 4, by_rows=True) if OVERLAPS else Tiles(1, 4, 64, 3, 4),
    16: Tiles(1, 8, 128, 3, 4),
    8: Tiles(2, 8, 128, 3, 4),
    4: Tiles(8, 4, 128, 3, 4),
}
WEIGHTS = {
    32: Tiles(1, 2, 64, 3, 4, splits=44),
    16: Tiles(1, 4, 128, 3, 8, splits=22),
    8: Tiles(1, 8, 128, 3, 8, splits=4),
    4: Tiles(4, 4, 128, 2, 8),
}
# What is done with a product before it goes to memory.
PLAIN, MOMENTS, THROUGH_NORM, THROUGH_BLOCK, THROUGH_SHORTCUT, EVALUATE, EVALUATE_BLOCK = range(7)


def convolution(x: Tensor, weights: Tensor, height: int, norm: Norm | None) -> Tensor:
    """(pixels, in) to (pixels, out), ``weights`` (out, 9 * in); the sums of the result go to the norm, if given."""
    z = x.new_empty((len(x), len(weights)))
    sums = z if norm is None else norm.sums
    _launch(x, weights, z, height, False, PLAIN if norm is None else MOMENTS, sums, sums, z, norm, z, z, z, None)
    return z


def gradient(g: Tensor, weights: Tensor, height: int) -> Tensor:
    """The gradient of a convolution's input, and nothing else."""
    d = g.new_empty((len(g), weights.shape[1] // 9))
    _launch(g, weights, d, height, True, PLAIN, d, d, d, None, d, d, d, None)
    return d


def through_norm(g: Tensor, weights: Tensor, height: int, z: Tensor, norm: Norm) -> Tensor:
    """The gradient before relu(norm(z)) that the convolution saw; weight and bias of the norm get theirs."""
    d = torch.empty_like(z)
    _launch(
        g, weights, d, height, True, THROUGH_NORM, norm.bias_grad, norm.weight_grad, z, norm, z, z, z, None
    )  # fmt: skip
    return d


def through_block(
    g: Tensor, weights: Tensor, height: int, z: Tensor, norm: Norm, y: Tensor, other: Tensor,
    residual: Tensor | None = None, shortcut: Norm | None = None,
) -> Tensor:  # fmt: skip
    """The same before y = relu(norm(z) + residual), to whose gradient ``other`` is added; also for the shortcut."""
    d = torch.empty_like(z)
    through = THROUGH_BLOCK if shortcut is None or residual is None else THROUGH_SHORTCUT
    _launch(
        g, weights, d, height, True, through, norm.bias_grad, norm.weight_grad, z, norm, y, other,
        z if residual is None else residual, shortcut,
    )  # fmt: skip
    return d


def normalised(x: Tensor, weights: Tensor, height: int, norm: Norm, residual: Tensor | None = None) -> Tensor:
    """relu(norm(convolution) + residual) in evaluation, with the running statistics."""
    y = x.new_empty((len(x), len(weights)))
    then = EVALUATE if residual is None else EVALUATE_BLOCK
    added = y if residual is None else residual
    _launch(x, weights, y, height, False, then, norm.mean, norm.var, y, norm, y, added, y, None)
    return y


def updates(height: int) -> bool:
    """Whether a program has the whole gradient of its weights, and so can update them."""
    return WEIGHTS[height].splits == 1


def weight_gradient(g: Tensor, x: Tensor, height: int, grad: Tensor) -> None:
    """Add the gradient of the weights, (out, 9 * in) in fp32, to ``grad``."""
    tiles = WEIGHTS[height]
    add_weight_gradient(tiles, g, _boxes(x, height, tiles.images, tiles.rows, DEPTH), x.shape[1], height, grad)


def weight_update(g: Tensor, x: Tensor, height: int, memory: Memory, rate: Tensor, rule: Rule) -> None:
    """A step of SGD on the weights: their gradient never goes to memory. Where :func:`updates`."""
    assert memory.half is not None
    tiles = WEIGHTS[height]
    boxes = _boxes(x, height, tiles.images, tiles.rows, DEPTH)
    _launch_weights(
        tiles, g, boxes, x.shape[1], height, memory.values, memory.values, memory.momentum, memory.half, rate, rule,
        updates=True, cells=False,
    )  # fmt: skip


def add_weight_gradient(
    tiles: Tiles, g: Tensor, boxes: TensorDescriptor, ins: int, height: int, grad: Tensor, *, cells: bool = False
) -> None:
    """The same from boxes of x, or of its 2x2 ``cells``; the height is that of g."""
    no = Rule(0.0, 0.0, False)
    _launch_weights(tiles, g, boxes, ins, height, grad, grad, grad, grad, grad, no, updates=False, cells=cells)


def _launch_weights(
    tiles: Tiles, g: Tensor, x: TensorDescriptor, ins: int, height: int, grad: Tensor, values: Tensor,
    momentum: Tensor, half: Tensor, rate: Tensor, rule: Rule, *, updates: bool, cells: bool,
) -> None:  # fmt: skip
    boxes, share = tiles.shares(len(g), height)
    outs = g.shape[1]
    _weight_gradient[((ins // DEPTH) * 3 * (outs // tiles.columns), triton.cdiv(boxes, share))](
        _boxes(g, height, tiles.images, tiles.rows, tiles.columns), x, grad, boxes, share, values, momentum, half,
        rate, rule.friction, rule.decay, ins, outs, height, tiles.images, tiles.rows, tiles.columns, DEPTH,
        tiles.stages, updates, rule.nesterov, cells, num_warps=tiles.warps,
    )  # fmt: skip


def _launch(
    x: Tensor, weights: Tensor, out: Tensor, height: int, back: bool, then: int, first: Tensor, second: Tensor,
    z: Tensor, norm: Norm | None, y: Tensor, other: Tensor, residual: Tensor, shortcut: Norm | None,
) -> None:  # fmt: skip
    tiles = PRODUCT[height]
    images, outs = len(x) // height**2, out.shape[1]
    grid = (outs // tiles.columns, triton.cdiv(images, tiles.images) * (height // tiles.rows))
    box = (1, 1) if tiles.by_rows else (tiles.images, tiles.rows)
    block = [DEPTH, tiles.columns] if back else [tiles.columns, DEPTH]
    norm_sums, weight, bias, eps = (
        (out, out, out, 0.0) if norm is None else (norm.sums, norm.weight, norm.bias, norm.eps)
    )
    sums2, bias2, weight2 = (
        (out, out, out) if shortcut is None else (shortcut.sums, shortcut.bias_grad, shortcut.weight_grad)
    )
    _convolution[grid](
        _boxes(x, height, *box, DEPTH), TensorDescriptor.from_tensor(weights, block, MATRIX), out, first, second,
        len(out), z, norm_sums, weight, bias, eps, y, other, residual, sums2, bias2, weight2, x.shape[1], outs, height,
        tiles.images, tiles.rows, tiles.columns, DEPTH, back, then, tiles.stages, tiles.by_rows, num_warps=tiles.warps,
    )  # fmt: skip


def _boxes(x: Tensor, height: int, images: int, rows: int, channels: int) -> TensorDescriptor:
    pixels = x.view(-1, height, height, x.shape[1])
    return TensorDescriptor.from_tensor(pixels, [images, rows, height, channels], BOX)


@gluon.jit
def _convolution(
    x, w, out, first, second, pixels, z, sums, weight, bias, eps, y, other, residual, sums2, bias2, weight2,
    ins: gl.constexpr, outs: gl.constexpr, height: gl.constexpr, images: gl.constexpr, rows: gl.constexpr,
    columns: gl.constexpr, depth: gl.constexpr, back: gl.constexpr, then: gl.constexpr, stages: gl.constexpr,
    by_rows: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    size: gl.constexpr = images * rows * height
    tile = gl.program_id(1)
    image = tile // (height // rows) * images
    row = tile % (height // rows) * rows
    column = gl.program_id(0) * columns
    if by_rows:
        acc = _product_by_rows(
            x, w, image, row, column, ins, outs, height, rows, columns, depth, back, stages, num_warps
        )
    else:
        acc = _product(x, w, image, row, column, ins, outs, size, columns, depth, back, stages, num_warps)

    # From here on a thread holds eight neighbouring channels: 16 bytes of a row of memory.
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [256 // columns, columns // 8], [num_warps, 1], [1, 0])
    v = gl.convert_layout(acc.to(gl.bfloat16), flat)
    c = column + gl.arange(0, columns, gl.SliceLayout(0, flat))
    r = tile * size + gl.arange(0, size, gl.SliceLayout(1, flat))
    at = gl.expand_dims(r, 1) * outs + gl.expand_dims(c, 0)
    inside = gl.expand_dims(r < pixels, 1)
    if then >= 5:
        slope = gl.rsqrt(gl.load(second + c) + eps) * gl.load(weight + c)
        shift = gl.load(bias + c) - gl.load(first + c) * slope
        d = v.to(gl.float32) * gl.expand_dims(slope, 0) + gl.expand_dims(shift, 0)
        if then == 6:
            d += gl.load(other + at, mask=inside, other=0.0).to(gl.float32)
        v = gl.maximum(d, 0.0).to(gl.bfloat16)
    elif then >= 2:
        mean, r_std = _scale(sums, c, pixels, eps, outs)
        before = gl.load(z + at, mask=inside, other=0.0).to(gl.float32)
        d = v.to(gl.float32)
        if then == 2:
            slope = r_std * gl.load(weight + c)
            shift = gl.load(bias + c) - mean * slope
            d = gl.where(before * gl.expand_dims(slope, 0) + gl.expand_dims(shift, 0) > 0, d, 0.0)
        else:
            d += gl.load(other + at, mask=inside, other=0.0).to(gl.float32)
            d = gl.where(gl.load(y + at, mask=inside, other=0.0).to(gl.float32) > 0, d, 0.0)
        v = d.to(gl.bfloat16)
    gl.store(out + at, v, mask=inside)
    if then >= 1 and then < 5:
        d = v.to(gl.float32)  # of what is stored, so that sums and numbers belong together
        total = gl.sum(d, 0)
        gl.atomic_add(first + c, total, sem="relaxed")
        if then == 1:
            gl.atomic_add(second + outs + c, gl.sum(d * d, 0), sem="relaxed")
        else:
            gl.atomic_add(second + c, gl.sum(d * (before - gl.expand_dims(mean, 0)), 0) * r_std, sem="relaxed")
        if then == 4:
            mean2, r_std2 = _scale(sums2, c, pixels, eps, outs)
            before = gl.load(residual + at, mask=inside, other=0.0).to(gl.float32)
            gl.atomic_add(bias2 + c, total, sem="relaxed")
            gl.atomic_add(weight2 + c, gl.sum(d * (before - gl.expand_dims(mean2, 0)), 0) * r_std2, sem="relaxed")


@gluon.jit
def _scale(sums, c, pixels, eps, channels: gl.constexpr):
    mean = gl.load(sums + c) / pixels
    return mean, gl.rsqrt(gl.load(sums + channels + c) / pixels - mean * mean + eps)


@gluon.jit
def _barriers(stages: gl.constexpr):
    bars = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(stages):
        mbarrier.init(bars.index(i), count=1)
    fence_async_shared()
    return bars


@gluon.jit
def _product(
    x, w, image, row, column, ins: gl.constexpr, outs: gl.constexpr, size: gl.constexpr, columns: gl.constexpr,
    depth: gl.constexpr, back: gl.constexpr, stages: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """The sum over taps of a shifted box times the tap's weights."""
    steps: gl.constexpr = 9 * (ins // depth)
    a = gl.allocate_shared_memory(gl.bfloat16, [stages] + x.block_type.shape, x.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages] + w.block_type.shape, w.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages - 1):
        _bring(x, w, bars, a, b, i, image, row, column, True, ins, outs, depth, back, stages)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, columns, 16])
    acc = gl.zeros((size, columns), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        right = b.index(slot)
        if not back:
            right = right.permute((1, 0))
        acc = warpgroup_mma(a.index(slot).reshape([size, depth]), right, acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))  # the product before this one is done, so its boxes can go
        later = k + stages - 1
        _bring(x, w, bars, a, b, later, image, row, column, later < steps, ins, outs, depth, back, stages)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    return acc


@gluon.jit
def _bring(
    x, w, bars, a, b, step, image, row, column, wanted, ins: gl.constexpr, outs: gl.constexpr, depth: gl.constexpr,
    back: gl.constexpr, stages: gl.constexpr,
):  # fmt: skip
    slot = step % stages
    tap = step // (ins // depth)
    channel = step % (ins // depth) * depth
    down = tap // 3 - 1
    right = tap % 3 - 1
    bar = bars.index(slot)
    mbarrier.expect(bar, x.block_type.nbytes + w.block_type.nbytes, wanted)
    if back:  # the gradient of a pixel comes from where the tap took it
        bring(x, [image, row - down, -right, channel], bar, a.index(slot), wanted)
        bring(w, [channel, tap * outs + column], bar, b.index(slot), wanted)
    else:
        bring(x, [image, row + down, right, channel], bar, a.index(slot), wanted)
        bring(w, [column, tap * ins + channel], bar, b.index(slot), wanted)


@gluon.jit
def _product_by_rows(
    x, w, image, row, column, ins: gl.constexpr, outs: gl.constexpr, height: gl.constexpr, rows: gl.constexpr,
    columns: gl.constexpr, depth: gl.constexpr, back: gl.constexpr, stages: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """The same, with rows + 2 rows of an image brought once for three taps: a box is any ``rows`` of them."""
    steps: gl.constexpr = 3 * (ins // depth)
    lines: gl.constexpr = rows + 2
    size: gl.constexpr = rows * height
    matrix: gl.constexpr = w.layout
    a = gl.allocate_shared_memory(gl.bfloat16, [stages * lines] + x.block_type.shape, x.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages * 3] + w.block_type.shape, w.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages):
        _bring_rows(x, w, bars, a, b, i, image, row, column, i < steps, ins, outs, lines, depth, back, stages)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, columns, 16])
    acc = gl.zeros((size, columns), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        for t in gl.static_range(3):
            right = b.index(slot * 3 + t)
            if not back:
                right = right.permute((1, 0))
            left = reinterpret(a.index(slot * lines + t), gl.bfloat16, [size, depth], matrix)
            acc = warpgroup_mma(left, right, acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        later = k + stages
        _bring_rows(x, w, bars, a, b, later, image, row, column, later < steps, ins, outs, lines, depth, back, stages)
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    return acc


@gluon.jit
def _bring_rows(
    x, w, bars, a, b, step, image, row, column, wanted, ins: gl.constexpr, outs: gl.constexpr, lines: gl.constexpr,
    depth: gl.constexpr, back: gl.constexpr, stages: gl.constexpr,
):  # fmt: skip
    slot = step % stages
    right = step // (ins // depth) - 1
    channel = step % (ins // depth) * depth
    bar = bars.index(slot)
    mbarrier.expect(bar, lines * x.block_type.nbytes + 3 * w.block_type.nbytes, wanted)
    for i in gl.static_range(lines):
        bring(x, [image, row - 1 + i, right, channel], bar, a.index(slot * lines + i), wanted)
    for t in gl.static_range(3):
        if back:  # what lies at (t - 1, right) came by the opposite tap
            tap = (2 - t) * 3 + 1 - right
            bring(w, [channel, tap * outs + column], bar, b.index(slot * 3 + t), wanted)
        else:
            tap = t * 3 + 1 + right
            bring(w, [column, tap * ins + channel], bar, b.index(slot * 3 + t), wanted)


@gluon.jit
def _weight_gradient(
    g, x, grad, boxes, share, values, momentum, half, rate, friction, decay, ins: gl.constexpr, outs: gl.constexpr,
    height: gl.constexpr, images: gl.constexpr, rows: gl.constexpr, columns: gl.constexpr, depth: gl.constexpr,
    stages: gl.constexpr, updates: gl.constexpr, nesterov: gl.constexpr, cells: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    """grad[o, down, right, i] += sum over pixels of g[pixel, o] x[pixel + (down, right), i].

    A program has one ``down``, all three ``right``, a block of channels on both sides and a share of the boxes.
    """
    size: gl.constexpr = images * rows * height
    place = gl.program_id(0)
    i0 = place % (ins // depth) * depth
    down = place // (ins // depth) % 3 - 1
    o0 = place // (ins // depth) // 3 * columns
    begin = gl.program_id(1) * share
    steps = gl.minimum(share, boxes - begin)
    a = gl.allocate_shared_memory(gl.bfloat16, [stages] + g.block_type.shape, g.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [stages * 3] + x.block_type.shape, x.layout)
    bars = _barriers(stages)
    for i in gl.static_range(stages - 1):
        _bring_pair(g, x, bars, a, b, begin + i, i, o0, i0, down, i < steps, ins, height, images, rows, cells)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, depth, 16])
    left = gl.zeros((columns, depth), gl.float32, mma)
    middle = gl.zeros((columns, depth), gl.float32, mma)
    right = gl.zeros((columns, depth), gl.float32, mma)
    for k in range(steps):
        slot = k % stages
        mbarrier.wait(bars.index(slot), (k // stages) & 1)
        d = a.index(slot).reshape([size, columns]).permute((1, 0))
        left = warpgroup_mma(d, b.index(slot * 3).reshape([size, depth]), left, is_async=True)
        middle = warpgroup_mma(d, b.index(slot * 3 + 1).reshape([size, depth]), middle, is_async=True)
        right = warpgroup_mma(d, b.index(slot * 3 + 2).reshape([size, depth]), right, is_async=True)
        left, middle, right = warpgroup_mma_wait(3, deps=(left, middle, right))
        later = k + stages - 1
        _bring_pair(
            g, x, bars, a, b, begin + later, later % stages, o0, i0, down, later < steps, ins, height, images, rows,
            cells,
        )  # fmt: skip
    left, middle, right = warpgroup_mma_wait(0, deps=(left, middle, right))
    for i in gl.static_range(stages):
        mbarrier.invalidate(bars.index(i))
    o = o0 + gl.arange(0, columns, gl.SliceLayout(1, mma))
    i = i0 + gl.arange(0, depth, gl.SliceLayout(0, mma))
    at = (gl.expand_dims(o, 1) * 9 + (down + 1) * 3) * ins + gl.expand_dims(i, 0)
    if updates:
        speed = gl.load(rate)
        _sgd(values + at, momentum + at, half + at, left, speed, friction, decay, nesterov)
        _sgd(values + at + ins, momentum + at + ins, half + at + ins, middle, speed, friction, decay, nesterov)
        at += 2 * ins
        _sgd(values + at, momentum + at, half + at, right, speed, friction, decay, nesterov)
    else:
        gl.atomic_add(grad + at, left, sem="relaxed")
        gl.atomic_add(grad + at + ins, middle, sem="relaxed")
        gl.atomic_add(grad + at + 2 * ins, right, sem="relaxed")


@gluon.jit
def _sgd(values, momentum, half, d, speed, friction, decay, nesterov: gl.constexpr):
    """The step of :func:`~dissensus.training.fused.update.update`."""
    w = gl.load(values)
    d += decay * w
    m = friction * gl.load(momentum) + d
    if nesterov:
        w -= speed * (d + friction * m)
    else:
        w -= speed * m
    gl.store(values, w)
    gl.store(momentum, m)
    gl.store(half, w.to(gl.bfloat16))


@gluon.jit
def _bring_pair(
    g, x, bars, a, b, box, slot, o0, i0, down, wanted, ins: gl.constexpr, height: gl.constexpr, images: gl.constexpr,
    rows: gl.constexpr, cells: gl.constexpr,
):  # fmt: skip
    image = box // (height // rows) * images
    row = box % (height // rows) * rows
    bar = bars.index(slot)
    mbarrier.expect(bar, g.block_type.nbytes + 3 * x.block_type.nbytes, wanted)
    bring(g, [image, row, 0, o0], bar, a.index(slot), wanted)
    for t in gl.static_range(3):
        to = b.index(slot * 3 + t)
        if cells:
            _bring_cells(x, bar, to, image, row, down, t - 1, i0, wanted, ins)
        else:
            bring(x, [image, row + down, t - 1, i0], bar, to, wanted)


@gluon.jit
def _bring_cells(x, bar, to, image, row, down, right, channel, wanted, ins: gl.constexpr):
    """The box of a tap of stride 2: a row up or left of the cell is the odd part of the cell before."""
    up = row + gl.minimum(down, 0)
    bring(x, [image, up, down & 1, gl.minimum(right, 0), (right & 1) * ins + channel], bar, to, wanted)
