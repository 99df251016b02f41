"""Every vote in its turn."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source


class Multipass(Delivery):
    r"""The item's votes, shuffled once, one an epoch: :math:`y_i = v_i[t \bmod n_i]`.

    In :math:`n_i` epochs every vote is shown exactly once, so one cycle's one-hot labels have the mean :math:`p_i`
    exactly. It needs votes; probabilities have none to show.

    >>> from dissensus.votes import Votes
    >>> deliver = Multipass(Votes.from_counts([[3, 1]]), seed=0)
    >>> [int(deliver(epoch)[0]) for epoch in range(8)]
    [1, 0, 0, 0, 1, 0, 0, 0]
    """

    name, hard, changes = "multipass", True, True

    def prepare(self, source: Source) -> None:
        self._turns = source.turns(self.seed, self.name)

    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        return self._turns(self.positions(index), self.turn(epoch))
