"""Ctrl-C and SIGTERM: the first asks a sweep to stop when it can, the second stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM came, and not Ctrl-C: who tells them apart may, and for all others it is the same."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends what goes on inside at once, as Ctrl-C does, with :class:`Terminated`."""

    def heard(number: int, frame: Any) -> None:
        raise Terminated

    ignored = signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Signalled:
    """Whether a signal to stop has come. The first is remembered and told, the second stops at once."""

    def __init__(self, say: Callable[[str], object] | None = None) -> None:
        self.number: int | None = None
        self.say = say
        self.saying: threading.Thread | None = None

    def __call__(self) -> bool:
        return self.number is not None

    def heard(self, number: int, *_: Any) -> None:
        if self.number is not None:
            raise self.error()
        self.number = number
        if self.say is not None:  # from a thread of its own: the signal may have come in the midst of a line
            told = "stopping at the end of the epoch, so that it is kept; Ctrl-C now stops at once"
            self.saying = threading.Thread(target=self.say, args=(told,), daemon=True)
            self.saying.start()

    def error(self) -> KeyboardInterrupt:
        return Terminated() if self.number == signal.SIGTERM else KeyboardInterrupt()


@contextmanager
def until_signal(say: Callable[[str], object] | None = None) -> Iterator[Signalled]:
    """Whether Ctrl-C or SIGTERM has come; ``say`` is given a line when the first does."""
    came = Signalled(say)
    if threading.current_thread() is not threading.main_thread():
        yield came  # only the main thread may handle signals
        return
    heeded = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, came.heard) for number in heeded}  # Ctrl-C is not for a job in background
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came.saying is not None:
            came.saying.join()
