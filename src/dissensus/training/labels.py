"""What a delivery gives, as the loop wants it, and where it wants it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dissensus.base.errors import InputError
from dissensus.training.inputs import sent

MOST = 2**28  # bytes of labels that are kept on a GPU


class Deliver(Protocol):
    """A delivery, or any function of the epoch that gives what ``cross_entropy`` takes.

    Where it has ``multilabel = True``, the loss is binary cross-entropy.
    """

    def __call__(self, epoch: int, /) -> NDArray: ...


class Labels:
    """The labels of each epoch, on the device, in the order of the epoch.

    On a GPU the hard labels of a whole run lie there from the start, a byte a label: 1.6 MB for 200 epochs of 8,000
    items. They are the integers that ``deliver(epoch)`` gives on any machine. Rows are sent epoch by epoch.
    """

    def __init__(self, deliver: Deliver, n_items: int, n_classes: int, epochs: int, device: torch.device) -> None:
        self.deliver, self.n_items, self.n_classes, self.device = deliver, n_items, n_classes, device
        whole = of_run(deliver, n_items, n_classes, epochs) if device.type == "cuda" else None
        self.whole = None if whole is None else sent(whole, device)

    def __call__(self, epoch: int, order: Tensor) -> Tensor:
        if self.whole is not None:
            return self.whole[epoch].to(torch.int64)[sent(order, self.device)]
        return sent(targets_of(self.deliver, epoch, self.n_items, self.n_classes)[order], self.device)


def of_run(deliver: Deliver, n_items: int, n_classes: int, epochs: int) -> Tensor | None:
    """The hard labels of all epochs, (epochs, items), as small integers; None where there are rows, or too many.

    >>> of_run(lambda epoch: np.array([epoch, 2]), n_items=2, n_classes=3, epochs=3)
    tensor([[0, 2],
            [1, 2],
            [2, 2]], dtype=torch.uint8)
    """
    first = targets_of(deliver, 0, n_items, n_classes)
    if first.ndim != 1 or epochs * n_items * first.element_size() > MOST:
        return None
    others = (targets_of(deliver, epoch, n_items, n_classes) for epoch in range(1, epochs))
    return torch.stack([first, *others]).to(torch.uint8 if n_classes <= 256 else torch.int64)


def targets_of(deliver: Deliver, epoch: int, n_items: int, n_classes: int) -> Tensor:
    """What the learner is given in an epoch. It is looked at in each: torch ignores a label of -100 without a word, and
    on a GPU a class that the model does not have ends every run beside this one, too.
    """
    targets = as_targets(deliver(epoch), n_items, epoch)
    check_range(targets, n_classes, epoch)
    return targets


def check_range(targets: Tensor, n_classes: int, epoch: int) -> None:
    """Labels and rows must speak of the classes that the model has."""
    if targets.ndim == 2 and targets.shape[1] != n_classes:
        raise InputError(
            f"deliver({epoch}) gives rows of {targets.shape[1]} classes, but the model gives {n_classes} logits."
        )
    if targets.ndim == 1 and not 0 <= int(targets.min()) <= int(targets.max()) < n_classes:
        raise InputError(
            f"deliver({epoch}) gives labels from {int(targets.min())} to {int(targets.max())}, but the model gives "
            f"{n_classes} logits an item, so labels lie in 0 to {n_classes - 1}."
        )


def as_targets(delivered: NDArray, n_items: int, epoch: int) -> Tensor:
    """What a delivery gave, as one of the two kinds that ``cross_entropy`` takes: int64 classes or float32 rows.

    >>> as_targets(np.array([2, 0]), n_items=2, epoch=0)
    tensor([2, 0])
    """
    array = np.asarray(delivered)
    if array.ndim not in (1, 2) or len(array) != n_items:
        raise InputError(
            f"deliver({epoch}) must give one label or one row an item, {n_items} in all, "
            f"but gave an array of the shape {array.shape}."
        )
    if array.dtype.kind not in ("iu" if array.ndim == 1 else "f"):
        raise InputError(
            f"deliver({epoch}) must give (items,) whole numbers or (items, classes) real numbers, "
            f"but gave {array.dtype} of the shape {array.shape}."
        )
    return torch.as_tensor(array, dtype=torch.int64 if array.ndim == 1 else torch.float32)
