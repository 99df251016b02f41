"""Which hidden units of a model can change places without changing what it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch import nn

from dissensus.base.errors import InputError
from dissensus.models import MLP, ResNet18, SmallCNN

# The axes of weights and buffers that number the same units, as (name in the state dict, axis): a permutation of the
# units permutes all of them. Groups are in the order in which the model computes them.
Group: TypeAlias = list[tuple[str, int]]

_NORM = ("weight", "bias", "running_mean", "running_var")


def unit_groups(model: nn.Module) -> list[Group]:
    r"""The groups of units of an ``MLP``, ``SmallCNN`` or ``ResNet18``.

    A permutation P of a group turns every :math:`W` that puts its units out into :math:`PW`, and every one that takes
    them in into :math:`WP^\top`; what is added up shares one P (Ainsworth et al., "Git Re-Basin", 2023). For another
    model write them down: one list for each set of units, with every axis that numbers them.

    >>> for group in unit_groups(MLP((5,), 3, layers=2)):
    ...     print(group)
    [('trunk.0.weight', 0), ('trunk.0.bias', 0), ('trunk.2.weight', 1)]
    [('trunk.2.weight', 0), ('trunk.2.bias', 0), ('head.weight', 1)]
    """
    for kind, groups in _GROUPS.items():
        if isinstance(model, kind):
            return groups(model)
    raise InputError(
        f"the groups of hidden units of {type(model).__name__} are not known. Pass groups: for each set of units, the "
        "(name, axis) of all weights and buffers that number them, such as "
        "[[('0.weight', 0), ('0.bias', 0), ('2.weight', 1)]]."
    )


def _in_a_row(model: nn.Module) -> list[Group]:
    """One layer after the other: each puts out what the next takes in."""
    layers = [
        (f"trunk.{place}", module)
        for place, module in enumerate(model.get_submodule("trunk").children())
        if next(module.parameters(), None) is not None
    ]
    groups: list[Group] = []
    for name, module in layers:
        if isinstance(module, nn.BatchNorm2d):
            groups[-1] += _norm(name)
            continue
        if groups:
            groups[-1].append((f"{name}.weight", 1))
        groups.append([(f"{name}.{part}", 0) for part, _ in module.named_parameters()])
    groups[-1].append(("head.weight", 1))
    return groups


def _residual(model: nn.Module) -> list[Group]:
    """Inside of each block a group of its own; all blocks of a stage add to one stream, so they share its units."""
    stream: Group = [("stem.weight", 0), *_norm("norm")]
    groups = [stream]
    for place, block in enumerate(model.get_submodule("stages").children()):
        name = f"stages.{place}"
        stream.append((f"{name}.conv1.weight", 1))
        groups.append([(f"{name}.conv1.weight", 0), *_norm(f"{name}.norm1"), (f"{name}.conv2.weight", 1)])
        if not isinstance(block.get_submodule("shortcut"), nn.Identity):  # here the next stage's stream begins
            stream.append((f"{name}.shortcut.0.weight", 1))
            stream = [(f"{name}.shortcut.0.weight", 0), *_norm(f"{name}.shortcut.1")]
            groups.append(stream)
        stream += [(f"{name}.conv2.weight", 0), *_norm(f"{name}.norm2")]
    stream.append(("head.weight", 1))
    return groups


def _norm(name: str) -> Group:
    return [(f"{name}.{part}", 0) for part in _NORM]


_GROUPS: dict[type[nn.Module], Callable[[nn.Module], list[Group]]] = {
    MLP: _in_a_row,
    SmallCNN: _in_a_row,
    ResNet18: _residual,
}
