"""What enters the last layer of any model, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.arrays import as_matrix, same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.given import as_inputs, as_model
from dissensus.diagnostics.gradient_variance import GradientVariance, against_entropy
from dissensus.evaluation.predict import device_of, evaluating, rows
from dissensus.metrics import softmax
from dissensus.metrics.checks import as_whole


@dataclass(frozen=True)
class LastLayer:
    """The features and the logits of every item, and whether the layer between them has a bias."""

    features: NDArray[np.float32]  # (items, features)
    logits: NDArray[np.float32]  # (items, classes)
    bias: bool


def last_layer(model: nn.Module, inputs: Tensor | NDArray, *, chunk: int = 500) -> LastLayer:
    r"""Features h and logits :math:`z = Wh + b` in one pass, in evaluation mode, for any model that ends in an
    ``nn.Linear``.

    The layer is found by what it does, not by its name: it is the one whose output the model returns. Its features are
    what CKA (Kornblith et al., 2019), KNN (Sun et al., 2022) and the gradient variance are computed from.

    >>> body = nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 3))
    >>> found = last_layer(body, np.zeros((5, 4), np.float32))
    >>> found.features.shape, found.logits.shape, found.bias
    ((5, 7), (5, 3), True)
    >>> again = body[2](torch.from_numpy(found.features)).detach().numpy()
    >>> bool(np.allclose(again, found.logits))
    True
    """
    model = as_model(model)
    inputs, device = as_inputs(model, inputs), device_of(model)
    features, logits = [], []
    with evaluating(model), torch.no_grad():
        for x in inputs.split(as_whole("chunk", chunk, least=1)):
            entered, left, layer = _pass(model, x.to(device))
            features.append(entered.float())  # brought home at the end: a GPU need not wait between chunks
            logits.append(left.float())
    return LastLayer(torch.cat(features).cpu().numpy(), torch.cat(logits).cpu().numpy(), layer.bias is not None)


def gradient_variance_of(
    model: nn.Module,
    inputs: Tensor | NDArray,
    human: ArrayLike,
    *,
    draws: int = 200,
    seed: int = 0,
    chunk: int = 500,
) -> GradientVariance:
    r""":func:`~dissensus.diagnostics.gradient_variance.against_entropy` for the last layer of a model.

    With what enters it, h, the variance of an item is :math:`(1 - \lVert p \rVert^2)(\lVert h \rVert^2 + 1)`
    (arXiv 2605.20642).

    >>> human = np.array([[1.0, 0.0], [0.6, 0.4], [0.5, 0.5]])
    >>> gradient_variance_of(nn.Linear(4, 2), np.zeros((3, 4), np.float32), human).exact.round(2)
    array([0.  , 0.48, 0.5 ])
    """
    inputs = as_inputs(as_model(model), inputs)
    same_length(inputs=inputs, human=as_matrix("human", human))
    last = last_layer(model, inputs, chunk=chunk)
    return against_entropy(last.features, softmax(last.logits), human, bias=last.bias, draws=draws, seed=seed)


def _pass(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor, nn.Linear]:
    seen: list[tuple[Tensor, Tensor, nn.Linear]] = []

    def see(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Linear)
        seen.append((given[0], output, module))

    hooks = [module.register_forward_hook(see) for module in model.modules() if isinstance(module, nn.Linear)]
    try:
        returned = model(x)
    finally:
        for hook in hooks:
            hook.remove()
    for found in reversed(seen):
        if found[1] is returned:
            rows(returned, len(x))
            return found
    raise InputError(
        f"{type(model).__name__} does not return the output of an nn.Linear, so its last layer is not known. "
        "The functions of arrays, such as against_entropy, take its features and probabilities as they are."
    )
