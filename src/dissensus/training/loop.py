"""The training loop, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.errors import DissensusError, InputError
from dissensus.evaluation.predict import Prepare, device_of, evaluating
from dissensus.evaluation.predictions import Predictions
from dissensus.training.augment import Augment
from dissensus.training.batches import Batches, Deliver, as_targets
from dissensus.training.held_out import HeldOut, Logits, Watch, closeness, multilabel_closeness
from dissensus.training.inputs import Normalise, resident
from dissensus.training.mixup import mixed_loss
from dissensus.training.precision import arithmetic, autocast
from dissensus.training.randomness import private_randomness
from dissensus.training.recipe import Recipe, Seeds

Inputs: TypeAlias = Tensor | NDArray
Row: TypeAlias = dict[str, float]
State: TypeAlias = dict[str, Tensor]


class Diverged(DissensusError, ArithmeticError):
    """The loss stopped being a number."""


@dataclass(frozen=True)
class Fitted:
    """What training gives.

    ``best`` is the epoch with the lowest soft NLL on the items that select (the first one, if several are equal),
    ``last`` the last epoch: predictions on the held-out items. ``select_best`` and ``select_last`` are those on the
    ``select_on`` items. What was not asked for is None.
    """

    model: nn.Module  # with its last weights
    prepare: Prepare  # normalises inputs for the model: predict(fitted.model, inputs, fitted.prepare)
    history: list[Row]
    best: Predictions | None
    last: Predictions | None
    select_best: Predictions | None
    select_last: Predictions | None
    best_state: State | None  # the weights of the best epoch: model.load_state_dict(best_state)


def fit(
    make_model: Callable[[], nn.Module],
    inputs: Inputs,
    deliver: Deliver,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    *,
    seed: int | Seeds = 0,
    held_out: tuple[Inputs, ArrayLike] | None = None,
    select_on: tuple[Inputs, ArrayLike] | None = None,
    progress: Callable[[Row], Any] | None = None,
) -> Fitted:
    """Train a fresh model on what ``deliver(epoch)`` gives, epoch by epoch.

    ``inputs`` are uint8 or float images (items, channels, height, width), or features (items, features). ``held_out``
    is ``(inputs, human)``: items that are predicted after every epoch. ``select_on`` is another such pair, whose soft
    NLL picks the best epoch; without it the held-out items do. ``progress`` is called with every row of the history.

    The model trains on the device that ``make_model`` puts it on, with the number of threads that torch is set to.

    A run is a function of its arguments. Initial weights, batch order, augmentation, mixup and dropout come from the
    seed and know nothing of the delivery, so two deliveries with one seed are paired. The caller's random state is
    neither used nor changed. On one type of CPU, build of torch and number of threads the weights are the same
    bit for bit.

    >>> from dissensus.models import make
    >>> x = np.eye(3, dtype=np.float32)
    >>> p = np.array([[0.7, 0.3], [0.5, 0.5], [0.1, 0.9]], np.float32)
    >>> fitted = fit(make("mlp", (3,), 2), x, lambda epoch: p, Recipe(epochs=60, lr=0.3), held_out=(x, p))
    >>> fitted.last.probs.round(1)
    array([[0.7, 0.3],
           [0.5, 0.5],
           [0.1, 0.9]])
    """
    seeds = Seeds.of(seed)
    with private_randomness() as reseed:
        reseed(seeds.init, "init")
        model = make_model()
        device = device_of(model)
        data = resident("inputs", inputs, device)
        prepare = Normalise.by(recipe, data)
        multilabel = bool(getattr(deliver, "multilabel", False))
        loss_of = F.binary_cross_entropy_with_logits if multilabel else F.cross_entropy
        watch = Watch(
            {
                name: HeldOut.check(name, given, data, multilabel)
                for name, given in (("held_out", held_out), ("select_on", select_on))
                if given is not None
            },
            multilabel_closeness if multilabel else closeness,
        )
        check_classes(model, prepare(data[:1]), as_targets(deliver(0), len(data), 0), deliver, watch)
        batches = Batches(data, deliver, Augment(data, recipe.crop, recipe.flip, seeds.order), recipe, seeds.order)
        if data.ndim == 4:
            lay_out(model, torch.channels_last)  # a step takes 0.75 of the time it takes in the plain layout, on a core
        optimizer = torch.optim.SGD(
            model.parameters(),
            lr=recipe.lr,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=recipe.nesterov,
            fused=True,  # one call for all parameters saves 0.5 ms of a step of 11 ms
        )

        history: list[Row] = []
        best_nll, best_epoch, best_state, best_logits = math.inf, 0, None, Logits()
        model.train()
        with arithmetic(recipe.precision, device):
            for epoch in range(recipe.epochs):
                started = perf_counter()
                reseed(seeds.order, "layers", epoch)  # dropout, and whatever else a model draws
                for group in optimizer.param_groups:
                    group["lr"] = recipe.rate(epoch)
                total = torch.zeros((), device=device)  # to read the loss in every step would wait for the device
                for x, y, share, partner in batches(epoch):
                    with autocast(recipe.precision, device):
                        if partner is None:
                            loss = loss_of(model(prepare(x)).float(), y)
                        else:
                            loss = mixed_loss(model, loss_of, prepare(x), y, share, partner)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    total += loss.detach() * len(y)

                logits = watch.logits(model, prepare)
                row = {"epoch": epoch, "lr": recipe.rate(epoch), "train_loss": float(total) / len(data)}
                check_finite(row, logits, recipe)
                row |= watch.scores(logits)
                row["seconds"] = perf_counter() - started
                history.append(row)
                nll = row.get("select_nll", row.get("soft_nll", math.inf))
                if nll < best_nll:
                    best_nll, best_epoch, best_state, best_logits = nll, epoch, copy_of(model), logits
                if progress is not None:
                    progress(dict(row))

    lay_out(model, torch.contiguous_format)
    return Fitted(
        model=model,
        prepare=prepare,
        history=history,
        best=_predictions(best_logits, "held_out", best_epoch),
        last=_predictions(logits, "held_out", epoch),
        select_best=_predictions(best_logits, "select_on", best_epoch),
        select_last=_predictions(logits, "select_on", epoch),
        best_state=best_state,
    )


def check_classes(model: nn.Module, x: Tensor, y: Tensor, deliver: Deliver, watch: Watch) -> None:
    """The model's logits, the delivery and the held-out items must speak of the same number of classes."""
    with evaluating(model), torch.no_grad():
        shape = tuple(model(x).shape)
    if len(shape) != 2:
        raise InputError(f"the model must give logits (items, classes), but for one item it gives the shape {shape}.")
    classes = {f"the human of {name}": items.human.shape[1] for name, items in watch.sets.items()}
    classes["the delivery"] = getattr(deliver, "n_classes", shape[1] if y.ndim == 1 else y.shape[1])
    for name, number in classes.items():
        if number != shape[1]:
            raise InputError(f"the model gives {shape[1]} logits an item, but {name} has {number} classes.")
    if y.ndim == 1 and not 0 <= int(y.min()) <= int(y.max()) < shape[1]:
        raise InputError(
            f"deliver(0) gives labels from {int(y.min())} to {int(y.max())}, but the model gives {shape[1]} logits an "
            f"item, so labels lie in 0 to {shape[1] - 1}."
        )


def check_finite(row: Row, logits: Logits, recipe: Recipe) -> None:
    """A loss that is no number never becomes one again, so training ends here, with advice."""
    if not math.isfinite(row["train_loss"]) or not all(np.isfinite(values).all() for values in logits.values()):
        raise Diverged(
            f"training diverged in epoch {row['epoch']}: the loss or the predictions are no longer finite "
            f"(train_loss is {row['train_loss']:g}). Try a lower lr (it was {recipe.lr:g}), or look for inputs of a "
            "wild scale."
        )


def copy_of(model: nn.Module) -> State:
    """The weights as they are now, in the plain memory layout that files want."""
    return {
        name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in model.state_dict().items()
    }


def lay_out(model: nn.Module, memory_format: torch.memory_format) -> None:
    """Put the filters of convolutions into this memory layout; their values stay."""
    model.to(memory_format=memory_format)  # type: ignore[call-overload]


def _predictions(logits: Logits, name: str, epoch: int) -> Predictions | None:
    return Predictions(logits[name], epoch) if name in logits else None
