"""A model and its optimizer, as the training loop sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dissensus.evaluation.predict import device_of, evaluating
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise
from dissensus.training.mixup import Loss, mixed_loss
from dissensus.training.precision import autocast
from dissensus.training.recipe import Recipe

State: TypeAlias = dict[str, Tensor]


class Learner(ABC):
    """What takes a step of training, and predicts.

    ``model`` holds fp32 parameters and buffers that are always current. ``momentum`` is what the optimizer keeps: for
    SGD the momentum buffers of ``model.parameters()``, in that order. Both are changed in place and never replaced, by
    training and by others: to write to them, and then call ``refresh``, is how a run goes on from a checkpoint.
    """

    model: nn.Module
    momentum: list[Tensor]

    @abstractmethod
    def step(
        self, x: Tensor, y: Tensor, rate: Tensor, share: Tensor | None = None, partner: Tensor | None = None
    ) -> Tensor:
        """One update on a batch; its mean loss, which the next step may overwrite.

        ``x`` is a batch of inputs as they are stored (uint8 or float32), ``y`` int64 classes or float32 rows. The rate
        is a tensor of one number on the device, and so is the share where ``partner`` says with whom items are mixed.
        """

    @abstractmethod
    def logits(self, x: Tensor) -> Tensor:
        """float32 logits of a batch of inputs as they are stored, in evaluation mode."""

    @abstractmethod
    def reset(self, model: nn.Module, prepare: Normalise) -> None:
        """Become the learner of another model of the same kind: its weights and normalisation, and no momentum.

        Everything is copied in place, so graphs and compiled code that know our tensors stay valid.
        """

    def refresh(self) -> None:  # noqa: B027 (most learners keep nothing)
        """Told after others wrote to the model or the momentum, for learners that keep something derived from them."""

    def tensors(self) -> list[Tensor]:
        """All that a step changes; a learner that keeps more than weights and momentum adds it here."""
        return [*weights_of(self.model), *self.momentum]


@final
class PlainLearner(Learner):
    """Autograd and an optimizer of torch; the forward and backward pass compiled where the engine says so."""

    def __init__(self, model: nn.Module, prepare: Normalise, loss_of: Loss, recipe: Recipe, engine: Engine) -> None:
        self.model, self.prepare, self.loss_of, self.precision = model, prepare, loss_of, recipe.precision
        self.device = device_of(model)
        if engine.channels_last:  # a step takes 0.75 of the time it takes in the plain layout, on a core
            lay_out(model, torch.channels_last)
        self.optimizer, self.momentum = OPTIMIZERS[recipe.optimizer](model, recipe)
        self.loss: Callable[..., Tensor] = _loss
        self.forward: Callable[..., Tensor] = _forward
        if engine.compile and self.device.type == "cuda":
            self.loss, self.forward = compiled(_loss), compiled(_forward)
        model.train()

    def step(
        self, x: Tensor, y: Tensor, rate: Tensor, share: Tensor | None = None, partner: Tensor | None = None
    ) -> Tensor:
        loss = self.loss(self, x, y, share, partner)
        loss.backward()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()  # to none, and so within a graph: to zero them in place costs 62 additions a step
        return loss.detach()

    def logits(self, x: Tensor) -> Tensor:
        with evaluating(self.model), torch.no_grad():
            return self.forward(self, x)

    def reset(self, model: nn.Module, prepare: Normalise) -> None:
        with torch.no_grad():
            for ours, theirs in zip(weights_of(self.model), weights_of(model), strict=True):
                ours.copy_(theirs)
            for buffer in self.momentum:
                buffer.zero_()
            self.prepare.scale.copy_(prepare.scale)
            self.prepare.shift.copy_(prepare.shift)


def sgd(model: nn.Module, recipe: Recipe) -> tuple[Optimizer, list[Tensor]]:
    """The optimizer, and what it keeps: a buffer a parameter.

    Zeros give the same first step as none, and are there before a graph or a checkpoint asks for them.
    """
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        nesterov=recipe.nesterov,
        fused=True,  # one call for all parameters saves 0.5 ms of a step of 11 ms
    )
    momentum = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for parameter, buffer in zip(model.parameters(), momentum, strict=True):
        optimizer.state[parameter]["momentum_buffer"] = buffer
    return optimizer, momentum


def adamw(model: nn.Module, recipe: Recipe) -> tuple[Optimizer, list[Tensor]]:
    """The optimizer, and what it keeps: first and second moments of every parameter, and the number of steps.

    Weights decay, biases and norms do not, as is the custom in fine-tuning.
    """
    matrices = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=torch.tensor(recipe.lr),  # a tensor from the start: its value comes with every step
        betas=(recipe.momentum, 0.999),
        fused=True,
        capturable=device_of(model).type == "cuda",
    )
    kept: list[Tensor] = []
    for parameter in model.parameters():
        steps = torch.zeros((), dtype=torch.float32, device=parameter.device)
        state = {"step": steps, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}
        optimizer.state[parameter] = state
        kept += state.values()
    return optimizer, kept


OPTIMIZERS: dict[str, Callable[[nn.Module, Recipe], tuple[Optimizer, list[Tensor]]]] = {"sgd": sgd, "adamw": adamw}


def _loss(learner: PlainLearner, x: Tensor, y: Tensor, share: Tensor | None, partner: Tensor | None) -> Tensor:
    with autocast(learner.precision, learner.device):
        if share is None or partner is None:
            return learner.loss_of(learner.model(learner.prepare(x)).float(), y)
        return mixed_loss(learner.model, learner.loss_of, learner.prepare(x), y, share, partner)


def _forward(learner: PlainLearner, x: Tensor) -> Tensor:
    with evaluation_precision(learner.precision, learner.device):
        return learner.model(learner.prepare(x)).float()


def weights_of(model: nn.Module) -> list[Tensor]:
    """Parameters and buffers, those too that a state dict leaves out."""
    return [tensor.detach() for tensor in (*model.parameters(), *model.buffers())]


def evaluation_precision(precision: str, device: torch.device) -> torch.autocast:
    """The context of a forward pass in evaluation: that of training on a GPU; fp32 on a CPU."""
    return autocast(precision if device.type == "cuda" else "fp32", device)


def lay_out(model: nn.Module, memory_format: torch.memory_format) -> None:
    """Put the filters of convolutions into this memory layout; their values stay."""
    model.to(memory_format=memory_format)  # type: ignore[call-overload]


def compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``torch.compile`` without graphs of its own, and for each size of batch by itself."""
    fast = torch.compile(function, dynamic=False)

    def call(*arguments: Any) -> Tensor:
        # The learners of all runs side by side share the compiled code of one function: 8 versions of it are too few.
        with torch._dynamo.config.patch(recompile_limit=64):
            return fast(*arguments)

    return call
