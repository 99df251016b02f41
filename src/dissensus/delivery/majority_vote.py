"""What most pipelines do: one label an item, once and for all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source


class MajorityVote(Delivery):
    """The class with most votes, ties broken once by a seeded draw; of probabilities, the largest.

    Where a vote may name several classes, those that more than half of the votes name.

    >>> from dissensus.votes import Votes
    >>> MajorityVote(Votes.from_counts([[2, 3], [4, 0]]))(epoch=0)
    array([1, 0])
    """

    name, hard, changes = "majority", True, False

    def prepare(self, source: Source) -> None:
        labels = source.majority(self.seed)
        self._labels = labels.astype(np.float32) if source.multilabel else labels

    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        self.turn(epoch)
        at = self.positions(index)
        return self._labels.copy() if isinstance(at, int) else self._labels[at]
