"""Numbers of an epoch on their way from the device, which nobody waits for until they are read."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import torch
from torch import Tensor


class Moment:
    """A point in the work of a device: on CUDA an event in the current stream, on a CPU the time."""

    def __init__(self, device: torch.device) -> None:
        if device.type == "cuda":
            self.event = torch.cuda.Event(enable_timing=True)
            self.event.record()
        else:
            self.time = perf_counter()
        self.on_cuda = device.type == "cuda"

    def wait(self) -> None:
        if self.on_cuda:
            self.event.synchronize()

    def since(self, earlier: Moment) -> float:
        """Seconds; both moments must be over."""
        if self.on_cuda:
            return earlier.event.elapsed_time(self.event) / 1000
        return self.time - earlier.time


class Reading:
    """Named numbers (tensors of one float64 each) that were under way when ``started`` had been."""

    def __init__(self, numbers: Mapping[str, Tensor], started: Moment) -> None:
        self.names, self.started = list(numbers), started
        values = torch.stack(list(numbers.values()))
        if values.device.type == "cuda":
            values = torch.empty_like(values, device="cpu", pin_memory=True).copy_(values, non_blocking=True)
        self.values, self.ended = values, Moment(numbers[self.names[0]].device)

    def read(self) -> dict[str, float]:
        """The numbers, and the ``seconds`` that it took to make them."""
        self.ended.wait()
        found = dict(zip(self.names, self.values.tolist(), strict=True))
        return found | {"seconds": self.ended.since(self.started)}
