"""Numbers of an epoch on their way from the device, which nobody waits for until they are read."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import torch
from torch import Tensor


class Moment:
    """A point in the work of a device: on CUDA an event in the current stream, on a CPU the time."""

    def __init__(self, device: torch.device) -> None:
        self.time = perf_counter()
        self.event = torch.cuda.Event(enable_timing=True) if device.type == "cuda" else None
        if self.event is not None:
            self.event.record()

    def wait(self) -> None:
        if self.event is not None:
            self.event.synchronize()

    def since(self, earlier: Moment) -> float:
        """Seconds; both moments must be over."""
        if self.event is not None and earlier.event is not None:
            return earlier.event.elapsed_time(self.event) / 1000
        return self.time - earlier.time


class Reading:
    """Named numbers, tensors of one float64 each, that the device has been at work on since ``started``."""

    def __init__(self, numbers: Mapping[str, Tensor], started: Moment) -> None:
        self.names, self.values = list(numbers), torch.stack(list(numbers.values()))
        device = self.values.device
        if device.type == "cuda":
            pinned = torch.empty_like(self.values, device="cpu", pin_memory=True)
            self.values = pinned.copy_(self.values, non_blocking=True)
        self.started, self.ended = started, Moment(device)

    def read(self) -> dict[str, float]:
        """The numbers, and the ``seconds`` that it took to make them."""
        self.ended.wait()
        found = dict(zip(self.names, self.values.tolist(), strict=True))
        return found | {"seconds": self.ended.since(self.started)}
