"""Model and inputs to logits or features: the only part of evaluation that needs torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.errors import InputError

Prepare = Callable[[Tensor], Tensor]


def predict(
    model: nn.Module, inputs: Tensor | NDArray, prepare: Prepare | None = None, *, batch_size: int = 512
) -> NDArray[np.float32]:
    """The logits of every item, (items, classes), in evaluation mode.

    ``prepare`` turns a batch of inputs into what the model takes, such as the normalisation of the training run
    (``fitted.prepare``). Every module is in the mode it was in when this returns.

    >>> predict(nn.Linear(4, 3), np.zeros((5, 4), np.float32)).shape
    (5, 3)
    """
    return logits(model, inputs, prepare, batch_size=batch_size).cpu().numpy()


def logits(
    model: nn.Module, inputs: Tensor | NDArray, prepare: Prepare | None = None, *, batch_size: int = 512
) -> Tensor:
    """What :func:`predict` gives, left where the model is: a GPU goes on with what comes next."""
    return _through(model, lambda x: rows(model(x), len(x)), inputs, prepare, batch_size)


def rows(outputs: Any, items: int) -> Tensor:
    """What a model returned, if it is one row of logits an item.

    >>> rows({"logits": torch.zeros(5, 3)}, items=5)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: the model must return (items, outputs), but returns a dict for 5 items. Wrap it in
    a module that returns its logits.
    """
    if isinstance(outputs, Tensor) and outputs.ndim == 2 and len(outputs) == items:
        return outputs
    told = f"the shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else f"a {type(outputs).__name__}"
    raise InputError(
        f"the model must return (items, outputs), but returns {told} for {items} items. Wrap it in a module that "
        "returns its logits."
    )


def penultimate(
    model: nn.Module, inputs: Tensor | NDArray, prepare: Prepare | None = None, *, batch_size: int = 512
) -> NDArray[np.float32]:
    """What enters the last layer for every item, (items, features): ``model.features(x)`` in evaluation mode."""
    features = getattr(model, "features", None)
    if not callable(features):
        raise InputError(
            f"{type(model).__name__} has no features(x). Give the model a method of that name that returns what "
            "enters its last layer."
        )
    return _through(model, features, inputs, prepare, batch_size).cpu().numpy()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, and every module's own mode again afterwards: a frozen batch-norm stays frozen."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def device_of(model: nn.Module) -> torch.device:
    """Where the model is; everything it works on is brought there."""
    parameter = next(model.parameters(), None)
    return torch.device("cpu") if parameter is None else parameter.device


def _through(
    model: nn.Module,
    function: Callable[[Tensor], Tensor],
    inputs: Tensor | NDArray,
    prepare: Prepare | None,
    batch_size: int,
) -> Tensor:
    if not len(inputs):
        raise InputError("inputs hold no items, so there is nothing to predict.")
    device = device_of(model)
    with evaluating(model), torch.no_grad():
        rows = []
        for batch in torch.as_tensor(inputs).split(batch_size):
            x = batch.to(device)
            rows.append(function(x if prepare is None else prepare(x)).float())
        return torch.cat(rows)
