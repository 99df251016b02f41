"""ODIN: a score for out-of-distribution items that looks at the model's gradient in the input."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.arrays import PerItem
from dissensus.base.errors import InputError
from dissensus.diagnostics.given import as_inputs, as_model, differentiable
from dissensus.evaluation.predict import device_of, evaluating, rows
from dissensus.metrics import softmax
from dissensus.metrics.checks import as_whole


def odin(
    model: nn.Module,
    inputs: Tensor | NDArray,
    *,
    temperature: float = 1000.0,
    epsilon: float = 0.0014,
    chunk: int = 500,
) -> PerItem:
    r"""Maximum softmax probability at a high temperature, after a small step of the input towards the predicted class.

    .. math:: \max_k \mathrm{softmax}(z(\tilde x) / T)_k, \qquad
              \tilde x = x + \varepsilon\, \mathrm{sign} \nabla_x \log \max_k \mathrm{softmax}(z(x) / T)_k

    (Liang, Li & Srikant, "Enhancing the reliability of out-of-distribution image detection in neural networks", ICLR
    2018.) Higher means more like what the model was trained on: the step helps there more than elsewhere. ``inputs``
    are what the model takes, so normalised where it wants that, and ``epsilon`` is in their units. The model is in
    evaluation mode meanwhile, and its gradients are left alone.

    >>> _ = torch.manual_seed(0)
    >>> model, x = nn.Linear(2, 3), torch.randn(5, 2)
    >>> bool((odin(model, x, epsilon=0.1) > odin(model, x, epsilon=0.0)).all())  # the step makes it surer
    True
    """
    if not 0 <= epsilon < np.inf:
        raise InputError(f"epsilon must be 0 or a positive number, but it is {epsilon!r}.")
    model = differentiable(as_model(model))
    inputs, device = as_inputs(model, inputs), device_of(model)
    if not inputs.is_floating_point():
        raise InputError(f"inputs are {inputs.dtype}: ODIN takes a small step from each, and whole numbers have none.")
    chunks = inputs.split(as_whole("chunk", chunk, least=1))
    with evaluating(model):
        logits = [_after_the_step(model, x.to(device), temperature, epsilon) for x in chunks]
    # In float64: at T = 1000 all probabilities are 1 / C to a few digits, and float32 would make ties of some.
    return softmax(torch.cat(logits).double().cpu().numpy(), temperature).max(1)


def _after_the_step(model: nn.Module, x: Tensor, temperature: float, epsilon: float) -> Tensor:
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        confidence = torch.log_softmax(rows(model(x), len(x)) / temperature, 1).amax(1).sum()
        (towards,) = torch.autograd.grad(confidence, x)
    with torch.no_grad():
        return model(x + epsilon * towards.sign())
