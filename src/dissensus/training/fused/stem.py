r"""The first convolution: 3x3, three colours, straight from the bytes of the images.

A pixel's 27 inputs are gathered, normalised and multiplied by the weights, a matrix product of depth 27. cuDNN takes
78 us for it and its weight gradient at 128 images on an H200, since it would rather have 64 channels than three.
With mixup, each image is first mixed with its partner: normalising is affine, so the order of the two does not matter.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from dissensus.training.fused.norm import Norm
from dissensus.training.inputs import Normalise

DEPTH = 32  # 27 numbers, and five zeros: a power of two
PIXELS = 128  # a program works on at a time
PROGRAMS = 528


def stem(
    x: Tensor, prepare: Normalise, weights: Tensor, norm: Norm | None, share: Tensor | None, partner: Tensor | None
) -> Tensor:
    """The convolution as (pixels, channels); its sums go to the norm, if there is one.

    ``x`` are images in channels-last memory, ``weights`` (channels, 32) in the precision of the result.
    """
    images, _, height, width = x.shape
    pixels = images * height * width
    z = weights.new_empty((pixels, len(weights)))
    _stem[(triton.cdiv(pixels, PIXELS),)](
        x, prepare.scale, prepare.shift, weights, z, z if norm is None else norm.sums, x if share is None else share,
        x if partner is None else partner, pixels, height, width, len(weights), share is not None, norm is not None,
        DEPTH, PIXELS, num_warps=4,
    )  # fmt: skip
    return z


def stem_gradient(
    g: Tensor, x: Tensor, prepare: Normalise, grad: Tensor, share: Tensor | None, partner: Tensor | None
) -> None:
    """Add the gradient of the weights, (channels, 32), to ``grad``; ``g`` is that of what :func:`stem` gave."""
    _, _, height, width = x.shape
    pixels, channels = g.shape
    tiles = triton.cdiv(pixels, PIXELS)
    _stem_gradient[(min(tiles, PROGRAMS),)](
        g, x, prepare.scale, prepare.shift, grad, x if share is None else share, x if partner is None else partner,
        pixels, height, width, triton.cdiv(tiles, PROGRAMS), channels, share is not None, DEPTH, PIXELS, num_warps=4,
    )  # fmt: skip


@triton.jit
def _gather(x, image, row, column, tap, colour, height, width, inside):
    """The number at each tap of each pixel, 0 outside."""
    at = ((image * height + row + tap // 3 - 1) * width + column + tap % 3 - 1) * 3 + colour
    return tl.load(x + at, mask=inside, other=0).to(tl.float32)


@triton.jit
def _columns(
    x, scale, shift, share, partner, pixel, pixels, height, width, mixed: tl.constexpr, depth: tl.constexpr
):  # fmt: skip
    """The 27 normalised inputs of each pixel."""
    j = tl.arange(0, depth)
    tap, colour = j // 3, j % 3
    image, row, column = pixel // (height * width), pixel // width % height, pixel % width
    up = row[:, None] + tap[None, :] // 3 - 1
    left = column[:, None] + tap[None, :] % 3 - 1
    inside = (up >= 0) & (up < height) & (left >= 0) & (left < width) & (tap < 9)[None, :] & (pixel < pixels)[:, None]
    v = _gather(x, image[:, None], row[:, None], column[:, None], tap[None, :], colour[None, :], height, width, inside)
    if mixed:
        s = tl.load(share).to(tl.float32)
        with_whom = tl.load(partner + image, mask=pixel < pixels, other=0)
        other = _gather(
            x, with_whom[:, None], row[:, None], column[:, None], tap[None, :], colour[None, :], height,
            width, inside,
        )  # fmt: skip
        v = s * v + (1 - s) * other
    v = v * tl.load(scale + colour)[None, :] + tl.load(shift + colour)[None, :]
    return tl.where(inside, v, 0.0)


@triton.jit
def _stem(
    x, scale, shift, weights, z, sums, share, partner, pixels, height, width, channels: tl.constexpr,
    mixed: tl.constexpr, counts: tl.constexpr, depth: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    a = _columns(x, scale, shift, share, partner, pixel, pixels, height, width, mixed, depth)
    j, c = tl.arange(0, depth), tl.arange(0, channels)
    w = tl.load(weights + c[None, :] * depth + j[:, None])
    v = tl.dot(a.to(w.dtype), w).to(w.dtype)
    inside = (pixel < pixels)[:, None]
    tl.store(z + pixel[:, None] * channels + c[None, :], v, mask=inside)
    if counts:
        v = tl.where(inside, v.to(tl.float32), 0.0)
        tl.atomic_add(sums + c, tl.sum(v, 0), sem="relaxed")
        tl.atomic_add(sums + channels + c, tl.sum(v * v, 0), sem="relaxed")


@triton.jit
def _stem_gradient(
    g, x, scale, shift, grad, share, partner, pixels, height, width, tiles: tl.constexpr, channels: tl.constexpr,
    mixed: tl.constexpr, depth: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    j, c = tl.arange(0, depth), tl.arange(0, channels)
    acc = tl.zeros((channels, depth), tl.float32)
    for tile in range(tiles):
        pixel = (tl.program_id(0) + tile * tl.num_programs(0)) * block + tl.arange(0, block)
        a = _columns(x, scale, shift, share, partner, pixel, pixels, height, width, mixed, depth)
        d = tl.load(g + pixel[None, :] * channels + c[:, None], mask=(pixel < pixels)[None, :], other=0.0)
        acc += tl.dot(d, a.to(d.dtype))
    tl.atomic_add(grad + c[:, None] * depth + j[None, :], acc, sem="relaxed")
