"""Stochastic label sampling."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dissensus.base.streams import uniform
from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source


class StochasticLabelSampling(Delivery):
    r"""Every epoch, one of the item's own votes drawn at random: :math:`y_i \sim p_i`, afresh.

    The mean over epochs of its one-hot labels goes to :math:`p_i`.

    >>> from dissensus.votes import Votes
    >>> deliver = StochasticLabelSampling(Votes.from_counts([[3, 1]] * 8), seed=0)
    >>> deliver(epoch=0), deliver(epoch=1)
    (array([0, 0, 0, 0, 1, 0, 0, 0]), array([0, 1, 0, 0, 0, 0, 0, 1]))
    """

    name, hard, changes = "sls", True, True

    def prepare(self, source: Source) -> None:
        self._draw = source.drawing()

    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        at = self.positions(index)
        return self._draw(at, uniform(self.seed, self.name, self.turn(epoch), at=at))
