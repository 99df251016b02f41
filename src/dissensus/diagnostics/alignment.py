"""Another basin, or the same one with its hidden units in another order? Permute one model onto another.

Weight matching: each group of units (:mod:`dissensus.diagnostics.units`) is permuted so that the weights of the two
models have the largest inner product, one group after the other, until none changes. Each such step is a linear
assignment and is solved exactly; all groups at once are a hard problem, so what is found is a local optimum.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.base.streams import permutation
from dissensus.diagnostics.given import as_model
from dissensus.diagnostics.units import Group, unit_groups
from dissensus.diagnostics.weights import same_weights
from dissensus.evaluation.predict import device_of

Order = NDArray[np.int64]  # of the units of one group: unit order[i] takes place i
Weights = dict[str, Tensor]

ROUNDS = 100  # far more than it takes: two freshly made ResNet-18 were done after three
GAIN = 1e-9  # of the whole inner product: less is rounding, and could go round in circles


def aligned(model: nn.Module, to: nn.Module, *, groups: Sequence[Group] | None = None) -> nn.Module:
    r"""A copy of ``model`` that computes the same and whose weights lie as near to those of ``to`` as was found.

    Maximises :math:`\sum_W \langle W_{\mathrm{to}}, P W Q^\top \rangle` over the permutations of hidden units, which is
    to minimise the distance of the weights (Ainsworth, Hayase & Srinivasa, "Git Re-Basin", 2023). Two starts are tried,
    the order that is there and the order that matches layer by layer from the inputs on, and the better end is taken:
    the result is never further away than ``model``, and a model that is only renamed is found again exactly.

    ``groups`` are known for the models of dissensus; for others see :func:`~dissensus.diagnostics.units.unit_groups`.

    >>> from dissensus.models import MLP
    >>> model = MLP((5,), 3)
    >>> back = aligned(renamed(model), to=model)
    >>> all(torch.equal(a, b) for a, b in zip(back.parameters(), model.parameters(), strict=True))
    True
    """
    model, to = as_model(model), as_model(to)
    same_weights(to, model)
    groups = _checked(model, unit_groups(model) if groups is None else groups)
    names = {name for name, _ in model.named_parameters()}
    device = device_of(to)
    fixed = {name: value.detach().double() for name, value in to.state_dict().items() if name in names}
    moving = {name: value.detach().to(device).double() for name, value in model.state_dict().items() if name in names}
    starts = [np.arange(_size(fixed, group)) for group in groups], _layer_by_layer(fixed, moving, groups)
    ends = [_improved(fixed, moving, groups, start) for start in starts]
    return _reordered(model, groups, max(ends, key=lambda orders: _likeness(fixed, moving, groups, orders)))


def renamed(model: nn.Module, seed: int = 0, *, groups: Sequence[Group] | None = None) -> nn.Module:
    r"""A copy that computes the same with its hidden units in a random order: far away, and not another basin.

    For every permutation P, :math:`W_2\, \sigma(W_1 x) = (W_2 P^\top)\, \sigma(P W_1 x)` (Hecht-Nielsen, "On the
    algebraic structure of feedforward network weight spaces", 1990).

    >>> from dissensus.models import MLP
    >>> model, x = MLP((5,), 3), torch.randn(4, 5)
    >>> other = renamed(model)
    >>> torch.allclose(model(x), other(x), atol=1e-6), torch.allclose(model.head.weight, other.head.weight)
    (True, False)
    """
    model = as_model(model)
    groups = _checked(model, unit_groups(model) if groups is None else groups)
    sizes = [_size(model.state_dict(), group) for group in groups]
    return _reordered(model, groups, [permutation(size, seed, "renamed", place) for place, size in enumerate(sizes)])


def _layer_by_layer(fixed: Weights, moving: Weights, groups: Sequence[Group]) -> list[Order]:
    """Each group by those weights alone whose other units have found their places: from the inputs to the outputs."""
    orders: list[Order] = []
    for place, group in enumerate(groups):
        waiting = {name for later in groups[place + 1 :] for name, _ in later}
        settled = [(name, axis) for name, axis in group if name not in waiting]
        orders.append(_best_order(fixed, moving, groups[:place], orders, settled or group))
    return orders


def _improved(fixed: Weights, moving: Weights, groups: Sequence[Group], start: list[Order]) -> list[Order]:
    orders = list(start)
    reached = _likeness(fixed, moving, groups, orders)
    for _ in range(ROUNDS):
        for place, group in enumerate(groups):
            others = [other for other in range(len(groups)) if other != place]
            known = [groups[other] for other in others], [orders[other] for other in others]
            orders[place] = _best_order(fixed, moving, *known, group)
        before, reached = reached, _likeness(fixed, moving, groups, orders)
        if reached - before <= GAIN * abs(reached):
            break
    return orders


def _best_order(
    fixed: Weights, moving: Weights, known: Sequence[Group], orders: Sequence[Order], group: Group
) -> Order:
    """The order of the units of ``group`` with the largest inner product, the ``known`` ones being in their order."""
    from scipy.optimize import linear_sum_assignment

    likeness: Tensor | float = 0.0
    for name, axis in group:
        if name in fixed:  # buffers move with their units and say nothing about them
            there = _permuted(name, moving[name], known, orders)
            likeness = likeness + _by_unit(fixed[name], axis) @ _by_unit(there, axis).T
    return linear_sum_assignment(torch.as_tensor(likeness).cpu().numpy(), maximize=True)[1]


def _likeness(fixed: Weights, moving: Weights, groups: Sequence[Group], orders: Sequence[Order]) -> float:
    return sum(float((fixed[name] * _permuted(name, value, groups, orders)).sum()) for name, value in moving.items())


def _reordered(model: nn.Module, groups: Sequence[Group], orders: Sequence[Order]) -> nn.Module:
    moved = copy.deepcopy(model)
    for name, value in moved.state_dict().items():
        value.copy_(_permuted(name, value, groups, orders))
    return moved


def _permuted(name: str, value: Tensor, groups: Sequence[Group], orders: Sequence[Order]) -> Tensor:
    for group, order in zip(groups, orders, strict=True):
        for member, axis in group:
            if member == name:
                value = value.index_select(axis, torch.from_numpy(order).to(value.device))
    return value


def _by_unit(value: Tensor, axis: int) -> Tensor:
    return value.movedim(axis, 0).flatten(1) if value.ndim > 1 else value[:, None]


def _size(weights: Weights, group: Group) -> int:
    name, axis = group[0]
    return weights[name].shape[axis]


def _beside(weights: Weights, group: Group) -> list[str]:
    """What belongs to the same units in the same layers: biases, and the statistics of a norm."""
    layers = {name.rpartition(".")[0] for name, axis in group if axis == 0}
    names = (f"{layer}.{part}".lstrip(".") for layer in layers for part in ("bias", "running_mean", "running_var"))
    return sorted(name for name in names if name in weights and len(weights[name]) == _size(weights, group))


def _checked(model: nn.Module, groups: Sequence[Group]) -> Sequence[Group]:
    """The groups, if every axis is there, belongs to one group and is as long as its others, and none was forgotten."""
    weights = model.state_dict()
    seen: dict[tuple[str, int], int] = {}
    for place, group in enumerate(groups):
        for name, axis in group:
            if name not in weights or not 0 <= axis < weights[name].ndim:
                raise InputError(f"groups[{place}] names axis {axis} of {name}, which {type(model).__name__} has not.")
            if (name, axis) in seen:
                raise InputError(f"axis {axis} of {name} is in groups[{seen[name, axis]}] and in groups[{place}].")
            units, size = weights[name].shape[axis], _size(weights, group)
            if units != size:
                raise InputError(
                    f"groups[{place}] must name axes of one length, but axis {group[0][1]} of {group[0][0]} has {size} "
                    f"and axis {axis} of {name} has {units}."
                )
            seen[name, axis] = place
        twice = {name for name, _ in group if sum(name == other for other, _ in group) > 1}
        if twice:
            raise InputError(f"groups[{place}] holds two axes of {min(twice)}; such layers cannot be matched.")
        forgotten = [name for name in _beside(weights, group) if (name, 0) not in group]
        if forgotten:
            raise InputError(f"groups[{place}] must name axis 0 of {forgotten[0]}, too: it numbers the same units.")
    return groups
