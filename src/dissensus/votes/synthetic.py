r"""Synthetic annotators: votes whose true distribution is known.

An annotator looks at item :math:`i`, sees class :math:`t` with probability :math:`p_{it}` (people see an ambiguous item
differently) and then says class :math:`s` with probability :math:`M_{ts}`, a row of the annotator's confusion matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import as_simplex
from dissensus.base.errors import InputError
from dissensus.base.streams import bits, uniform
from dissensus.votes.ids import as_ids, refuse_duplicates
from dissensus.votes.table import Class, Votes, check_classes, code_dtype, offsets_of


@dataclass(frozen=True, eq=False)
class Annotator:
    """Who says class ``s`` with probability ``confusion[t, s]`` having seen class ``t``."""

    name: str
    confusion: NDArray[np.float64]  # (classes, classes), rows sum to 1

    def __post_init__(self) -> None:
        confusion = as_simplex(f"the confusion matrix of {self.name!r}", self.confusion)
        if confusion.shape[0] != confusion.shape[1]:
            raise InputError(f"the confusion matrix of {self.name!r} must be square, but it is {confusion.shape}.")
        object.__setattr__(self, "confusion", confusion)


def reliable(name: str, n_classes: int, accuracy: float = 0.95) -> Annotator:
    """Says what they see with probability ``accuracy``, and errs evenly.

    >>> reliable("ann", 3, accuracy=0.8).confusion[0].round(2)
    array([0.8, 0.1, 0.1])
    """
    if not 0 <= accuracy <= 1:
        raise InputError(f"accuracy must lie between 0 and 1, but it is {accuracy!r}.")
    same = np.eye(n_classes)
    return Annotator(name, accuracy * same + (1 - accuracy) * (1 - same) / (n_classes - 1))


def noisy(name: str, n_classes: int) -> Annotator:
    """Says any class, whatever they see."""
    return Annotator(name, np.full((n_classes, n_classes), 1 / n_classes))


def adversarial(name: str, n_classes: int, accuracy: float = 0.95) -> Annotator:
    """Like :func:`reliable`, but says the next class instead of the one they see.

    >>> adversarial("eve", 3, accuracy=1.0).confusion[2]
    array([1., 0., 0.])
    """
    return Annotator(name, np.roll(reliable(name, n_classes, accuracy).confusion, 1, axis=1))


def annotate(
    truth: ArrayLike,
    annotators: Sequence[Annotator],
    votes_per_item: int | ArrayLike,
    seed: int = 0,
    *,
    classes: Sequence[Class] | None = None,
    items: Any = None,
    ordered: bool = False,
) -> Votes:
    """Votes on items that are seen as class ``t`` with probability ``truth[i, t]``.

    Each item goes to ``votes_per_item`` different annotators (one number, or one an item), any group of them being
    equally likely. The same on every machine.

    >>> votes = annotate([[1, 0], [0.5, 0.5]], [reliable(name, 2) for name in "abcde"], votes_per_item=4)
    >>> votes
    Votes(2 items, 2 classes, 8 votes, 4 an item, 5 annotators)
    """
    truth = as_simplex("truth", truth)
    confusion = _confusions(annotators, truth.shape[1])
    n_items, n_classes = truth.shape
    per_item = _votes_per_item(votes_per_item, n_items, len(annotators))
    ids = np.arange(n_items) if items is None else as_ids("items", items)
    if len(ids) != n_items:
        raise InputError(f"truth has {n_items} rows, but {len(ids)} items were named.")
    refuse_duplicates("items", ids)
    names = as_ids("the names of annotators", [annotator.name for annotator in annotators])
    refuse_duplicates("the names of annotators", names)

    # the annotators of an item in a random order, of which the first so many vote
    order = bits(seed, "annotators", at=n_items * len(names)).reshape(n_items, len(names)).argsort(1, kind="stable")
    who = order[np.arange(len(names)) < per_item[:, None]]
    item = np.repeat(np.arange(n_items), per_item)
    seen = draw(truth[item], uniform(seed, "seen", at=len(who)))
    said = draw(confusion[who, seen], uniform(seed, "said", at=len(who)))
    return Votes(
        codes=said.astype(code_dtype(n_classes)),
        offsets=offsets_of(per_item),
        items=ids,
        classes=check_classes(range(n_classes) if classes is None else classes),
        ordered=ordered,
        annotators=who.astype(np.int32),
        annotator_names=names,
    )


def expected(truth: ArrayLike, annotators: Sequence[Annotator]) -> NDArray[np.float64]:
    r"""(items, classes): the distribution that the votes of :func:`annotate` are drawn from, :math:`p \bar M`.

    >>> expected([[1, 0]], [reliable("a", 2, accuracy=0.9), noisy("b", 2)])
    array([[0.7, 0.3]])
    """
    truth = as_simplex("truth", truth)
    return truth @ _confusions(annotators, truth.shape[1]).mean(0)


def draw(probs: NDArray[np.float64], chance: NDArray[np.float64]) -> NDArray[np.int64]:
    """For every row of probabilities the class in which ``chance`` in [0, 1) falls; never one of probability 0.

    >>> draw(np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]), np.array([0.0, 0.7]))
    array([1, 2])
    """
    reached = np.cumsum(probs, axis=1)
    # scaled by the row's own sum, which rounding may leave a little off 1
    return (reached <= (chance * reached[:, -1])[:, None]).sum(1)


def _confusions(annotators: Sequence[Annotator], n_classes: int) -> NDArray[np.float64]:
    if not annotators:
        raise InputError("at least one annotator is needed.")
    for annotator in annotators:
        if len(annotator.confusion) != n_classes:
            raise InputError(
                f"annotator {annotator.name!r} knows {len(annotator.confusion)} classes, but truth has {n_classes}."
            )
    return np.stack([annotator.confusion for annotator in annotators])


def _votes_per_item(value: int | ArrayLike, n_items: int, n_annotators: int) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.shape not in ((), (n_items,)):
        raise InputError(f"votes_per_item must be a whole number, or one for each of {n_items} items.")
    if array.size and (array.min() < 0 or array.max() > n_annotators):
        raise InputError(
            f"votes_per_item must lie between 0 and the number of annotators, {n_annotators}, but it reaches "
            f"{array.min() if array.min() < 0 else array.max()}; an annotator votes once on an item."
        )
    return np.broadcast_to(array, n_items).astype(np.int64)
