"""A control: labels as random as in stochastic label sampling, but another item's."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dissensus.base.streams import permutation, uniform
from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source


class ShuffledSLS(Delivery):
    r"""The distributions are permuted over the items once, then sampled: :math:`y_i \sim p_{\sigma(i)}`.

    The classes stay as frequent and the labels as random as before, and say nothing of the item. Build it from the
    training items alone, so that no other item's votes come in.

    >>> from dissensus.votes import Votes
    >>> ShuffledSLS(Votes.from_counts([[5, 0, 0], [0, 5, 0], [0, 0, 5]]), seed=1)(epoch=0)
    array([2, 0, 1])
    """

    name, hard, changes = "shuffled-sls", True, True

    def prepare(self, source: Source) -> None:
        self._draw = source.drawing()
        self._other = permutation(self.n_items, self.seed, self.name, "items")

    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        at = self.positions(index)
        others = self._other if isinstance(at, int) else self._other[at]
        return self._draw(others, uniform(self.seed, self.name, self.turn(epoch), at=at))
