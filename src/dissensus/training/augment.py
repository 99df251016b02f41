"""Crop and flip of a whole epoch at once, on the bytes that are resident, by one gather."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from dissensus.base.errors import InputError
from dissensus.base.streams import uniform
from dissensus.training.inputs import sent


class Augment:
    r"""What the learner is shown in an epoch: every image, zero-padded, cropped at a random place, perhaps mirrored.

    Where item :math:`i` is cropped and whether it is mirrored depends on the seed, the epoch and :math:`i`; not on
    the batch it is in, and not on the method, so the methods of one seed see the same images.

    The images are kept padded, and padded and mirrored, side by side in memory. A row of a crop is then a run of
    neighbouring numbers, and an epoch is one gather of such runs: at 2,100 images of 24 pixels it took 2 ms against
    15 ms pixel by pixel. Padding comes before normalising, so the border is black.
    """

    def __init__(self, inputs: Tensor, crop: int, flip: bool, seed: int) -> None:
        if (crop or flip) and inputs.ndim != 4:
            raise InputError(
                f"crop and flip are for images, but one item has the shape {tuple(inputs.shape[1:])}. "
                "Use Recipe(crop=0, flip=False)."
            )
        self.inputs, self.crop, self.flip, self.seed = inputs, crop, flip, seed
        self.memory = _layout(inputs)  # comes out as it came in
        if crop or flip:
            padded = F.pad(inputs.permute(0, 2, 3, 1), (0, 0, crop, crop, crop, crop))
            self.pixels = torch.stack([padded, padded.flip(2)] if flip else [padded])

    def __call__(self, epoch: int, order: Tensor) -> Tensor:
        """The inputs of an epoch in this order."""
        if not (self.crop or self.flip):
            return _take(self.inputs, order)
        _, channels, height, width = self.inputs.shape
        _, n_items, padded_height, padded_width, _ = self.pixels.shape
        top, left, mirrored = (sent(torch.from_numpy(a), order.device)[order] for a in self.places(epoch, n_items))
        left = torch.where(mirrored == 1, 2 * self.crop - left, left)  # the same pixels, found in the mirror image
        first = ((mirrored * n_items + order) * padded_height + top) * padded_width + left
        starts = first[:, None] + torch.arange(height, device=order.device) * padded_width
        flat = self.pixels.view(-1)
        runs = flat.as_strided((len(flat) // channels - width + 1, width * channels), (channels, 1))
        rows = runs.index_select(0, starts.view(-1))
        images = rows.view(-1, height, width, channels).permute(0, 3, 1, 2)
        return images.contiguous(memory_format=self.memory)

    def places(self, epoch: int, n_items: int) -> tuple[NDArray[np.int64], ...]:
        """For every item: how far down and right in the padded image its crop begins, and 1 if it is then mirrored."""
        side = 2 * self.crop + 1
        place = np.zeros(n_items, np.int64)
        if self.crop:
            place = (uniform(self.seed, "crop", epoch, at=n_items) * side**2).astype(np.int64)
        mirrored = np.zeros(n_items, np.int64)
        if self.flip:
            mirrored = (uniform(self.seed, "flip", epoch, at=n_items) < 0.5).astype(np.int64)
        return place // side, place % side, mirrored


def _take(inputs: Tensor, order: Tensor) -> Tensor:
    if _layout(inputs) == torch.contiguous_format:
        return inputs.index_select(0, order)
    return inputs.permute(0, 2, 3, 1).index_select(0, order).permute(0, 3, 1, 2)


def _layout(inputs: Tensor) -> torch.memory_format:
    images = inputs.ndim == 4 and inputs.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if images else torch.contiguous_format
