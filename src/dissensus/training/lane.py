"""Where a run goes on: with a stream, random numbers and perhaps a learner that no other run uses meanwhile."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace

import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.evaluation.predict import device_of
from dissensus.training.choose import learner_for
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner
from dissensus.training.mixup import Loss
from dissensus.training.randomness import Reseed, private_randomness
from dissensus.training.recipe import Recipe


class Lane:
    """One of the places side by side on a device. A run takes its turns in it, and after it the next run.

    On CUDA a lane that ``keeps`` its learner hands it to the next run of the same kind, with its graphs and compiled
    code: to record them takes as long as many steps.
    """

    def __init__(self, keeps: bool = False) -> None:
        self.stream = torch.cuda.Stream() if torch.cuda.is_available() else None
        self.random_numbers = None if self.stream is None else torch.Generator(self.stream.device)
        self.keeps = keeps
        self.kept: tuple[Hashable, Learner] | None = None

    @contextmanager
    def turn(self) -> Iterator[Reseed]:
        """What is done inside is done on this lane, with its random numbers."""
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())  # for what the caller has made
        with torch.cuda.stream(self.stream), private_randomness(self.random_numbers) as reseed:
            yield reseed

    def check(self, device: torch.device) -> None:
        """A model must be where the lane's stream and random numbers are."""
        if device.type == "cuda" and self.stream is not None and device != self.stream.device:
            raise InputError(
                f"the model is on {device}, but the current device is {self.stream.device}. "
                f"Call torch.cuda.set_device({device.index}) first."
            )

    def learner(self, model: nn.Module, prepare: Normalise, loss_of: Loss, recipe: Recipe, engine: Engine) -> Learner:
        """A learner for this run: that of the run before, if it can be used again, or else a new one.

        A learner that is kept works on a model of its own, since it outlives the run.
        """
        if not self.keeps or device_of(model).type != "cuda":
            return learner_for(model, prepare, loss_of, recipe, engine)
        kind = kind_of(model, loss_of, recipe, engine), prepare.scale.shape
        if self.kept is not None and self.kept[0] == kind:
            self.kept[1].reset(model, prepare)
        else:
            self.kept = None  # its memory is free before the next one needs some
            own_model, own_prepare = deepcopy((model, prepare))
            self.kept = kind, learner_for(own_model, own_prepare, loss_of, recipe, engine)
        return self.kept[1]


def kind_of(model: nn.Module, loss_of: Loss, recipe: Recipe, engine: Engine) -> Hashable:
    """Equal for runs whose learner is the same but for weights, normalisation, rate and labels.

    A module with an attribute that cannot be compared, such as a function, is like no other; unless the model itself
    says by its ``kind`` which others are like it.
    """
    modules = getattr(model, "kind", None) or tuple(
        (name, type(module), _attributes(module)) for name, module in model.named_modules()
    )
    tensors = tuple((name, value.shape, value.dtype) for name, value in model.state_dict().items())
    rate = replace(recipe, epochs=1, lr=1.0, schedule="constant", warmup=0.0)
    same = replace(rate, crop=0, flip=False, mixup=0.0, mean=None, std=None)
    return modules, tensors, loss_of, same, engine


def _attributes(module: nn.Module) -> Hashable:
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return tuple((name, value if _is_plain(value) else object()) for name, value in public.items())


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))
