"""A step of the CIFAR ResNet-18, kernel by kernel: what autograd and torch.optim.SGD would do, in fewer passes."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dissensus.models.resnet18 import Block, ResNet18
from dissensus.training.fused import norm as norms
from dissensus.training.fused.head import head
from dissensus.training.fused.norm import Norm
from dissensus.training.fused.stem import stem, stem_gradient
from dissensus.training.fused.update import Memory, Rule, update
from dissensus.training.fused.weights import Weights
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner
from dissensus.training.recipe import Recipe


@dataclass(frozen=True)
class Filter:
    """A convolution: its weights for computing, where their gradient goes, and its geometry."""

    weights: Tensor  # (out, size * size * in)
    grad: Tensor  # the same in fp32
    memory: Memory | None  # where it is updated as soon as its gradient is known
    size: int
    stride: int
    height: int  # of the image that comes in


class Hopper(NamedTuple):
    """The modules with convolutions of our own, by stride."""

    plain: ModuleType
    strided: ModuleType


@dataclass(frozen=True)
class Layer:
    """The tensors of one block of the model."""

    conv1: Filter
    norm1: Norm
    conv2: Filter
    norm2: Norm
    conv3: Filter | None = None  # of the shortcut, where the shape changes
    norm3: Norm | None = None


@dataclass(frozen=True)
class Passed:
    """What the forward pass through a block leaves for the backward pass."""

    x: Tensor
    z1: Tensor
    y1: Tensor
    z2: Tensor
    residual: Tensor  # x, or what the shortcut's convolution gave
    y: Tensor


@final
class FusedResNet(Learner):
    """ResNet-18 with 64 channels on images of 32 pixels, in bf16 with fp32 weights, or in fp32 (TF32) throughout.

    Weights, momentum, batch-norm statistics, the last layer and the loss are fp32; with bf16, activations, their
    gradients and the products are bf16 with sums in fp32, as under autocast. ``hopper`` uses the convolutions of
    :mod:`~dissensus.training.fused.conv` where they fit; else all are the library's, and batch-norm takes its sums in
    passes of its own.
    """

    def __init__(self, model: ResNet18, prepare: Normalise, recipe: Recipe, *, hopper: bool) -> None:
        self.model, self.prepare, self.recipe = model, prepare, recipe
        self.ours: Hopper | None = None
        if hopper:
            from dissensus.training.fused import conv, strided

            self.ours = Hopper(conv, strided)
        self.rule = Rule(recipe.momentum, recipe.weight_decay, recipe.nesterov)
        self.apart = _apart(model) if self.ours is not None else []
        self.weights = Weights(model, model.stem.weight, recipe.precision == "bf16", self.apart)
        self.momentum = [self.weights.view(self.weights.momentum, parameter) for parameter in model.parameters()]
        modules = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
        self.sums = torch.zeros(sum(2 * module.num_features for module in modules), device=model.stem.weight.device)
        self.norms: dict[nn.Module, Norm] = {}
        begin = 0
        self.batches = torch.zeros(len(modules), dtype=torch.int64, device=self.sums.device)
        for place, module in enumerate(modules):
            end = begin + 2 * module.num_features
            grads = [self.weights.view(self.weights.grad, part) for part in (module.weight, module.bias)]
            self.norms[module] = Norm.of(module, grads[0], grads[1], self.sums[begin:end].view(2, -1))
            begin = end
            assert module.num_batches_tracked is not None
            self.batches[place] = module.num_batches_tracked
            module.num_batches_tracked = self.batches[place]
        self.stem = self.weights.matrix(self.weights.computing(), model.stem.weight)
        self.stem_grad = self.weights.matrix(self.weights.grad, model.stem.weight)
        self.norm = self.norms[model.norm]
        self.head = model.head.weight, model.head.bias
        weight, bias = (self.weights.view(self.weights.grad, part) for part in self.head)
        self.head_grad = weight, bias
        self.layers = []
        height = 32
        for block in model.stages:
            assert isinstance(block, Block)
            self.layers.append(self._layer(block, height))
            height //= block.conv1.stride[0]
        model.train()

    def step(
        self, x: Tensor, y: Tensor, rate: Tensor, share: Tensor | None = None, partner: Tensor | None = None
    ) -> Tensor:
        with torch.no_grad():
            return self._step(x, y, rate, share, partner)

    def _step(self, x: Tensor, y: Tensor, rate: Tensor, share: Tensor | None, partner: Tensor | None) -> Tensor:
        self.sums.zero_()
        self.batches += 1
        z = stem(x, self.prepare, self.stem, self.norm, share, partner)
        first = now = norms.normalised(z, self.norm)
        passed = []
        for layer in self.layers:
            passed.append(self._forward(layer, now))
            now = passed[-1].y
        loss, g = head(now, y, self.head, self.head_grad, share, partner)

        layer, block = self.layers[-1], passed[-1]
        norms.gradient_sums(g, block.z2, layer.norm2, block.y, None, block.residual, layer.norm3)
        for place in reversed(range(len(self.layers))):
            layer, block = self.layers[place], passed[place]
            dz1, d_residual = self._backward(layer, block, g, rate)
            if place:
                before, below = self.layers[place - 1], passed[place - 1]
                g = self._enter(layer, dz1, d_residual, below.z2, before.norm2, below.y, below.residual, before.norm3)
            else:
                g = self._enter(layer, dz1, d_residual, z, self.norm, first)
            self._learn(layer.conv1, dz1, block.x, rate)
            if layer.conv3 is not None:
                self._learn(layer.conv3, d_residual, block.x, rate)
        g, _ = norms.input_gradients(g, z, self.norm, masked=True)
        stem_gradient(g, x, self.prepare, self.stem_grad, share, partner)
        together = slice(0, self.weights.together)
        half = None if self.weights.half is None else self.weights.half[together]
        memory = Memory(self.weights.values[together], self.weights.momentum[together], half)
        update(memory, self.weights.grad[together], rate, self.rule)
        return loss

    def logits(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            z = stem(x, self.prepare, self.stem, None, None, None)
            now = norms.normalised(z, self.norm, evaluate=True)
            for layer in self.layers:
                y1 = self._evaluated(layer.conv1, layer.norm1, now)
                residual = now
                if layer.conv3 is not None and layer.norm3 is not None:
                    residual = self._evaluated(layer.conv3, layer.norm3, now, relu=False)
                now = self._evaluated(layer.conv2, layer.norm2, y1, residual)
            pooled = now.view(len(x), -1, now.shape[1]).mean(1, dtype=torch.float32)
            return F.linear(pooled, *self.head)

    def reset(self, model: nn.Module, prepare: Normalise) -> None:
        with torch.no_grad():
            for ours, theirs in zip(self.model.state_dict().values(), model.state_dict().values(), strict=True):
                ours.copy_(theirs)
            self.weights.momentum.zero_()
            self.prepare.scale.copy_(prepare.scale)
            self.prepare.shift.copy_(prepare.shift)
            self.refresh()

    def refresh(self) -> None:
        self.weights.refresh()

    def _layer(self, block: Block, height: int) -> Layer:
        inner = height // block.conv1.stride[0]
        parts = (
            self._filter(block.conv1, height), self.norms[block.norm1],
            self._filter(block.conv2, inner), self.norms[block.norm2],
        )  # fmt: skip
        if isinstance(block.shortcut, nn.Identity):
            return Layer(*parts)
        conv, norm = block.shortcut[0], block.shortcut[1]
        assert isinstance(conv, nn.Conv2d)
        return Layer(*parts, self._filter(conv, height), self.norms[norm])

    def _filter(self, conv: nn.Conv2d, height: int) -> Filter:
        weights, grad = (self.weights.matrix(m, conv.weight) for m in (self.weights.computing(), self.weights.grad))
        memory = None
        if any(conv.weight is parameter for parameter in self.apart):
            values, momentum = (
                self.weights.matrix(m, conv.weight) for m in (self.weights.values, self.weights.momentum)
            )
            memory = Memory(values, momentum, weights)
        return Filter(weights, grad, memory, conv.kernel_size[0], conv.stride[0], height)

    def _forward(self, layer: Layer, x: Tensor) -> Passed:
        z1 = self._convolved(layer.conv1, x, layer.norm1)
        y1 = norms.normalised(z1, layer.norm1)
        z2 = self._convolved(layer.conv2, y1, layer.norm2)
        residual = x if layer.conv3 is None else self._convolved(layer.conv3, x, layer.norm3)
        return Passed(x, z1, y1, z2, residual, norms.normalised(z2, layer.norm2, residual, layer.norm3))

    def _backward(self, layer: Layer, passed: Passed, g: Tensor, rate: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of what the first convolution gave, and of the residual.

        ``g`` is that of the block's output, zero where ReLU was, and the sums of its norms are there.
        """
        dz2, d_residual = norms.input_gradients(
            g, passed.z2, layer.norm2, masked=True, residual=passed.residual, shortcut=layer.norm3
        )
        if self.ours is None:
            g = self._back(layer.conv2, dz2)
            norms.gradient_sums(g, passed.z1, layer.norm1)
        else:
            g = self.ours.plain.through_norm(dz2, layer.conv2.weights, layer.conv2.height, passed.z1, layer.norm1)
        self._learn(layer.conv2, dz2, passed.y1, rate)
        return norms.input_gradients(g, passed.z1, layer.norm1, masked=self.ours is not None)[0], d_residual

    def _enter(
        self, layer: Layer, g: Tensor, g_residual: Tensor, z: Tensor, norm: Norm, y: Tensor,
        residual: Tensor | None = None, shortcut: Norm | None = None,
    ) -> Tensor:  # fmt: skip
        """From a block into the one below it, whose output is y: its gradient, and the sums of its norms."""
        conv = layer.conv1
        if self.ours is None:
            other = g_residual if layer.conv3 is None else self._back(layer.conv3, g_residual)
            g = self._back(conv, g)
            norms.gradient_sums(g, z, norm, y, other, residual, shortcut)
            return g
        if layer.conv3 is None:
            return self.ours.plain.through_block(
                g, conv.weights, conv.height, z, norm, y, g_residual, residual, shortcut
            )
        assert shortcut is None  # no two blocks in a row change the shape
        return self.ours.strided.through_block(
            g, conv.weights, g_residual, layer.conv3.weights, conv.height, z, norm, y
        )

    def _convolved(self, conv: Filter, x: Tensor, norm: Norm | None = None) -> Tensor:
        """(pixels, in) to (pixels, out); the sums of the result go to the norm."""
        if self.ours is not None:
            kind = self.ours.plain if conv.stride == 1 else self.ours.strided
            return kind.convolution(x, conv.weights, conv.height, norm)
        z = F.conv2d(_images(x, conv.height), _filters(conv), stride=conv.stride, padding=conv.size // 2)
        z = _matrix(z)
        if norm is not None:
            norms.moments(z, norm)
        return z

    def _evaluated(
        self, conv: Filter, norm: Norm, x: Tensor, residual: Tensor | None = None, *, relu: bool = True
    ) -> Tensor:
        """relu(norm(convolution) + residual) with the running statistics."""
        if self.ours is None:
            return norms.normalised(self._convolved(conv, x), norm, residual, evaluate=True, relu=relu)
        if conv.stride == 1:
            return self.ours.plain.normalised(x, conv.weights, conv.height, norm, residual)
        return self.ours.strided.normalised(x, conv.weights, conv.height, norm, relu=relu)

    def _back(self, conv: Filter, g: Tensor) -> Tensor:
        """The gradient of a convolution's input."""
        x = g.new_empty((len(g) * conv.stride**2, conv.weights.shape[1] // conv.size**2))
        return _matrix(_gradients(conv, g, x, (True, False, False))[0])

    def _learn(self, conv: Filter, g: Tensor, x: Tensor, rate: Tensor) -> None:
        """The gradient of the weights; or, where that can be done at once, their update: nobody needs them any more."""
        if self.ours is None:
            filters = _gradients(conv, g, x, (False, True, False))[1]
            conv.grad.copy_(filters.permute(0, 2, 3, 1).reshape(conv.grad.shape))
        elif conv.memory is not None:
            self.ours.plain.weight_update(g, x, conv.height, conv.memory, rate, self.rule)
        elif conv.stride == 1:
            self.ours.plain.weight_gradient(g, x, conv.height, conv.grad)
        elif conv.size == 3:
            self.ours.strided.weight_gradient(g, x, conv.height, conv.grad)
        else:
            self.ours.strided.shortcut_gradient(g, x, conv.height, conv.grad)


def _apart(model: ResNet18) -> list[Tensor]:
    """The filters that :mod:`~dissensus.training.fused.conv` updates by itself: two thirds of all parameters."""
    from dissensus.training.fused.conv import updates

    blocks = [
        block for block in model.stages if isinstance(block, Block) and updates(32 * 64 // block.conv2.out_channels)
    ]
    return [conv.weight for block in blocks for conv in (block.conv1, block.conv2) if conv.stride[0] == 1]


def _gradients(conv: Filter, g: Tensor, x: Tensor, wanted: tuple[bool, bool, bool]) -> tuple[Tensor, Tensor, Tensor]:
    stride, padding = [conv.stride] * 2, [conv.size // 2] * 2
    return torch.ops.aten.convolution_backward(
        _images(g, conv.height // conv.stride), _images(x, conv.height), _filters(conv), None, stride, padding, [1, 1],
        False, [0, 0], 1, wanted,
    )  # fmt: skip


def _filters(conv: Filter) -> Tensor:
    return conv.weights.view(len(conv.weights), conv.size, conv.size, -1).permute(0, 3, 1, 2)


def _images(x: Tensor, height: int) -> Tensor:
    return x.view(-1, height, height, x.shape[1]).permute(0, 3, 1, 2)


def _matrix(images: Tensor) -> Tensor:
    return images.permute(0, 2, 3, 1).reshape(-1, images.shape[1])
