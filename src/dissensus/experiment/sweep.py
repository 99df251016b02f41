"""Many plans, one store: done ones are skipped, killed ones are made again, and several commands share the work.

A run is claimed in the store before it is made, so two sweeps over one store make each run once. ``jobs`` processes
work side by side, one thread each, which is faster on CPUs than one process with many threads and gives the same
numbers. Each has a pipe of its own: a process that is killed cannot leave a shared queue locked.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from dissensus.base.errors import DissensusError, InputError, StoreError
from dissensus.datasets import Dataset
from dissensus.experiment.plan import Plan
from dissensus.experiment.source import Source
from dissensus.records import RunStore

LOOK_AGAIN = 0.5  # seconds between looks at runs that another command is making
LAST_WORDS = 5.0  # seconds for a stopped process to discard what it was writing


Kind = Literal["skipped", "started", "epoch", "done", "failed"]
ENDS = ("skipped", "done", "failed")


@dataclass(frozen=True)
class Event:
    """What has just happened to a run, for whoever shows progress."""

    kind: Kind
    run: str
    method: str
    seed: int
    votes: Literal["all"] | int
    of: int  # epochs of the plan
    epoch: int = 0  # epochs done
    soft_nll: float | None = None
    seconds: float = 0.0
    message: str = ""  # why it failed


@dataclass(frozen=True)
class Outcome:
    """What a sweep did: names of runs, in the order in which they ended."""

    done: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[Event, ...]


Progress = Callable[[Event], None]


def compare(
    plans: Iterable[Plan], source: Source, store: RunStore, jobs: int = 2, progress: Progress | None = None
) -> Outcome:
    """Carry out the plans that are not done yet.

    It can be killed at any time and called again. On Ctrl-C or SIGTERM nothing half-written stays, and
    KeyboardInterrupt is raised. A run that fails is reported, with the reason, and the others go on; where the store
    itself cannot be written, the sweep ends with that error.
    """
    if jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, but is {jobs}.")
    waiting = {plan.name: plan for plan in plans}
    ended: list[Event] = []

    def tell(event: Event) -> None:
        if event.kind in ENDS:
            ended.append(event)
            del waiting[event.run]
        if progress is not None:
            progress(event)

    for name in [name for name in waiting if name in store]:
        tell(_event(waiting[name], "skipped"))
    with _terminable():
        if jobs == 1 or len(waiting) <= 1:
            _in_this_process(waiting, source, store, tell)
        else:
            _in_processes(waiting, source, store, tell, min(jobs, len(waiting)))
    names = {kind: tuple(event.run for event in ended if event.kind == kind) for kind in ("done", "skipped")}
    return Outcome(names["done"], names["skipped"], tuple(event for event in ended if event.kind == "failed"))


def _in_this_process(waiting: dict[str, Plan], source: Source, store: RunStore, tell: Progress) -> None:
    make = _Maker(source, store)
    while waiting:
        if plan := _free(waiting.values(), store):
            make(plan, tell)
        else:
            time.sleep(LOOK_AGAIN)


def _in_processes(waiting: dict[str, Plan], source: Source, store: RunStore, tell: Progress, jobs: int) -> None:
    workers: dict[Any, _Worker] = {}
    try:
        while waiting:
            while len(workers) < min(jobs, len(waiting)):
                worker = _Worker(source, store)
                workers[worker.pipe] = worker
            for worker in workers.values():
                given = {other.plan.name for other in workers.values() if other.plan}
                rest = [plan for name, plan in waiting.items() if name not in given]
                if worker.idle and (plan := _free(rest, store)):
                    worker.give(plan)
            for pipe in wait(list(workers), timeout=LOOK_AGAIN):
                if not workers[pipe].hear(tell):
                    workers.pop(pipe).bury(tell)
    finally:
        for worker in workers.values():
            worker.process.terminate()
        for worker in workers.values():
            worker.end()


def _free(plans: Iterable[Plan], store: RunStore) -> Plan | None:
    """The first plan that no process is making."""
    return next((plan for plan in plans if not store.busy(plan.name)), None)


class _Maker:
    """Makes runs one after the other, with the data loaded once."""

    def __init__(self, source: Source, store: RunStore) -> None:
        self.source, self.store = source, store
        self.data: Dataset | None = None

    def __call__(self, plan: Plan, tell: Progress) -> None:
        """Tell of the start, of each epoch and of the end; of nothing if another process has the run."""
        from dissensus.experiment.run import carry_out

        started = time.monotonic()

        def say(kind: Kind, **more: Any) -> None:
            tell(replace(_event(plan, kind), seconds=time.monotonic() - started, **more))

        if plan.name in self.store:
            say("skipped")
            return
        say("started")
        try:
            if self.data is None:
                self.data = self.source.load()
            carry_out(
                plan,
                self.data,
                self.store,
                lambda row: say("epoch", epoch=int(row["epoch"]) + 1, soft_nll=float(row["soft_nll"])),
                source=self.source.model_dump(exclude_defaults=True),
            )
        except StoreError:
            raise  # a full or read-only disk fails every run alike: the sweep ends here
        except DissensusError as error:
            say("failed", message=str(error))
        except Exception:  # whatever it was, the other runs go on; the traceback is told, not lost
            say("failed", message=traceback.format_exc())
        else:
            if plan.name in self.store:
                say("done")


class _Worker:
    """A process that makes the runs it is given, and the pipe to it.

    It sends events, None when it is free for the next run, or the error that no run could survive.
    """

    def __init__(self, source: Source, store: RunStore) -> None:
        context = multiprocessing.get_context("spawn")
        self.plan: Plan | None = None
        self.idle = self.begun = False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, source, store), daemon=True)
        resource_tracker.ensure_running()  # its start would lift the mask below
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is the sweep's to handle
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, plan: Plan) -> None:
        with suppress(OSError):  # it has died meanwhile: its pipe will say so
            self.pipe.send(plan)
            self.plan, self.idle = plan, False

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
        self.end()
        if not self.begun:
            raise DissensusError(
                f"a worker process could not start (exit code {self.process.exitcode}); its message is above. "
                'In a script, call compare() under `if __name__ == "__main__":`, or with jobs=1.'
            )
        if self.plan is not None:
            code = self.process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            hint = " Memory may have run out; try fewer jobs." if code == -signal.SIGKILL else ""
            tell(replace(_event(self.plan, "failed"), message=f"the process that made it {how}.{hint}"))

    def end(self) -> None:
        self.process.join(LAST_WORDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, source: Source, store: RunStore) -> None:
    """The life of a worker process; it ends when the sweep does, however that ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds, so that staging is discarded
    make = _Maker(source, store)
    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            try:
                make(pipe.recv(), pipe.send)
            except StoreError as error:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the sweep will send it to a process that is ending
                error.__cause__ = None
                pipe.send(error)
                return
            pipe.send(None)


def _event(plan: Plan, kind: Kind) -> Event:
    return Event(kind, plan.name, plan.method, plan.seeds.split, plan.votes, plan.recipe.epochs)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM counts as Ctrl-C: stop, clean up, raise KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
