"""The whole distribution, every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source


class Soft(Delivery):
    r"""The vote shares :math:`p_i` themselves; cross-entropy against them is KL(human ‖ model) up to a constant.

    >>> from dissensus.votes import Votes
    >>> Soft(Votes.from_counts([[3, 1]]))(epoch=0)
    array([[0.75, 0.25]], dtype=float32)
    """

    name, hard, changes = "soft", False, False

    def prepare(self, source: Source) -> None:
        self._shares = source.shares()

    def __call__(self, epoch: int, index: Any = None) -> NDArray[np.float32]:
        self.turn(epoch)
        return self._shares(self.positions(index))
