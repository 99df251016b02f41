"""The best epoch so far, kept on the device: to ask in Python whether an epoch is better would wait for it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dissensus.evaluation.predict import device_of
from dissensus.training.held_out import Logits, Watch
from dissensus.training.learner import State


class Best:
    """Weights, predictions and number of the epoch with the lowest soft NLL; of equal ones, the first."""

    def __init__(self, model: nn.Module, watch: Watch, n_classes: int) -> None:
        device = device_of(model)
        self.state: State = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.logits = {
            name: torch.zeros(len(items.human), n_classes, device=device) for name, items in watch.sets.items()
        }
        self.nll = torch.full((), torch.inf, dtype=torch.float64, device=device)
        self.epoch = torch.zeros((), dtype=torch.int64, device=device)

    def consider(self, epoch: int, nll: Tensor, model: nn.Module, logits: Logits) -> None:
        """Keep this epoch if its soft NLL is lower than that of the best one."""
        better = nll < self.nll
        now = {"nll": nll, "epoch": torch.full_like(self.epoch, epoch), **_named(model.state_dict(), logits)}
        for name, kept in self.tensors().items():
            torch.where(better, now[name], kept, out=kept)

    def tensors(self) -> State:
        """All of it, by name: what a checkpoint holds."""
        return {"nll": self.nll, "epoch": self.epoch, **_named(self.state, self.logits)}


def _named(state: State, logits: Logits) -> State:
    weights = {f"state.{name}": value for name, value in state.items()}
    return weights | {f"logits.{name}": value for name, value in logits.items()}
