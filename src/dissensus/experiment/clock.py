"""A clock for training, which shares its process with those who look inside models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds from some moment on; it stands still while somebody looks inside a model.

    Runs side by side all wait for that, so the pace of their training is read from here.

    >>> clock = Clock()
    >>> before = clock()
    >>> with clock.standing() as seconds:
    ...     time.sleep(0.02)
    >>> seconds() >= 0.02, clock() - before < 0.02
    (True, True)
    """

    def __init__(self) -> None:
        self.stood = 0.0

    def __call__(self) -> float:
        return time.perf_counter() - self.stood

    @contextmanager
    def standing(self) -> Iterator[Callable[[], float]]:
        """Stand still, and say for how long by now."""
        began = time.perf_counter()
        try:
            yield lambda: time.perf_counter() - began
        finally:
            self.stood += time.perf_counter() - began
