from __future__ import annotations

import torch

from dissensus.training.readings import Moment, Reading


def test_numbers_come_back_by_name_and_with_their_seconds() -> None:
    started = Moment(torch.device("cpu"))
    numbers = {"loss": torch.tensor(0.1, dtype=torch.float64), "kl": torch.tensor(3.0, dtype=torch.float64)}
    reading = Reading(numbers, started)
    numbers["loss"].zero_()  # the device goes on
    found = reading.read()
    assert list(found) == ["loss", "kl", "seconds"]
    assert (found["loss"], found["kl"]) == (0.1, 3.0)
    assert found["seconds"] >= 0
