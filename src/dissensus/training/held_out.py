"""Items that do not train: where the model is judged after every epoch, and the best epoch is picked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.special import entr

from dissensus.base.arrays import as_matrix, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.inputs import checked, cut, is_tokens, lengths_of, must_match, placed, sent

Logits: TypeAlias = dict[str, Tensor]  # by the name of the set
Predict: TypeAlias = Callable[[Tensor], Tensor]
Pair: TypeAlias = tuple[Tensor | NDArray, ArrayLike]  # inputs, and what people said of them

SMALL = 512  # items


@dataclass(frozen=True)
class HeldOut:
    """Inputs, and what people said of them, where the model is."""

    inputs: Tensor
    human: Tensor  # float64 rows of a simplex; for multi-label votes the share of each class
    lengths: Tensor | None = None  # of texts

    @classmethod
    def check(
        cls, name: str, given: Pair, training: Tensor, multilabel: bool, device: torch.device, engine: Engine
    ) -> HeldOut:
        """``given`` must be ``(inputs, human)`` that belong together and to the training inputs."""
        try:
            inputs, human = given
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a pair (inputs, human), but is of type {type(given).__name__}.") from None
        x = checked(f"the inputs of {name}", inputs)
        must_match(name, x, training)
        lengths = lengths_of(x) if is_tokens(x) else None
        p = (_as_shares if multilabel else as_simplex)(f"the human of {name}", human)
        same_length(**{f"inputs of {name}": x, f"human of {name}": p})
        return cls(placed(x, device, engine), torch.from_numpy(p).to(device), lengths)

    def logits(self, predict: Predict) -> Tensor:
        """(items, classes), in as few parts as memory allows: on a CPU such as stay in its cache."""
        device = self.human.device
        if self.lengths is not None:
            parts, places = self.by_length
            return torch.cat([predict(sent(x, device)) for x in parts])[places]
        size = 2000 if device.type == "cuda" else SMALL
        return torch.cat([predict(sent(x, device)) for x in self.inputs.split(size)])

    @cached_property
    def by_length(self) -> tuple[list[Tensor], Tensor]:
        """Texts of like length together, as long as they need be, and where among them each is: all as long as the
        longest, those of MD-Agreement would take twice the time.
        """
        assert self.lengths is not None
        order = torch.argsort(self.lengths, stable=True)
        parts = [
            cut(self.inputs[part.to(self.inputs.device)], int(self.lengths[part].max())) for part in order.split(SMALL)
        ]
        return parts, torch.argsort(order).to(self.human.device)


class Closeness(NamedTuple):
    """How close predictions are to people, on average over a set: float64 numbers, on the device."""

    soft_nll: Tensor
    kl: Tensor
    accuracy: Tensor


@dataclass(frozen=True)
class Watch:
    """The sets that are predicted after every epoch: "held_out", "select_on", both or none."""

    sets: dict[str, HeldOut]
    closeness: Callable[[Tensor, Tensor], Closeness]

    @classmethod
    def check(
        cls,
        held_out: Pair | None,
        select_on: Pair | None,
        training: Tensor,
        multilabel: bool,
        device: torch.device,
        engine: Engine,
    ) -> Watch:
        sets = {
            name: HeldOut.check(name, given, training, multilabel, device, engine)
            for name, given in (("held_out", held_out), ("select_on", select_on))
            if given is not None
        }
        return cls(sets, multilabel_closeness if multilabel else closeness)

    def logits(self, predict: Predict) -> Logits:
        return {name: items.logits(predict) for name, items in self.sets.items()}

    def scores(self, logits: Logits) -> dict[str, Tensor]:
        """The columns of the history that the sets give."""
        found = {name: self.closeness(logits[name], items.human) for name, items in self.sets.items()}
        columns = found["held_out"]._asdict() if "held_out" in found else {}
        return columns | ({"select_nll": found["select_on"].soft_nll} if "select_on" in found else {})


def closeness(logits: Tensor, human: Tensor) -> Closeness:
    r"""Soft NLL :math:`-\sum_k p_k \log q_k`, KL :math:`\sum_k p_k \log (p_k / q_k)`, and the share of items whose
    most likely class is that of the people (the first one, where people are tied).

    >>> nll, kl, accuracy = closeness(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    >>> round(float(nll), 3), round(float(kl), 3), float(accuracy)
    (0.693, 0.693, 1.0)
    """
    nll = -(human * F.log_softmax(logits.double(), 1)).sum(1)
    same = logits.argmax(1) == human.argmax(1)
    return Closeness(nll.mean(), (nll - entr(human).sum(1)).mean(), same.double().mean())


def multilabel_closeness(logits: Tensor, human: Tensor) -> Closeness:
    """The same for classes that are chosen independently: binary terms, averaged over classes as well as items.

    Accuracy is the share of (item, class) cells on whose majority model and people agree.

    >>> nll, kl, accuracy = multilabel_closeness(torch.tensor([[0.0, 2.0]]), torch.tensor([[0.0, 1.0]]))
    >>> round(float(nll), 3), round(float(kl), 3), float(accuracy)
    (0.41, 0.41, 1.0)
    """
    nll = F.binary_cross_entropy_with_logits(logits.double(), human.double(), reduction="none")
    same = (logits > 0) == (human > 0.5)
    return Closeness(nll.mean(), (nll - entr(human) - entr(1 - human)).mean(), same.double().mean())


def _as_shares(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = as_matrix(name, value).astype(np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"{name} must lie in 0 to 1, but row {row}, column {column} holds {array[row, column]:.6g}.")
    return array
