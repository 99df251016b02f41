"""Whether the convolutions of our own can be used on a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

IMAGES = 16
NEAR = 0.01  # relative; rounding to bf16 makes 0.0017


@cache
def usable(device: torch.device) -> bool:
    """A Hopper GPU, and a triton with which the convolutions give what those of torch give.

    The language they are written in is young and changes; where it has changed too much, a warning says so, and nothing
    is lost but time.
    """
    if torch.cuda.get_device_capability(device)[0] != 9:
        return False
    exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
    try:
        with torch.no_grad(), exact:
            farthest = max(distances(device))
        wrong = f"are off by {farthest:.2g}" if farthest >= NEAR else ""
    except Exception as error:  # whatever another release does to them
        wrong = f"fail ({type(error).__name__})"
    if wrong:
        warnings.warn(
            f"dissensus's convolutions for Hopper GPUs {wrong} with the triton that is installed; those of torch are "
            "used, and a run takes about a third longer.",
            stacklevel=2,
        )
    return not wrong


def distances(device: torch.device) -> Iterator[float]:
    """How far each kind of convolution and gradient is from that of torch in fp32, at every size that occurs."""
    from dissensus.training.fused import conv, strided

    random = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, device=device).bfloat16()

    for height, channels in ((32, 64), (16, 128), (8, 256), (4, 512)):
        pixels = IMAGES * height**2
        x, g, w = normal(pixels, channels), normal(pixels, channels), normal(channels, 9 * channels)
        z, dx, dw = _by_torch(x, g, w, height, 1)
        yield _distance(conv.convolution(x, w, height, None), z)
        yield _distance(conv.gradient(g, w, height), dx)
        grad = torch.zeros(w.shape, device=device)
        conv.weight_gradient(g, x, height, grad)
        yield _distance(grad, dw)
        if height == 4:
            continue
        g, g1 = normal(pixels // 4, 2 * channels), normal(pixels // 4, 2 * channels)
        w, w1 = normal(2 * channels, 9 * channels), normal(2 * channels, channels)
        z, dx, dw = _by_torch(x, g, w, height, 2)
        z1, dx1, dw1 = _by_torch(x, g1, w1, height, 2)
        yield _distance(strided.convolution(x, w, height, None), z)
        yield _distance(strided.convolution(x, w1, height, None), z1)
        yield _distance(strided.gradient(g, w, g1, w1, height), dx + dx1)
        for d, filters, add, want in ((g, w, strided.weight_gradient, dw), (g1, w1, strided.shortcut_gradient, dw1)):
            grad = torch.zeros(filters.shape, device=device)
            add(d, x, height, grad)
            yield _distance(grad, want)


def _by_torch(x: Tensor, g: Tensor, w: Tensor, height: int, stride: int) -> tuple[Tensor, Tensor, Tensor]:
    """The convolution and the gradients of its input and its weights, as matrices."""
    size = int((w.shape[1] // x.shape[1]) ** 0.5)
    images, filters = _images(x, height), w.float().view(len(w), size, size, -1).permute(0, 3, 1, 2)
    padding = size // 2
    z = F.conv2d(images, filters, stride=stride, padding=padding)
    dx, dw, _ = torch.ops.aten.convolution_backward(
        _images(g, height // stride), images, filters, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1,
        [True, True, False],
    )  # fmt: skip
    return _matrix(z), _matrix(dx), dw.permute(0, 2, 3, 1).reshape(w.shape)


def _images(matrix: Tensor, height: int) -> Tensor:
    return matrix.float().view(-1, height, height, matrix.shape[1]).permute(0, 3, 1, 2)


def _matrix(images: Tensor) -> Tensor:
    return images.permute(0, 2, 3, 1).reshape(-1, images.shape[1])


def _distance(ours: Tensor, theirs: Tensor) -> float:
    return float((ours.float() - theirs).norm() / theirs.norm())
