"""The convolutions for Hopper GPUs, kind by kind, against torch in fp32. On such a GPU only."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

HERE = find_spec("triton") is not None and torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not HERE, reason="no Hopper GPU")]

sizes = pytest.mark.parametrize(("height", "images"), [(h, n) for h in (32, 16, 8, 4) for n in (128, 30)])
halved = pytest.mark.parametrize(("height", "images"), [(h, n) for h in (32, 16, 8) for n in (128, 30)])


@pytest.fixture(autouse=True)
def _exact():
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False), torch.no_grad():
        yield


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda").bfloat16()


def as_images(matrix: Tensor, height: int) -> Tensor:
    return matrix.float().view(-1, height, height, matrix.shape[1]).permute(0, 3, 1, 2)


def as_matrix(images: Tensor) -> Tensor:
    return images.permute(0, 2, 3, 1).reshape(-1, images.shape[1])


def as_filters(w: Tensor, ins: int) -> Tensor:
    size = 3 if w.shape[1] == 9 * ins else 1
    return w.float().view(len(w), size, size, ins).permute(0, 3, 1, 2)


def convolved(x: Tensor, w: Tensor, height: int, stride: int = 1) -> Tensor:
    filters = as_filters(w, x.shape[1])
    return as_matrix(F.conv2d(as_images(x, height), filters, stride=stride, padding=filters.shape[2] // 2))


def gradients(g: Tensor, x: Tensor, w: Tensor, height: int, stride: int = 1) -> tuple[Tensor, Tensor]:
    filters = as_filters(w, x.shape[1])
    padding = filters.shape[2] // 2
    dx, dw, _ = torch.ops.aten.convolution_backward(
        as_images(g, height // stride), as_images(x, height), filters, None, [stride] * 2, [padding] * 2, [1, 1], False,
        [0, 0], 1, [True, True, False],
    )  # fmt: skip
    return as_matrix(dx), dw.permute(0, 2, 3, 1).reshape(w.shape)


def near(ours: Tensor, theirs: Tensor, tolerance: float = 5e-3) -> None:
    distance = float((ours.float() - theirs).norm() / theirs.norm())
    assert distance < tolerance, distance


def a_norm(z: Tensor):
    """A batch-norm with the sums of z, and without gradients yet."""
    from dissensus.training.fused.norm import Norm

    channels, v = z.shape[1], z.float()
    zeros = [torch.zeros(channels, device="cuda") for _ in range(3)]
    weight, bias, var = torch.rand(3, channels, device="cuda") + 0.5
    return Norm(weight, bias - 1, *zeros, var, torch.stack([v.sum(0), (v * v).sum(0)]), 1e-5, 0.1)


def centred(z: Tensor) -> Tensor:
    v = z.float()
    return (v - v.mean(0)) * (v.var(0, unbiased=False) + 1e-5).rsqrt()


@sizes
def test_a_convolution_and_the_sums_that_batch_norm_needs(height: int, images: int) -> None:
    from dissensus.training.fused import conv

    channels = 2048 // height
    x, w = normal(images * height**2, channels), normal(channels, 9 * channels)
    norm = a_norm(x)
    norm.sums.zero_()
    z, want = conv.convolution(x, w, height, norm), convolved(x, w, height)
    near(z, want)
    near(norm.sums, torch.stack([z.float().sum(0), z.float().square().sum(0)]), 1e-3)


@sizes
def test_a_gradient_through_the_norm_before_it(height: int, images: int) -> None:
    from dissensus.training.fused import conv

    channels = 2048 // height
    g, z, w = normal(images * height**2, channels), normal(images * height**2, channels), normal(channels, 9 * channels)
    norm = a_norm(z)
    dx, _ = gradients(g, z, w, height)
    want = dx * (centred(z) * norm.weight + norm.bias > 0)
    near(conv.gradient(g, w, height), dx)
    near(conv.through_norm(g, w, height, z, norm), want)
    near(norm.bias_grad, want.sum(0), 1e-2)
    near(norm.weight_grad, (want * centred(z)).sum(0), 1e-2)


@sizes
@pytest.mark.parametrize("with_shortcut", [False, True])
def test_a_gradient_through_the_block_before_it(height: int, images: int, with_shortcut: bool) -> None:
    from dissensus.training.fused import conv

    channels = 2048 // height
    g, z, other, residual = (normal(images * height**2, channels) for _ in range(4))
    y, w = normal(images * height**2, channels).relu(), normal(channels, 9 * channels)
    norm, shortcut = a_norm(z), a_norm(residual)
    want = (gradients(g, z, w, height)[0] + other.float()) * (y > 0)
    near(conv.through_block(g, w, height, z, norm, y, other, residual, shortcut if with_shortcut else None), want)
    near(norm.bias_grad, want.sum(0), 1e-2)
    near(norm.weight_grad, (want * centred(z)).sum(0), 1e-2)
    if with_shortcut:
        near(shortcut.bias_grad, want.sum(0), 1e-2)
        near(shortcut.weight_grad, (want * centred(residual)).sum(0), 1e-2)


@sizes
def test_the_gradient_of_the_weights_and_a_step_of_sgd_with_it(height: int, images: int) -> None:
    from dissensus.training.fused import conv
    from dissensus.training.fused.update import Memory, Rule

    channels = 2048 // height
    g, x, w = normal(images * height**2, channels), normal(images * height**2, channels), normal(channels, 9 * channels)
    _, want = gradients(g, x, w, height)
    grad = torch.zeros(w.shape, device="cuda")
    conv.weight_gradient(g, x, height, grad)
    near(grad, want, 1e-3)
    if not conv.updates(height):
        return
    for nesterov in (False, True):
        parameter = torch.nn.Parameter(torch.randn(w.shape, device="cuda"))
        memory = Memory(parameter.detach().clone(), torch.zeros_like(grad), torch.zeros_like(w))
        sgd = torch.optim.SGD([parameter], lr=1e-3, momentum=0.9, weight_decay=5e-4, nesterov=nesterov)
        for _ in range(3):
            parameter.grad = grad.clone()
            sgd.step()
            rate = torch.tensor(1e-3, device="cuda")
            conv.weight_update(g, x, height, memory, rate, Rule(0.9, 5e-4, nesterov))
        near(memory.values, parameter.detach(), 1e-4)
        near(memory.half, memory.values)


@sizes
@pytest.mark.parametrize("with_residual", [False, True])
def test_evaluation_normalises_in_the_convolution(height: int, images: int, with_residual: bool) -> None:
    from dissensus.training.fused import conv

    channels = 2048 // height
    pixels = images * height**2
    x, residual, w = normal(pixels, channels), normal(pixels, channels), normal(channels, 9 * channels)
    norm = a_norm(x)
    want = (convolved(x, w, height) - norm.mean) * (norm.var + 1e-5).rsqrt() * norm.weight + norm.bias
    want = (want + residual.float() if with_residual else want).relu()
    near(conv.normalised(x, w, height, norm, residual if with_residual else None), want)


@halved
@pytest.mark.parametrize("size", [3, 1])
def test_a_convolution_of_stride_two(height: int, images: int, size: int) -> None:
    from dissensus.training.fused import strided

    ins = 2048 // height
    x, w = normal(images * height**2, ins), normal(2 * ins, size**2 * ins)
    want = convolved(x, w, height, 2)
    norm = a_norm(want.bfloat16())
    norm.sums.zero_()
    z = strided.convolution(x, w, height, norm)
    near(z, want)
    near(norm.sums, torch.stack([z.float().sum(0), z.float().square().sum(0)]), 1e-3)
    linear = (want - norm.mean) * (norm.var + 1e-5).rsqrt() * norm.weight + norm.bias
    near(strided.normalised(x, w, height, norm, relu=False), linear)
    near(strided.normalised(x, w, height, norm, relu=True), linear.relu())


@halved
def test_gradients_of_stride_two(height: int, images: int) -> None:
    from dissensus.training.fused import strided

    ins = 2048 // height
    x, z, y = normal(images * height**2, ins), normal(images * height**2, ins), normal(images * height**2, ins).relu()
    g, g1 = normal(images * height**2 // 4, 2 * ins), normal(images * height**2 // 4, 2 * ins)
    w, w1 = normal(2 * ins, 9 * ins), normal(2 * ins, ins)
    (dx, dw), (dx1, dw1) = gradients(g, x, w, height, 2), gradients(g1, x, w1, height, 2)
    norm = a_norm(z)
    near(strided.gradient(g, w, g1, w1, height), dx + dx1)
    want = (dx + dx1) * (y > 0)
    near(strided.through_block(g, w, g1, w1, height, z, norm, y), want)
    near(norm.bias_grad, want.sum(0), 1e-2)
    near(norm.weight_grad, (want * centred(z)).sum(0), 1e-2)
    for add, d, filters, right in (
        (strided.weight_gradient, g, w, dw),
        (strided.shortcut_gradient, g1, w1, dw1),
    ):
        grad = torch.zeros(filters.shape, device="cuda")
        add(d, x, height, grad)
        near(grad, right, 1e-3)
