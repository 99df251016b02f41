"""Which learner a model gets."""

from __future__ import annotations

from torch import nn

from dissensus.evaluation.predict import device_of
from dissensus.training.engine import Engine
from dissensus.training.graphs import Graphed
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner, PlainLearner
from dissensus.training.mixup import Loss
from dissensus.training.recipe import Recipe


def learner_for(model: nn.Module, prepare: Normalise, loss_of: Loss, recipe: Recipe, engine: Engine) -> Learner:
    """The fastest learner that the engine allows, for a model that is where it will train."""
    learner = PlainLearner(model, prepare, loss_of, recipe, engine)
    return Graphed(learner) if engine.graph and device_of(model).type == "cuda" else learner
