"""Which learner a model gets."""

from __future__ import annotations

from importlib.util import find_spec

import torch.nn.functional as F
from torch import nn

from dissensus.evaluation.predict import device_of
from dissensus.models.resnet18 import ResNet18
from dissensus.training.engine import Engine
from dissensus.training.graphs import Graphed
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner, PlainLearner
from dissensus.training.mixup import Loss
from dissensus.training.recipe import Recipe


def learner_for(model: nn.Module, prepare: Normalise, loss_of: Loss, recipe: Recipe, engine: Engine) -> Learner:
    """The fastest learner that the engine allows, for a model that is where it will train."""
    device = device_of(model)
    if device.type != "cuda":
        return PlainLearner(model, prepare, loss_of, recipe, engine)
    learner: Learner
    if engine.kernels and engine.channels_last and has_kernels(model, loss_of, recipe):
        from dissensus.training.fused.hopper import usable
        from dissensus.training.fused.resnet import FusedResNet

        assert isinstance(model, ResNet18)
        learner = FusedResNet(model, prepare, recipe, hopper=recipe.precision == "bf16" and usable(device))
    else:
        learner = PlainLearner(model, prepare, loss_of, recipe, engine)
    graphable = getattr(model, "graphable", True)  # some nets of transformers read from the device on their way
    return Graphed(learner) if engine.graph and graphable else learner


def has_kernels(model: nn.Module, loss_of: Loss, recipe: Recipe) -> bool:
    """Whether the kernels of :mod:`~dissensus.training.fused` fit: the papers' network, with single labels.

    They round products, so they are not for fp32.
    """
    return (
        isinstance(model, ResNet18)
        and model.shape == (3, 32, 32)
        and model.stem.out_channels == 64
        and model.head.out_features <= 32
        and loss_of is F.cross_entropy
        and recipe.optimizer == "sgd"
        and recipe.precision in ("bf16", "tf32")
        and find_spec("triton") is not None
    )
