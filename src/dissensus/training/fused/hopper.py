"""Whether the convolutions of our own can be used on a GPU."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F


@cache
def usable(device: torch.device) -> bool:
    """A Hopper GPU, and a triton with which they compile and give what torch gives: their language is still young."""
    if torch.cuda.get_device_capability(device)[0] != 9:
        return False
    try:
        from dissensus.training.fused.conv import convolution

        random = torch.Generator(device).manual_seed(0)
        x, w = (torch.randn(shape, generator=random, device=device) for shape in ((8, 4, 4, 128), (128, 3, 3, 128)))
        x, w = x.bfloat16(), w.bfloat16() / 32
        ours = convolution(x.view(-1, 128), w.view(128, -1), 4, None).view(8, 4, 4, 128).float()
        theirs = F.conv2d(x.float().permute(0, 3, 1, 2), w.float().permute(0, 3, 1, 2), padding=1).permute(0, 2, 3, 1)
        return bool((ours - theirs).norm() < 0.01 * theirs.norm())
    except Exception:  # whatever another release of triton does: the library's convolutions are always there
        return False
