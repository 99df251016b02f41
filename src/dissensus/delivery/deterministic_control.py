"""A control: multipass in another order."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source

SEED_MOVED_BY = 1000


class DeterministicControl(Delivery):
    r"""Multipass with the seed of its one shuffle moved by 1000.

    Whatever differs between the two differs by the order of the votes alone.

    >>> from dissensus.delivery import Multipass
    >>> from dissensus.votes import Votes
    >>> votes = Votes.from_counts([[3, 1]] * 4)
    >>> bool((DeterministicControl(votes, seed=7)(5) == Multipass(votes, seed=1007)(5)).all())
    True
    """

    name, hard, changes = "deterministic-control", True, True

    def prepare(self, source: Source) -> None:
        self._turns = source.turns(self.seed + SEED_MOVED_BY, self.name)

    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        return self._turns(self.positions(index), self.turn(epoch))
