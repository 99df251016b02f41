"""Weights of models: put side by side, and put in the place of others."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from dissensus.base.errors import InputError


def same_weights(model_a: nn.Module, model_b: nn.Module) -> None:
    """An error unless the two models have weights and buffers of the same names and shapes.

    >>> same_weights(nn.Linear(2, 3), nn.Linear(2, 3))
    >>> same_weights(nn.Linear(2, 3), nn.Linear(4, 3))
    Traceback (most recent call last):
    dissensus.base.errors.InputError: the two models must have the same architecture, but weight has the shape (3, 2)
    in the first and (3, 4) in the second.
    """
    first, second = model_a.state_dict(), model_b.state_dict()
    odd = sorted(first.keys() ^ second.keys())
    if odd:
        where = "first" if odd[0] in first else "second"
        raise InputError(f"the two models must have the same architecture, but only the {where} one has {odd[0]}.")
    for name, value in first.items():
        if value.shape != second[name].shape:
            raise InputError(
                f"the two models must have the same architecture, but {name} has the shape {tuple(value.shape)} in "
                f"the first and {tuple(second[name].shape)} in the second."
            )


def called_with(model: nn.Module, parameters: dict[str, Tensor], x: Tensor) -> Any:
    """``model(x)`` with these parameters, by their names in ``named_parameters``, wherever the model uses them.

    Torch's own way of tying weights goes by all names of a module: of one with two (``self.second = self.first``) it
    would put the parameters in twice, take them out once, and leave the model with tensors that hold no numbers (2.13).

    >>> import torch
    >>> layer = nn.Linear(2, 2, bias=False)
    >>> model = nn.Sequential(layer, layer)
    >>> called_with(model, {"0.weight": 2 * torch.eye(2)}, torch.ones(1, 2))
    tensor([[4., 4.]])
    """
    name_of = {parameter: name for name, parameter in model.named_parameters()}
    everywhere = {
        f"{prefix}.{name}" if prefix else name: parameters[name_of[parameter]]
        for prefix, module in model.named_modules()  # each once
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False)
        if name_of[parameter] in parameters
    }
    return functional_call(model, everywhere, (x,), tie_weights=False)
