"""What every delivery promises."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import as_array
from dissensus.base.errors import InputError
from dissensus.delivery.source import At, Source, as_source
from dissensus.votes import Votes


class Delivery(ABC):
    """What the learner sees, epoch by epoch: a pure function ``deliver(epoch, index=None)``.

    A hard delivery gives int64 classes, a soft one float32 rows of probabilities: the two targets that
    ``torch.nn.functional.cross_entropy`` takes. Where a vote may name several classes both give float32 rows, of 0 and
    1 or of shares, for binary cross-entropy. Arrays are new and writable.

    ``deliver(e, i)`` equals ``deliver(e)[i]`` at a cost of ``len(i)``, so -1 is the last item, as with NumPy. Draws
    depend on the seed, the delivery's name, the epoch and the position of the item, and on nothing else: asking twice,
    in any order, in any process, gives the same.

    ``source`` is votes, or an (items, classes) array of probabilities. With ``hold`` a label stays for so many epochs
    before the next one takes its place; a schedule of epochs is asked for the first of these, ``turn(epoch) * hold``.
    """

    name: ClassVar[str]
    hard: ClassVar[bool]
    changes: ClassVar[bool]  # from epoch to epoch
    version: ClassVar[int] = 1  # raised when the same seed comes to mean other labels

    n_items: int
    n_classes: int
    multilabel: bool

    def __init__(self, source: Votes | ArrayLike, seed: int = 0, hold: int = 1) -> None:
        self.seed = _whole("seed", seed)
        self.hold = _whole("hold", hold)
        if self.hold < 1:
            raise InputError(f"hold must be 1 or more epochs, but it is {hold!r}.")
        if self.hold > 1 and not self.changes:
            raise InputError(f"{self.name} delivers the same in every epoch: nothing can be held, leave hold at 1.")
        checked = as_source(source)
        self.n_items, self.n_classes, self.multilabel = checked.n_items, checked.n_classes, checked.multilabel
        self.prepare(checked)

    @abstractmethod
    def prepare(self, source: Source) -> None:
        """Keep what this delivery needs of the source, and nothing more."""

    @abstractmethod
    def __call__(self, epoch: int, index: Any = None) -> NDArray[Any]:
        """What the items at the positions ``index`` (all, if None) are given in this epoch."""

    def __repr__(self) -> str:
        held = f", hold={self.hold}" if self.hold > 1 else ""
        return f"{type(self).__name__}({self.n_items} items, {self.n_classes} classes, seed={self.seed}{held})"

    def turn(self, epoch: int) -> int:
        """How many labels came before the one of this epoch: the epoch itself, unless labels are held."""
        turn = _whole("epoch", epoch)
        if turn < 0:
            raise InputError(f"epoch must be 0 or more, but it is {epoch}.")
        return turn // self.hold

    def positions(self, index: Any) -> At:
        """``index`` (whole numbers, a slice or a boolean mask, with NumPy's meaning) as positions of items."""
        if index is None:
            return self.n_items
        if isinstance(index, slice):
            return np.arange(*index.indices(self.n_items))
        at = as_array("index", index)
        if at.ndim != 1:
            raise InputError(f"index must be one-dimensional, but its shape is {at.shape}. For one item pass [i].")
        if at.size == 0:
            return np.empty(0, np.int64)
        if at.dtype == bool:
            if len(at) != self.n_items:
                raise InputError(f"a mask needs one entry for each of {self.n_items} items, but it has {len(at)}.")
            return np.flatnonzero(at)
        if at.dtype.kind not in "iu":
            raise InputError(f"index must be positions of items (whole numbers), but its dtype is {at.dtype}.")
        low, high = int(at.min()), int(at.max())
        if low < -self.n_items or high >= self.n_items:
            wrong = high if high >= self.n_items else low
            raise InputError(f"index names position {wrong}, but there are {self.n_items} items.")
        at = at.astype(np.int64)
        return at if low >= 0 else np.where(at < 0, at + self.n_items, at)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, but it is {value!r}.") from None
