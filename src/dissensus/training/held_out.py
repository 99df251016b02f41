"""Items that do not train: where the model is judged after every epoch, and the best epoch is picked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.arrays import as_matrix, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.evaluation.predict import Prepare, predict
from dissensus.metrics import entropy, soft_cross_entropy
from dissensus.training.inputs import must_match, resident

Logits: TypeAlias = dict[str, NDArray[np.float32]]  # by the name of the set


@dataclass(frozen=True)
class HeldOut:
    """Inputs on the device, and what people said of them."""

    inputs: Tensor
    human: NDArray[np.float64]  # rows of a simplex; for multi-label votes the share of each class

    @classmethod
    def check(cls, name: str, given: tuple[Tensor | NDArray, ArrayLike], training: Tensor, multilabel: bool) -> HeldOut:
        """``given`` must be ``(inputs, human)`` that belong together and to the training inputs."""
        try:
            inputs, human = given
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a pair (inputs, human), but is of type {type(given).__name__}.") from None
        x = resident(f"the inputs of {name}", inputs, training.device)
        must_match(name, x, training)
        p = (_as_shares if multilabel else as_simplex)(f"the human of {name}", human)
        same_length(**{f"inputs of {name}": x, f"human of {name}": p})
        return cls(x, p)


@dataclass(frozen=True)
class Closeness:
    """How close predictions are to people, on average over a set."""

    soft_nll: float
    kl: float
    accuracy: float


@dataclass(frozen=True)
class Watch:
    """The sets that are predicted after every epoch: "held_out", "select_on", both or none."""

    sets: dict[str, HeldOut]
    closeness: Callable[[NDArray, NDArray], Closeness]

    def logits(self, model: nn.Module, prepare: Prepare) -> Logits:
        return {name: predict(model, items.inputs, prepare) for name, items in self.sets.items()}

    def scores(self, logits: Logits) -> dict[str, float]:
        """The columns of the history that the sets give."""
        found = {name: self.closeness(logits[name], items.human) for name, items in self.sets.items()}
        columns = vars(found["held_out"]).copy() if "held_out" in found else {}
        return columns | ({"select_nll": found["select_on"].soft_nll} if "select_on" in found else {})


def closeness(logits: NDArray, human: NDArray[np.float64]) -> Closeness:
    r"""Soft NLL :math:`-\sum_k p_k \log q_k`, KL :math:`\sum_k p_k \log (p_k / q_k)`, and the share of items whose
    most likely class is that of the people (the first one, where people are tied).

    >>> closeness(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]]))
    Closeness(soft_nll=0.69..., kl=0.69..., accuracy=1.0)
    """
    nll = soft_cross_entropy(logits, human)
    same = logits.argmax(1) == human.argmax(1)
    return Closeness(float(nll.mean()), float((nll - entropy(human)).mean()), float(same.mean()))


def multilabel_closeness(logits: NDArray, human: NDArray[np.float64]) -> Closeness:
    """The same for classes that are chosen independently: binary terms, averaged over classes as well as items.

    Accuracy is the share of (item, class) cells on whose majority model and people agree.

    >>> multilabel_closeness(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]]))
    Closeness(soft_nll=0.41..., kl=0.41..., accuracy=1.0)
    """
    from scipy.special import entr

    z = logits.astype(np.float64)
    nll = human * np.logaddexp(0, -z) + (1 - human) * np.logaddexp(0, z)
    same = (z > 0) == (human > 0.5)
    return Closeness(float(nll.mean()), float((nll - entr(human) - entr(1 - human)).mean()), float(same.mean()))


def _as_shares(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = as_matrix(name, value).astype(np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"{name} must lie in 0 to 1, but row {row}, column {column} holds {array[row, column]:.6g}.")
    return array
