from __future__ import annotations

import numpy as np
import torch
from torch import nn

from dissensus.training.best import Best
from dissensus.training.engine import Engine
from dissensus.training.held_out import Watch


def test_the_first_of_the_lowest_is_kept_whole() -> None:
    model = nn.BatchNorm1d(3)
    x = torch.zeros(2, 3)
    watch = Watch.check((x, np.eye(3)[:2]), None, x, False, torch.device("cpu"), Engine())
    best = Best(model, watch, 3)
    for epoch, nll in enumerate([3.0, 1.0, float("nan"), 1.0, 2.0]):
        with torch.no_grad():
            model.weight.fill_(epoch)
            model.num_batches_tracked.fill_(epoch)
        logits = {"held_out": torch.full((2, 3), float(epoch))}
        best.consider(epoch, torch.tensor(nll, dtype=torch.float64), model, logits)
    assert int(best.epoch) == 1
    assert float(best.nll) == 1.0
    assert best.state["weight"].tolist() == [1, 1, 1]
    assert int(best.state["num_batches_tracked"]) == 1
    assert best.logits["held_out"].unique().tolist() == [1]
    assert set(best.tensors()) == {"nll", "epoch", "logits.held_out"} | {f"state.{name}" for name in model.state_dict()}
