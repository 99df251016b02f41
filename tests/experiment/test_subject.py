"""Inputs lie where the model is, unless they are too many."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.experiment import subject as home
from dissensus.experiment.subject import Subject

IMAGES = np.random.default_rng(0).integers(0, 256, (30, 3, 4, 4), np.uint8)


def of(model: nn.Module) -> Subject:
    labels = np.zeros(30, np.int64)
    return Subject(model, lambda x: x / 255, IMAGES, np.eye(2)[labels], IMAGES, labels)


@pytest.mark.parametrize("resident", [home.RESIDENT, 0])
def test_prepared_inputs_are_the_same_wherever_they_lie(resident: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "RESIDENT", resident)
    np.testing.assert_array_equal(of(nn.Linear(1, 2)).prepared(IMAGES), torch.from_numpy(IMAGES) / 255)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_inputs_stay_on_a_gpu_unless_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = of(nn.Linear(1, 2).cuda())
    assert subject.prepared(IMAGES).is_cuda
    monkeypatch.setattr(home, "RESIDENT", IMAGES.size - 1)
    assert not subject.prepared(IMAGES).is_cuda
