"""torch's own random numbers, for initial weights and dropout, without touching the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import torch

from dissensus.base.streams import key

Reseed: TypeAlias = Callable[..., None]


@contextmanager
def private_randomness(cuda: torch.Generator | None = None) -> Iterator[Reseed]:
    """Inside, torch draws from states of our own, set by ``reseed(seed, *names)``; outside nothing has happened.

    ``cuda`` is a generator whose state stands in for that of its device. Runs side by side need one each: a replayed
    CUDA graph reads seed and offset from the state that it was captured with, on its own stream, at its own time.

    >>> before = torch.get_rng_state()
    >>> with private_randomness() as reseed:
    ...     reseed(0, "init")
    ...     a = torch.rand(1)
    ...     reseed(0, "init")
    ...     assert a == torch.rand(1)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """

    def reseed(seed: int, *names: str | int) -> None:
        number = key(seed, *names)
        torch.default_generator.manual_seed(number)  # torch.manual_seed would also seed GPUs that we do not give back
        if cuda is not None:
            cuda.manual_seed(number)

    with torch.random.fork_rng(devices=[]):
        if cuda is None:
            yield reseed
            return
        device = torch.cuda.default_generators[cuda.device.index]
        before = device.graphsafe_get_state()
        device.graphsafe_set_state(cuda)
        try:
            yield reseed
        finally:
            device.graphsafe_set_state(before)
