"""Worker processes of a sweep on CPUs: one thread each, which is faster than one process with many threads and gives
the same numbers. Each has a pipe of its own: a process that is killed cannot leave a shared queue locked.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from dissensus.base.errors import DissensusError, StoreError
from dissensus.experiment.events import ENDS, Event, Progress, event_of
from dissensus.experiment.making import Maker
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import How
from dissensus.experiment.source import Source
from dissensus.experiment.writer import NO_WORKER, spawned
from dissensus.records import RunStore

LAST_WORDS = 10.0  # seconds for processes to end, all of them together, when nobody waits for their epochs


class Worker:
    """A process that makes the runs it is given, and the pipe to it.

    It sends events, None when it is free for the next run, or the error that no run could survive.
    """

    def __init__(self, source: Source, store: RunStore, how: How) -> None:
        self.plan: Plan | None = None
        self.idle = self.begun = self.stopping = False
        self.until = 0.0  # when its last words must be said
        self.process, self.pipe = spawned(_serve, source, store, how)

    def give(self, plan: Plan) -> None:
        with suppress(OSError):  # it has died meanwhile: its pipe will say so
            self.pipe.send(plan)
            self.plan, self.idle = plan, False

    def stop(self) -> None:
        """Ask for a checkpoint at the end of the epoch. Any word does, while a run is under way."""
        if not self.stopping:
            self.stopping, self.until = True, time.monotonic() + LAST_WORDS
            with suppress(OSError):
                self.pipe.send(None)

    def hear(self, tell: Progress) -> bool:
        """Pass its next word on; False if it will never say another."""
        try:
            word = self.pipe.recv()
        except (EOFError, OSError):
            return False
        if isinstance(word, StoreError):
            raise word
        if word is None:
            self.plan, self.idle, self.begun = None, True, True
        else:
            tell(word)
            if word.kind in ENDS:
                self.plan = None
        return True

    def bury(self, tell: Progress) -> None:
        """Say which run died with the process."""
        self.process.join(LAST_WORDS)
        self.end()
        if self.stopping:
            return
        if not self.begun:
            raise DissensusError(NO_WORKER.format(self.process.exitcode))
        if self.plan is not None:
            code = self.process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            hint = " Memory may have run out; try fewer jobs." if code == -signal.SIGKILL else ""
            tell(event_of(self.plan, "failed", f"the process that made it {how}.{hint}"))

    def end(self) -> None:
        """Wait for its last words, if it is at work on a run: else it has none, and its start or end takes seconds."""
        self.process.join(max(0.0, self.until - time.monotonic()) if self.plan else 0.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, source: Source, store: RunStore, how: How) -> None:
    """The life of a worker; it ends when the sweep does, however that ends: a closed pipe is a word, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group; the sweep will say when to stop
    make = Maker(source, store, how)

    def tell(event: Event) -> None:
        with suppress(OSError):  # nobody listens any more: the run still writes its checkpoint
            pipe.send(event)

    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            plan: Any = pipe.recv()
            if plan is None:
                return
            try:
                make([plan], tell, pipe.poll)
            except StoreError as error:
                error.__cause__ = None
                pipe.send(error)
                return
            pipe.send(None)
