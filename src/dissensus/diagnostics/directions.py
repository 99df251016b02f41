"""Random directions among the weights: the same for a seed on every device, and drawn once for all models of a size.

To draw the 11 million numbers of a ResNet-18 takes 0.13 s of one core, and curvature asks for three times as many and
for 50 rows of signs (0.06 s): half a second in which a GPU waits, for every model and slice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from dissensus.base.streams import bits, stream

KEPT = 1 << 24  # numbers a direction; larger ones are drawn each time, so that at most 0.3 GB are kept


def normals(size: int, seed: int, *names: str | int) -> Tensor:
    """Standard normal numbers, (size,), in float32 and in host memory. They are shared: copy before you change them.

    >>> bool((normals(3, 0, "lanczos") == torch.from_numpy(stream(0, "lanczos").standard_normal(3, np.float32))).all())
    True
    """
    return (_kept_normals if size <= KEPT else _normals)(size, seed, *names)


def packed_signs(size: int, seed: int, probe: int) -> Tensor:
    """A random bit for every one of ``size`` places, eight a byte, in whole words of 64. Shared, as normals are.

    >>> packed_signs(65, 0, probe=0).shape
    torch.Size([16])
    """
    return (_kept_signs if size <= KEPT else _signs)(size, seed, probe)


def _normals(size: int, seed: int, *names: str | int) -> Tensor:
    return torch.from_numpy(stream(seed, *names).standard_normal(size, np.float32))


def _signs(size: int, seed: int, probe: int) -> Tensor:
    words = bits(seed, "hutchinson", probe, at=-(-size // 64))
    return torch.from_numpy(words.astype("<u8").view(np.uint8))


_kept_normals = lru_cache(3)(_normals)
_kept_signs = lru_cache(50)(_signs)
