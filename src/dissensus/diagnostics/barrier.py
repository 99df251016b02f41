"""Do two models lie in one basin? The loss on the straight line between their weights."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from dissensus.base.arrays import as_array, as_labels, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.given import as_inputs, as_model
from dissensus.diagnostics.weights import same_weights
from dissensus.evaluation.predict import device_of, evaluating, logits
from dissensus.metrics.checks import as_whole


@dataclass(frozen=True)
class Barrier:
    r"""The mean loss at every :math:`\alpha` of the line, and how far it rises above the line between its two ends.

    .. math:: \mathrm{height} = \max_\alpha\; L(\theta_\alpha) - (1 - \alpha) L(\theta_0) - \alpha L(\theta_1)

    It is never below 0. ``standard_error`` is that of this difference over items, at the :math:`\alpha` of the maximum.
    """

    alphas: NDArray[np.float64]  # (points,), from 0 (the first model) to 1 (the second)
    losses: NDArray[np.float64]  # (points,)
    height: float
    standard_error: float


def barrier(
    model_a: nn.Module,
    model_b: nn.Module,
    inputs: Tensor | NDArray,
    targets: Tensor | ArrayLike,
    points: int = 21,
    *,
    chunk: int = 500,
) -> Barrier:
    r"""The cross-entropy along :math:`(1 - \alpha) \theta_a + \alpha \theta_b` (Frankle et al., 2020).

    Batch-norm statistics are interpolated like weights and are *stale*: no data ever had them, and activations shrink
    between the ends (Jordan et al., 2023). Much of a barrier can be that alone; beside it belongs
    :func:`barrier_with_reset_statistics`. And two models may be one, with its hidden units in another order:
    ``barrier(a, aligned(b, to=a), ...)`` tells.

    ``targets`` are one class an item or rows of probabilities. Between seeds pass only the items that neither model was
    trained on (:func:`~dissensus.diagnostics.shared_items.shared_items`). A height means little without its control:
    two models of one method, from the same initial weights, that saw the data in another order. Everything is in
    evaluation mode, and neither model is touched.

    >>> def two(sign):  # both layers with the other sign: the same function
    ...     model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False))
    ...     model[0].weight.data, model[1].weight.data = sign * torch.tensor([[5.0]]), sign * torch.tensor([[5.0], [0]])
    ...     return model
    >>> x, y = torch.tensor([[1.0], [-1.0]]), np.array([0, 1])
    >>> barrier(two(1), two(1), x, y).height, round(barrier(two(1), two(-1), x, y).height, 4)  # log 2: nothing is known
    (0.0, 0.6931)
    """
    return _along(model_a, model_b, inputs, targets, points, chunk, None)


def barrier_with_reset_statistics(
    model_a: nn.Module,
    model_b: nn.Module,
    inputs: Tensor | NDArray,
    targets: Tensor | ArrayLike,
    statistics_inputs: Tensor | NDArray,
    points: int = 21,
    *,
    chunk: int = 500,
) -> Barrier:
    r""":func:`barrier` with batch-norm statistics that are computed anew, from ``statistics_inputs``, at every point.

    At :math:`\theta_\alpha` a layer normalises by the mean :math:`\mu_\alpha` and variance :math:`\sigma^2_\alpha` of
    what enters it there, not by :math:`(1 - \alpha) \mu_0 + \alpha \mu_1` and the like (Jordan et al., "REPAIR", 2023).

    At both ends, too, so that all points are alike: their losses may differ a little from those of the models as they
    are. Pass training inputs, as the model takes them and without augmentation. The statistics are means over equal
    batches of at most ``chunk`` items, each normalised by its own.

    >>> _ = torch.manual_seed(0)
    >>> a = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    >>> b = copy.deepcopy(a)
    >>> _ = b[1].running_var.fill_(9.0)  # statistics that are not those of the data are all that they differ in
    >>> x, y = torch.randn(30, 2), np.arange(30) % 2
    >>> reset = barrier_with_reset_statistics(a, b, x, y, statistics_inputs=x)
    >>> bool(np.ptp(barrier(a, b, x, y).losses) > 0), float(np.ptp(reset.losses))
    (True, 0.0)
    """
    model_a = as_model(model_a)
    if not has_statistics(model_a):
        raise InputError(f"{type(model_a).__name__} has no batch-norm statistics to reset. Use barrier.")
    statistics_inputs = as_inputs(model_a, statistics_inputs, "statistics_inputs")
    if len(statistics_inputs) < 2:
        raise InputError(f"statistics_inputs must hold at least two items, but they hold {len(statistics_inputs)}.")
    return _along(model_a, model_b, inputs, targets, points, chunk, statistics_inputs)


def _along(
    model_a: nn.Module,
    model_b: nn.Module,
    inputs: Tensor | NDArray,
    targets: Tensor | ArrayLike,
    points: int,
    chunk: int,
    statistics_inputs: Tensor | None,
) -> Barrier:
    points, chunk = as_whole("points", points, least=3), as_whole("chunk", chunk, least=1)  # the ends, and one between
    model_a, model_b = as_model(model_a), as_model(model_b)
    inputs = as_inputs(model_a, inputs)
    targets = as_array("targets", targets.detach().cpu() if isinstance(targets, Tensor) else targets)
    same_length(inputs=inputs, targets=targets)
    same_weights(model_a, model_b)
    between = copy.deepcopy(model_a)
    alphas = np.linspace(0, 1, points)
    said = []
    for alpha in alphas:
        _place(between, model_a, model_b, float(alpha))
        if statistics_inputs is not None:
            _reset_statistics(between, statistics_inputs, chunk)
        said.append(logits(between, inputs, batch_size=chunk))
    per_item = np.array([_losses(one.cpu(), targets) for one in said])  # (points, items)
    means = per_item.mean(1)
    rise = means - np.interp(alphas, [0, 1], means[[0, -1]])
    top = int(rise.argmax())
    above = per_item[top] - (1 - alphas[top]) * per_item[0] - alphas[top] * per_item[-1]
    error = float(above.std(ddof=1) / np.sqrt(len(above))) if len(above) > 1 else np.nan
    return Barrier(alphas, means, float(rise[top]), error)


def _place(between: nn.Module, model_a: nn.Module, model_b: nn.Module, alpha: float) -> None:
    """Weights and buffers of ``between`` at ``alpha``; what counts (batches seen) stays as it is in the first model."""
    there = model_b.state_dict()
    here = model_a.state_dict()
    for name, value in between.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.lerp(here[name], there[name].to(here[name]), alpha))  # exact at both ends


def _losses(said: Tensor, targets: NDArray) -> NDArray[np.float64]:
    z = said.double()
    y = as_labels("targets", targets, z.shape[1]) if targets.ndim == 1 else as_simplex("targets", targets)
    if y.ndim == 2 and y.shape[1] != z.shape[1]:
        raise InputError(f"targets have {y.shape[1]} classes, but the model has {z.shape[1]}.")
    return F.cross_entropy(z, torch.from_numpy(y), reduction="none").numpy()


def has_statistics(model: nn.Module) -> bool:
    """Whether batch-norm statistics are part of the model, and so of a line between two."""
    return any(module.running_mean is not None for module in _batch_norms(model))


def _batch_norms(model: nn.Module) -> list[_BatchNorm]:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def _reset_statistics(model: nn.Module, inputs: Tensor, chunk: int) -> None:
    norms, device = _batch_norms(model), device_of(model)
    momenta = [norm.momentum for norm in norms]
    with evaluating(model), torch.no_grad():  # dropout stays off
        for norm in norms:
            norm.train()
            norm.reset_running_stats()
        batches = inputs.tensor_split(-(-len(inputs) // chunk))  # no small last batch, which would count as much
        for number, x in enumerate(batches, 1):
            for norm in norms:
                norm.momentum = 1 / number  # a plain mean; None is the same, but has a GPU wait in every layer
            model(x.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
