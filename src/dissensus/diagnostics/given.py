"""What every instrument is given: a model, and inputs as it takes them. What cannot be used is told here."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dissensus.base.errors import InputError


def as_model(model: nn.Module) -> nn.Module:
    """The module itself, without what ``torch.compile`` or data-parallel training put around it.

    >>> inside = nn.Linear(2, 3)
    >>> as_model(nn.DataParallel(inside)) is inside
    True
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch.nn.Module, but it is a {type(model).__name__}.")
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError("model was made by torch.jit, which hides what is inside. Pass the module it was made from.")
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        return as_model(model.module)
    compiled = getattr(model, "_orig_mod", None)
    return as_model(compiled) if isinstance(compiled, nn.Module) else model


def as_inputs(model: nn.Module, inputs: Any, name: str = "inputs") -> Tensor:
    """Inputs as a tensor, items first; floating-point ones in the precision of the model.

    >>> as_inputs(nn.Linear(2, 3).double(), [[1.0, 2.0]]).dtype
    torch.float64
    >>> as_inputs(nn.Linear(2, 3), {"tokens": [[1, 2]]})
    Traceback (most recent call last):
    dissensus.base.errors.InputError: inputs must be one tensor or array, items first, but a dict was given. Wrap the
    model in a module that takes one tensor and hands on its parts.
    """
    try:
        tensor = torch.as_tensor(inputs)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"{name} must be one tensor or array, items first, but a {type(inputs).__name__} was given. Wrap the model "
            "in a module that takes one tensor and hands on its parts."
        ) from None
    if not tensor.ndim:
        raise InputError(f"{name} must be one tensor or array, items first, but a single number was given.")
    if not len(tensor):
        raise InputError(f"{name} hold no items, so there is nothing to look at.")
    if tensor.dtype == torch.uint8:
        raise InputError(f"{name} are uint8; pass what the model takes: normalised, as floating-point numbers.")
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        tensor = tensor.clone()  # one that may take part in a derivative
    dtypes = {value.dtype for value in model.parameters() if value.is_floating_point()}
    exact = dtypes in ({torch.float32}, {torch.float64})
    return tensor.to(dtypes.pop()) if exact and tensor.is_floating_point() else tensor


def differentiable(model: nn.Module) -> nn.Module:
    """The model, unless there can be no derivatives.

    >>> with torch.inference_mode():
    ...     differentiable(nn.Linear(2, 3))
    Traceback (most recent call last):
    dissensus.base.errors.InputError: in torch.inference_mode there are no derivatives. Use torch.no_grad instead.
    """
    if torch.is_inference_mode_enabled():
        raise InputError("in torch.inference_mode there are no derivatives. Use torch.no_grad instead.")
    made = next((name for name, value in model.state_dict(keep_vars=True).items() if value.is_inference()), None)
    if made is not None:
        raise InputError(
            f"{made} was made in torch.inference_mode, where there are no derivatives. Make the model in torch.no_grad "
            "instead, or pass a copy.deepcopy of it."
        )
    return model
