"""What the learner sees in an epoch, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from dissensus.base.streams import permutation
from dissensus.models.text.packing import pack
from dissensus.training.augment import Augment
from dissensus.training.inputs import cut, sent
from dissensus.training.labels import Labels
from dissensus.training.mixup import partners, shares
from dissensus.training.recipe import Recipe


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
    labels: Labels
    augment: Augment
    recipe: Recipe
    seed: int
    device: torch.device
    lengths: Tensor | None = None  # of texts: a batch is as long as its longest
    packed: bool = False  # texts end to end, for a model that takes them so

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-len(self.inputs) // self.recipe.batch_size)

    def __call__(self, epoch: int) -> Iterator[Batch]:
        n_items, size, device = len(self.inputs), self.recipe.batch_size, self.device
        order = torch.from_numpy(permutation(n_items, self.seed, "order", epoch))
        items = self.augment(epoch, sent(order, self.inputs.device)).split(size)
        x = (sent(batch, device) for batch in self._shortened(items, order))
        y = self.labels(epoch, order).split(size)
        if not self.recipe.mixup:
            return map(Batch, x, y)
        share = sent(torch.from_numpy(shares(self.recipe.mixup, len(y), self.seed, epoch)), device).unbind()
        partner = sent(torch.from_numpy(partners(n_items, size, self.seed, epoch)), device).split(size)
        return map(Batch, x, y, share, partner)

    def _shortened(self, items: Iterable[Tensor], order: Tensor) -> Iterable[Tensor]:
        """Of texts without most of the places that none of the batch reaches. One by one, as they are asked for: at
        once for an epoch, other runs would wait for it.
        """
        if self.lengths is None:
            return items
        lengths = self.lengths[order].split(self.recipe.batch_size)
        longest, total = ([int(number(batch)) for batch in lengths] for number in (torch.max, torch.sum))
        return map(pack, items, longest, total) if self.packed else map(cut, items, longest)
