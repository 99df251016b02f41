"""torch's own random numbers, for initial weights and dropout, without touching the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from dissensus.base.streams import key


@contextmanager
def private_randomness() -> Iterator[Callable[..., None]]:
    """Inside, torch draws from states of our own, set by ``reseed(seed, *names)``; outside nothing has happened.

    >>> before = torch.get_rng_state()
    >>> with private_randomness() as reseed:
    ...     reseed(0, "init")
    ...     a = torch.rand(1)
    ...     reseed(0, "init")
    ...     assert a == torch.rand(1)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    cuda = [torch.cuda.current_device()] if torch.cuda.is_available() else []

    def reseed(seed: int, *names: str | int) -> None:
        number = key(seed, *names)
        torch.default_generator.manual_seed(number)  # torch.manual_seed would also seed GPUs that we do not give back
        if cuda:
            torch.cuda.manual_seed(number)

    with torch.random.fork_rng(devices=cuda):
        yield reseed
