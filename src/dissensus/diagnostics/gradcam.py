"""Where does a model look? Grad-CAM maps of a chosen class at a chosen layer."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.arrays import as_labels, same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.given import as_inputs, as_model, differentiable
from dissensus.evaluation.predict import device_of, evaluating, rows
from dissensus.metrics.checks import as_whole


def gradcam(
    model: nn.Module, layer: nn.Module, inputs: Tensor | NDArray, classes: Tensor | ArrayLike, *, chunk: int = 500
) -> NDArray[np.float32]:
    r"""Grad-CAM of one class an item at one layer, (items, height, width) in the layer's own resolution.

    .. math:: \max\Bigl(0, \sum_c \alpha_c A_c\Bigr), \qquad \alpha_c = \operatorname{mean}_{uv}
              \frac{\partial z_y}{\partial A_{cuv}}

    with the channels :math:`A_c` that ``layer`` (a module of ``model``) puts out and the logit :math:`z_y` (Selvaraju
    et al., 2017). In evaluation mode; no gradient, mode or hook of the model is changed.

    >>> net = nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 2))
    >>> _ = nn.init.constant_(net[3].weight[:1], 1.0), nn.init.constant_(net[3].weight[1:], -1.0)
    >>> bright = torch.tensor([[0.0, 8.0], [0.0, 0.0]]).expand(2, 1, 2, 2)
    >>> gradcam(net, net[0], bright, classes=[0, 1])  # what is bright speaks for class 0 and against class 1
    array([[[0., 2.],
            [0., 0.]],
    <BLANKLINE>
           [[0., 0.],
            [0., 0.]]], dtype=float32)
    """
    model = differentiable(as_model(model))
    if not any(module is layer for module in model.modules()):
        raise InputError(f"layer must be a module of {type(model).__name__}, such as model.stages[-1], but it is not.")
    inputs, chunk = as_inputs(model, inputs), as_whole("chunk", chunk, least=1)
    classes = classes.cpu().numpy() if isinstance(classes, Tensor) else np.asarray(classes)
    if classes.ndim != 1:
        raise InputError(f"classes must be one class an item, (items,), but their shape is {classes.shape}.")
    same_length(inputs=inputs, classes=classes)
    device = device_of(model)
    maps = []
    with evaluating(model), torch.enable_grad():
        for first, x in zip(range(0, len(inputs), chunk), inputs.split(chunk), strict=True):
            channels, logits = _channels_and_logits(model, layer, x.to(device))
            wanted = as_labels("classes", classes, logits.shape[1])[first : first + chunk]
            chosen = logits.gather(1, torch.from_numpy(wanted)[:, None].to(device)).sum()  # items do not mix
            weights = _gradient(chosen, channels).mean((2, 3), keepdim=True)
            maps.append((weights * channels.detach()).sum(1).relu().float())
    return torch.cat(maps).cpu().numpy()


def _channels_and_logits(model: nn.Module, layer: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    seen: list[Tensor] = []

    def see(_module: nn.Module, _given: tuple, output: Tensor) -> Tensor:
        # A leaf: nothing before it needs a gradient. And the model goes on with a copy, for a ReLU that works in place.
        if not isinstance(output, Tensor):
            raise InputError(
                f"layer must put out a tensor, but {type(layer).__name__} puts out a {type(output).__name__}."
            )
        seen.append(output.detach().requires_grad_())
        return seen[-1].clone()

    hook = layer.register_forward_hook(see)
    try:
        logits = rows(model(x), len(x))
    finally:
        hook.remove()
    if len(seen) != 1 or seen[0].ndim != 4:
        told = (
            f"it was used {len(seen)} times" if len(seen) != 1 else f"its output has the shape {tuple(seen[0].shape)}"
        )
        raise InputError(f"layer must put out one map (items, channels, height, width) an input, but {told}.")
    return seen[0], logits


def _gradient(of: Tensor, at: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(of, at, allow_unused=True) if of.requires_grad else (None,)
    if gradient is None:
        raise InputError("the logits do not depend on what layer puts out; choose one on the way to them.")
    return gradient
