"""What the learner sees in an epoch, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dissensus.base.errors import InputError
from dissensus.base.streams import permutation
from dissensus.training.augment import Augment
from dissensus.training.inputs import sent
from dissensus.training.mixup import partners, shares
from dissensus.training.recipe import Recipe


class Deliver(Protocol):
    """A delivery, or any function of the epoch that gives what ``cross_entropy`` takes.

    Where it has ``multilabel = True``, the loss is binary cross-entropy.
    """

    def __call__(self, epoch: int, /) -> NDArray: ...


class Batch(NamedTuple):
    """Some items of an epoch; with mixup, the share they keep and the places in the batch of their partners."""

    x: Tensor
    y: Tensor
    share: Tensor | None = None
    partner: Tensor | None = None


@dataclass(frozen=True)
class Batches:
    """Inputs and labels of an epoch in its own random order, cut into batches. The smaller last batch is kept.

    The epoch is put in order once, inputs and labels, so a batch is a view: no copy, no index, no conversion a step.
    Inputs that lie in host memory are copied to the device batch by batch. Nothing waits for the device.
    """

    inputs: Tensor
    deliver: Deliver
    augment: Augment
    recipe: Recipe
    seed: int
    device: torch.device

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-len(self.inputs) // self.recipe.batch_size)

    def __call__(self, epoch: int) -> Iterator[Batch]:
        n_items, size, device = len(self.inputs), self.recipe.batch_size, self.device
        order = torch.from_numpy(permutation(n_items, self.seed, "order", epoch))
        images = self.augment(epoch, sent(order, self.inputs.device)).split(size)
        x = (sent(batch, device) for batch in images)
        y = sent(as_targets(self.deliver(epoch), n_items, epoch)[order], device).split(size)
        if not self.recipe.mixup:
            return map(Batch, x, y)
        share = sent(torch.from_numpy(shares(self.recipe.mixup, len(y), self.seed, epoch)), device).unbind()
        partner = sent(torch.from_numpy(partners(n_items, size, self.seed, epoch)), device).split(size)
        return map(Batch, x, y, share, partner)


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
