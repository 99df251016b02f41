r"""Quadratic forms :math:`v'Hv` without the product Hv: forward passes only, for less than half of its price.

Along :math:`\theta + tv` the outputs z of a net of modules :math:`y = M(w, x)` have a second derivative to which every
module adds its own, carried to the loss by the gradient :math:`\delta_M` at its output, which is the same for all v:

.. math:: v'Hv = D^2\ell[\dot z^2] + \sum_M \langle \delta_M, D^2M[(\dot w, \dot x)^2] \rangle .

What is linear in its weights and in its inputs has :math:`D^2M = 2 M(\dot w, \dot x)`; rectifiers and pooling have 0.
So a convolution costs four of its kind a form, where a product costs nine and keeps every activation for a backward
pass. (The collapsed Taylor mode of Dangel et al., 2025, with the gradient for the second order.)

What happens between the modules must be linear piece by piece, as sums, means and rectifiers are. That is not taken on
trust: :meth:`dissensus.diagnostics.Hessian.forms` compares with a product first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jvp
from torch.nn import functional as F

Total: TypeAlias = Callable[[Tensor], Tensor]  # outputs -> the sum of the losses
Moving: TypeAlias = tuple[Tensor, Tensor | None]  # a value, and its derivative along the line if it has one

CONVOLUTION = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
PIECEWISE_LINEAR = (
    nn.Embedding,  # in its weight; its inputs cannot move
    nn.Identity,
    nn.Flatten,
    nn.ReLU,
    nn.LeakyReLU,
    nn.modules.dropout._DropoutNd,
    nn.modules.pooling._MaxPoolNd,
    nn.modules.pooling._AvgPoolNd,
    nn.modules.pooling._AdaptiveAvgPoolNd,
    nn.modules.pooling._AdaptiveMaxPoolNd,
)


class NotPlain(Exception):
    """A module that does not turn one tensor into one tensor."""


def gradients_within(model: nn.Module, parameters: dict[str, Tensor], total: Total, x: Tensor) -> list[Tensor]:
    """The gradient of the loss at the output of every call of a module that may bend, in the order of the calls."""
    outputs: list[Tensor] = []

    def note(_: nn.Module, entered: tuple[Any, ...], left: Any) -> Tensor:
        if len(entered) != 1 or not isinstance(left, Tensor) or not left.is_floating_point():
            raise NotPlain
        if not left.requires_grad:  # it follows nothing but what is frozen
            left = left.detach().requires_grad_()
        outputs.append(left)
        return left.clone()  # what follows may work in place

    with _hooked(model, lambda module: module.register_forward_hook(note)), torch.enable_grad():
        loss = total(functional_call(model, parameters, (x,)))
        return list(torch.autograd.grad(loss, outputs, materialize_grads=True))


def form(
    model: nn.Module,
    parameters: dict[str, Tensor],
    along: dict[str, Tensor],
    x: Tensor,
    total: Total,
    gradients: list[Tensor],
) -> tuple[Tensor, Tensor]:
    """:math:`v'Hv` of the total loss, and the sum of the sizes of its terms, by which a difference is to be judged."""
    terms: list[Tensor] = []
    others: list[Callable[[], Tensor]] = []
    waiting = iter(gradients)

    def note(module: nn.Module, entered: tuple[Tensor]) -> None:
        gradient, (x, moving) = next(waiting), forward_ad.unpack_dual(entered[0])
        weights = {name: forward_ad.unpack_dual(value) for name, value in module.named_parameters(recurse=False)}
        if (bilinear := _bilinear(module)) is None:
            # Later, since another derivative cannot be taken in the midst of this one; of a copy, since the module may
            # work in place.
            copied = x.clone(), None if moving is None else moving.clone()
            others.append(partial(_by_differentiating, module, copied, weights, gradient))
        elif moving is not None and "weight" in weights and (weight := weights["weight"].tangent) is not None:
            terms.append(2 * (gradient * bilinear(moving, weight)).sum())

    with torch.no_grad(), forward_ad.dual_level():
        duals = {name: forward_ad.make_dual(value, along[name]) for name, value in parameters.items()}
        with _hooked(model, lambda module: module.register_forward_pre_hook(note)):
            outputs, moving = forward_ad.unpack_dual(functional_call(model, duals, (x,)))
    terms += [other() for other in others]
    terms.append(outputs.new_zeros(()) if moving is None else _second_derivative(total, (outputs,), (moving,)))
    sizes = torch.stack(terms)
    return sizes.sum(), sizes.abs().sum()


def _bilinear(module: nn.Module) -> Callable[[Tensor, Tensor], Tensor] | None:
    """The module as a function of inputs and weight, less its bias, if it is linear in both."""
    if isinstance(module, nn.Linear):
        return F.linear
    if isinstance(module, CONVOLUTION):
        return lambda x, weight: module._conv_forward(x, weight, None)
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
        scale = torch.rsqrt(module.running_var + module.eps)
        return lambda x, weight: x * (weight * scale).reshape(-1, *[1] * (x.ndim - 2))
    return None


def _by_differentiating(module: nn.Module, inputs: Moving, weights: dict[str, Moving], gradient: Tensor) -> Tensor:
    """For every other module: two derivatives of it alone."""
    names, values = list(weights), [inputs, *weights.values()]
    along = tuple(torch.zeros_like(value) if moving is None else moving for value, moving in values)

    def carried(x: Tensor, *given: Tensor) -> Tensor:
        return (gradient * functional_call(module, dict(zip(names, given, strict=True)), (x.clone(),))).sum()

    return _second_derivative(carried, tuple(value for value, _ in values), along)


def _second_derivative(function: Callable[..., Tensor], at: tuple[Tensor, ...], along: tuple[Tensor, ...]) -> Tensor:
    """Of a number; by the gradient, since torch's second forward derivative of a layer norm is wrong (2.13)."""
    moving = jvp(grad(function, argnums=tuple(range(len(at)))), at, along)[1]
    return torch.stack([(one * other).sum() for one, other in zip(moving, along, strict=True)]).sum()


def _bends(module: nn.Module) -> bool:
    """Whether a module computes something itself whose second derivative is not known to be 0."""
    own = next(iter(module.parameters(recurse=False)), None) is not None
    alone = next(iter(module.children()), None) is None
    return (own or alone) and not isinstance(module, PIECEWISE_LINEAR)


@contextmanager
def _hooked(model: nn.Module, hook: Callable[[nn.Module], Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for module in model.modules():
            if _bends(module):
                stack.callback(hook(module).remove)
        yield
