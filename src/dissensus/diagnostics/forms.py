r"""Quadratic forms :math:`v'Hv` by forward passes only, for less than half of the price of a product, and products Hv.

Along :math:`\theta + tv` the outputs z of a net of modules :math:`y = M(w, x)` have a second derivative to which every
module adds its own, carried to the loss by the gradient :math:`\delta_M` at its output, which is the same for all v:

.. math:: v'Hv = D^2\ell[\dot z^2] + \sum_M \langle \delta_M, D^2M[(\dot w, \dot x)^2] \rangle .

What is linear in its weights and in its inputs has :math:`D^2M = 2 M(\dot w, \dot x)`; rectifiers and pooling have 0.
Outputs and gradients of convolutions and batch norms, the same for all v, are computed once: so a convolution costs
three of its kind a form, where a product by forward over reverse costs nine and keeps every activation for a backward
pass. (The collapsed Taylor mode of Dangel et al., 2025, with the gradient for the second order.)

And :math:`Hv = \frac12 \nabla_v\, v'Hv`: one backward pass through a form, four more of a convolution's kind, gives the
product for seven, since nothing that is the same for all v is computed or differentiated again.

What happens between the modules must be linear piece by piece, as sums, means and rectifiers are. That is not taken on
trust: :meth:`dissensus.diagnostics.Hessian.forms` compares with a product first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jvp
from torch.nn import functional as F
from torch.nn.utils.parametrize import is_parametrized

from dissensus.diagnostics.weights import called_with

Parameters: TypeAlias = dict[str, Tensor]
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
    """A module that does not turn one tensor into one tensor, or has parameters of its own beside other modules."""


class Affine(NamedTuple):
    """A module that is linear in its inputs, but for a shift, and in its weight and bias.

    ``part`` of inputs and weight is the output without what does not depend on the inputs.
    """

    whole: Callable[[Tensor, Tensor, Tensor | None], Tensor]  # inputs, weight and bias -> outputs
    onto: Callable[[Tensor | None, Tensor, Tensor], Tensor]  # something, and the part added to it
    bend: Callable[[Tensor, Tensor, Tensor], Tensor]  # the inner products of rows of a gradient with those of the part
    keep: bool  # whether its outputs are dear to compute


class Form(NamedTuple):
    """:math:`v'Hv` of the total loss, and the sum of the sizes of its terms, by which a difference is to be judged."""

    value: Tensor
    size: Tensor
    rows: Tensor | None  # what it is a sum of, if all modules have as many rows as there are items


class Place(NamedTuple):
    """What a call of a module has along every line: its output, where that is dear to compute, and the gradient."""

    output: Tensor | None
    gradient: Tensor
    written: bool  # whether what follows works in place on the output


Affines: TypeAlias = dict[nn.Module, Affine | None]  # of the modules that may bend; None: not known to be affine


@dataclass(frozen=True)
class Point:
    """A model at its parameters on some items, with the place of every call of a module that may bend, in order."""

    model: nn.Module
    parameters: Parameters
    x: Tensor
    total: Total
    affines: Affines
    places: list[Place]

    @classmethod
    def of(cls, model: nn.Module, parameters: Parameters, x: Tensor, total: Total) -> Point:
        affines = {module: _affine(module) for module in model.modules() if _bends(module)}
        return cls(model, parameters, x, total, affines, _places_within(model, affines, parameters, x, total))

    def form(self, along: Parameters) -> Form:
        with torch.no_grad():
            return self._form(along)

    def product(self, along: Parameters) -> Parameters:
        """:math:`Hv` of the total loss."""
        variables = {name: value.detach().requires_grad_() for name, value in along.items()}
        with torch.enable_grad():
            half = self._form(variables).value / 2
        rows = torch.autograd.grad(half, list(variables.values()), materialize_grads=True)
        return dict(zip(variables, rows, strict=True))

    def _form(self, along: Parameters) -> Form:
        rows: list[Tensor] = []
        others: list[Callable[[], Tensor]] = []
        waiting = iter(self.places)

        def go_through(module: nn.Module, affine: Affine, entered: Tensor) -> Tensor:
            (output, gradient, written), (x, moving) = next(waiting), forward_ad.unpack_dual(entered)
            weight, turning = forward_ad.unpack_dual(cast(Tensor, module.weight))
            bias, shifting = (None, None) if module.bias is None else forward_ad.unpack_dual(cast(Tensor, module.bias))
            if output is None:
                output = affine.whole(x, weight, bias)
            elif written:
                output = output.clone()
            tangent = None
            if turning is not None or shifting is not None:
                tangent = affine.whole(x, torch.zeros_like(weight) if turning is None else turning, shifting)
            if moving is not None:
                tangent = affine.onto(tangent, moving, weight)
            if moving is not None and turning is not None:
                rows.append(2 * affine.bend(gradient, moving, turning))
            return output if tangent is None else forward_ad.make_dual(output, tangent)

        def bend(module: nn.Module, entered: tuple[Tensor]) -> None:
            # Later, since another derivative cannot be taken in the midst of this one; of a copy, since the module may
            # work in place.
            x, moving = forward_ad.unpack_dual(entered[0])
            weights = {name: forward_ad.unpack_dual(value) for name, value in module.named_parameters(recurse=False)}
            copied = x.clone(), None if moving is None else moving.clone()
            others.append(partial(_by_differentiating, module, copied, weights, next(waiting).gradient))

        def change(module: nn.Module) -> Callable[[], None]:
            if (affine := self.affines[module]) is None:
                return module.register_forward_pre_hook(bend).remove
            module.forward = partial(go_through, module, affine)
            return partial(delattr, module, "forward")

        with forward_ad.dual_level():
            duals = {name: forward_ad.make_dual(value, along[name]) for name, value in self.parameters.items()}
            with _changed(self.affines, change):
                outputs, moving = forward_ad.unpack_dual(called_with(self.model, duals, self.x))
        if moving is not None:
            rows.append(_by_row(jvp(grad(self.total), (outputs,), (moving,))[1] * moving))
        if not rows and not others:
            rows.append(outputs.new_zeros(len(self.x)))
        if others or any(len(row) != len(self.x) for row in rows):
            terms = torch.stack([*(row.sum() for row in rows), *(other() for other in others)])
            return Form(terms.sum(), terms.detach().abs().sum(), None)
        table = torch.stack(rows)
        return Form(table.sum(), table.detach().sum(1).abs().sum(), table.detach().sum(0))


def _places_within(model: nn.Module, affines: Affines, parameters: Parameters, x: Tensor, total: Total) -> list[Place]:
    outputs: list[Tensor] = []
    dear: list[bool] = []
    handed: list[Tensor] = []

    def note(module: nn.Module, entered: tuple[Any, ...], left: Any) -> Tensor:
        around = next(iter(module.children()), None) is not None and not is_parametrized(module)
        if around or len(entered) != 1 or not isinstance(left, Tensor) or not left.is_floating_point():
            raise NotPlain
        if not left.requires_grad:  # it follows nothing but what is frozen
            left = left.detach().requires_grad_()
        outputs.append(left)
        affine = affines[module]
        dear.append(affine is not None and affine.keep)
        handed.append(left.clone())  # what follows may work in place
        return handed[-1]

    with _changed(affines, lambda module: module.register_forward_hook(note).remove), torch.enable_grad():
        loss = total(called_with(model, parameters, x))
        written = [value._version > 0 for value in handed]
        handed.clear()  # before the backward pass, which takes most memory
        gradients = torch.autograd.grad(loss, outputs, materialize_grads=True)
    kept = [output.detach() if keep else None for output, keep in zip(outputs, dear, strict=True)]
    return [Place(*place) for place in zip(kept, gradients, written, strict=True)]


def _affine(module: nn.Module) -> Affine | None:
    """What the module computes, if it is known to be affine."""
    if "forward" in vars(module) or module._parameters.get("weight") is None:
        return None
    if isinstance(module, nn.Linear):
        return _product(F.linear, F.linear, keep=False)
    if isinstance(module, CONVOLUTION):
        return _product(module._conv_forward, lambda x, weight: module._conv_forward(x, weight, None), keep=True)
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
        return _frozen(cast(Tensor, module.running_mean), torch.rsqrt(module.running_var + module.eps))
    return None


def _product(
    whole: Callable[[Tensor, Tensor, Tensor | None], Tensor], part: Callable[[Tensor, Tensor], Tensor], keep: bool
) -> Affine:
    def onto(to: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
        return part(x, weight) if to is None else to + part(x, weight)

    return Affine(whole, onto, lambda gradient, x, weight: _by_row(gradient * part(x, weight)), keep)


def _frozen(mean: Tensor, scale: Tensor) -> Affine:
    """Batch norm with the statistics that it has. On a GPU it is bound by memory, so each tensor is read seldom."""

    def spread(values: Tensor, x: Tensor) -> Tensor:
        return values.reshape(-1, *[1] * (x.ndim - 2))

    def whole(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        factor = weight * scale
        shift = -mean * factor if bias is None else torch.addcmul(bias, mean, factor, value=-1)
        return torch.addcmul(spread(shift, x), x, spread(factor, x))

    def onto(to: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
        factor = spread(weight * scale, x)
        return x * factor if to is None else torch.addcmul(to, x, factor)

    def bend(gradient: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        products = gradient * x
        by_channel = products.sum(list(range(2, x.ndim))) if x.ndim > 2 else products
        return (by_channel * (weight * scale)).sum(1)

    return Affine(whole, onto, bend, keep=True)


def _by_row(values: Tensor) -> Tensor:
    return values.sum(list(range(1, values.ndim))) if values.ndim > 1 else values


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
def _changed(modules: Iterable[nn.Module], change: Callable[[nn.Module], Callable[[], None]]) -> Iterator[None]:
    """With a change, which tells how it is undone, in each of these modules."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(change(module))
        yield
