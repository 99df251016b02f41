"""From the votes of an item to one distribution: what training aims at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dissensus.targets.dawid_skene import dawid_skene
from dissensus.targets.majority import majority
from dissensus.targets.shares import shares
from dissensus.targets.smoothed import smoothed
from dissensus.votes import Votes

TARGETS: dict[str, Callable[[Votes], NDArray[np.float64]]] = {
    "shares": shares,
    "smoothed": smoothed,
    "dawid-skene": dawid_skene,
}
"""Name -> function from votes to (items, classes) probabilities."""

__all__ = ["TARGETS", "dawid_skene", "majority", "shares", "smoothed"]
