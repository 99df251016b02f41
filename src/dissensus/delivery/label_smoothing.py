"""Majority labels, a little less sure of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError
from dissensus.delivery.delivery import Delivery
from dissensus.delivery.source import Source
from dissensus.votes import Votes


class LabelSmoothing(Delivery):
    r"""The majority label, mixed with the uniform distribution: :math:`(1 - \varepsilon)\,e_y + \varepsilon / C`.

    Where a vote may name several classes, every class is a question of its own with the answers 0 and 1, and goes
    towards one half: :math:`(1 - \varepsilon)\,y_k + \varepsilon / 2`. Majority labels are those of MajorityVote with
    the same seed.

    >>> from dissensus.votes import Votes
    >>> LabelSmoothing(Votes.from_counts([[2, 3]]))(epoch=0)
    array([[0.05, 0.95]], dtype=float32)
    """

    name, hard, changes = "label-smoothing", False, False

    def __init__(self, source: Votes | ArrayLike, seed: int = 0, hold: int = 1, epsilon: float = 0.1) -> None:
        if not 0 <= epsilon <= 1:
            raise InputError(f"epsilon must lie between 0 and 1, but it is {epsilon!r}.")
        self.epsilon = float(epsilon)
        super().__init__(source, seed, hold)

    def prepare(self, source: Source) -> None:
        self._labels = source.majority(self.seed)

    def __call__(self, epoch: int, index: Any = None) -> NDArray[np.float32]:
        self.turn(epoch)
        at = self.positions(index)
        labels = self._labels if isinstance(at, int) else self._labels[at]
        if self.multilabel:
            return ((1 - self.epsilon) * labels + self.epsilon / 2).astype(np.float32)
        rows = np.full((len(labels), self.n_classes), self.epsilon / self.n_classes, np.float32)
        rows[np.arange(len(labels)), labels] = 1 - self.epsilon + self.epsilon / self.n_classes
        return rows
