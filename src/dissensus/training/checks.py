"""What must be so before training, and what must stay so."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dissensus.base.errors import DissensusError, InputError
from dissensus.evaluation.predict import evaluating
from dissensus.training.held_out import Logits, Watch
from dissensus.training.labels import Deliver, check_range
from dissensus.training.recipe import Recipe


class Diverged(DissensusError, ArithmeticError):
    """The loss stopped being a number: in which epoch, and the history up to and with it."""

    epoch: int = 0
    history: list[dict[str, float]] = []  # noqa: RUF012 (replaced, never changed)


def check_classes(model: nn.Module, x: Tensor, y: Tensor, deliver: Deliver, watch: Watch) -> int:
    """The number of classes, of which the model's logits, the delivery and the held-out items must all speak."""
    with evaluating(model), torch.no_grad():
        shape = tuple(model(x).shape)
    if len(shape) != 2:
        raise InputError(f"the model must give logits (items, classes), but for one item it gives the shape {shape}.")
    classes = {f"the human of {name}": items.human.shape[1] for name, items in watch.sets.items()}
    classes["the delivery"] = getattr(deliver, "n_classes", shape[1] if y.ndim == 1 else y.shape[1])
    for name, number in classes.items():
        if number != shape[1]:
            raise InputError(f"the model gives {shape[1]} logits an item, but {name} has {number} classes.")
    check_range(y, shape[1], epoch=0)
    return shape[1]


def finite(loss: Tensor, logits: Logits) -> Tensor:
    """1.0 where the loss and every prediction are finite numbers, else 0.0, on the device."""
    return torch.stack([torch.isfinite(values).all() for values in (loss, *logits.values())]).all().double()


def check_finite(row: dict[str, float], recipe: Recipe, before: list[dict[str, float]]) -> None:
    """A loss that is no number never becomes one again, so training ends here, with advice."""
    if not row.pop("finite"):
        error = Diverged(
            f"training diverged in epoch {row['epoch']}: the loss or the predictions are no longer finite "
            f"(train_loss is {row['train_loss']:g}). Try a lower lr (it was {recipe.lr:g}), or look for inputs of a "
            "wild scale."
        )
        error.epoch, error.history = int(row["epoch"]), [*before, row]
        raise error
