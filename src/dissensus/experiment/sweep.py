"""Many plans, one store: done ones are skipped, killed ones go on, and several commands share the work.

A run is claimed in the store before it is made, so two sweeps over one store make each run once. On a GPU one process
trains ``width`` runs side by side; on CPUs ``jobs`` processes train one each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from dissensus.base.errors import InputError, StoreError
from dissensus.base.words import many
from dissensus.experiment.about import own_method
from dissensus.experiment.budget import Budget, Paces, epochs_saved, kind_of, pace_saved
from dissensus.experiment.events import ENDS, Event, Progress, event_of
from dissensus.experiment.machine import device, device_name, refuse_other_machine
from dissensus.experiment.making import Maker
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import CHECKPOINT, How
from dissensus.experiment.signals import Signalled, until_signal
from dissensus.experiment.source import Source
from dissensus.experiment.subject import Diagnose
from dissensus.experiment.workers import Worker
from dissensus.experiment.writer import WriterProcess
from dissensus.records import RunStore
from dissensus.training import Engine

LOOK_AGAIN = 0.5  # seconds between looks at runs that another command is making
NEARLY = 2  # epochs before the end: a run side by side with others may be one ahead of what it has told

Say = Callable[[str], object]


@dataclass(frozen=True)
class Outcome:
    """What a sweep did: names of runs, in the order in which they ended."""

    done: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[Event, ...]
    left: tuple[str, ...] = ()  # for another call, since the budget was used up
    seconds_left: float | None = None  # what they will take, about, where that is known
    begun: bool = False  # whether any run got as far as training
    diverged: tuple[Event, ...] = ()  # runs that are kept as such

    def and_then(self, other: Outcome) -> Outcome:
        """What two sweeps did, one after the other; how long the rest of both takes is not known."""
        lists = (self.done + other.done, self.skipped + other.skipped, self.failed + other.failed)
        both = self.diverged + other.diverged
        return Outcome(*lists, self.left + other.left, begun=self.begun or other.begun, diverged=both)


def compare(
    plans: Iterable[Plan],
    source: Source,
    store: RunStore,
    jobs: int = 2,
    progress: Progress | None = None,
    *,
    width: int = 4,
    engine: Engine = Engine(),  # noqa: B008 (frozen)
    budget: float | None = None,
    features: bool = False,
    keep_model: bool = False,
    every: float = 60.0,
    say: Say | None = None,
    diagnose: Diagnose | Mapping[str, Diagnose] | None = None,
    keep_diverged: bool = False,
) -> Outcome:
    """Carry out the plans that are not done yet: on a GPU ``width`` side by side, else in ``jobs`` processes.

    Runs that lack what the ``store`` is told to want are made again, and each is replaced when that is done.
    It can be killed at any time and called again. Runs under way leave a checkpoint ``every`` so many seconds, and the
    next call goes on from there. With a ``budget`` of seconds it stops before they are over: no run is begun that will
    not fit in what is left, those under way write their checkpoints, and ``left`` of the outcome names what remains. On
    Ctrl-C or SIGTERM it stops like that, too, and KeyboardInterrupt is raised (its kind ``signals.Terminated`` for
    SIGTERM); a second one stops it at once. ``features``, ``keep_model`` and ``diagnose`` are those of
    :func:`~dissensus.experiment.carry_out`; other processes must be able to import ``diagnose``, so it is no lambda. It
    may be a table by the names of runs, where not all are looked into alike; the budget counts the time it takes.

    A run that fails is reported, with the reason, and the others go on; where the store itself cannot be written, the
    sweep ends with that error. One that diverges fails, and the next call tries it again; with ``keep_diverged`` it is
    an outcome: it is kept as a run without numbers, and not made again. ``say`` is given a line where less GPU memory
    than hoped for slows the sweep down, where a method of one's own is not what it was in runs that are done, and when
    a signal has come.
    """
    for name, number in (("jobs", jobs), ("width", width)):
        if number < 1:
            raise InputError(f"{name} must be a whole number of at least 1, but is {number}.")
    how = How(engine, width, features, keep_model, every, diagnose, keep_diverged)
    course = Course({plan.name: plan for plan in plans}, store, Budget(budget), progress, how.look)
    course.skip_done(say)
    if course.waiting:
        refuse_other_machine(course.waiting.values())
        on_gpu = device() == "cuda"
        how = replace(how, width=width if on_gpu else 1)
        course.beside, course.shares = min(width if on_gpu else jobs, len(course.waiting)), on_gpu
        course.recall(device_name(), how.width)
        with until_signal(say) as course.signalled:
            if course.beside > 1 and not on_gpu:
                _in_processes(course, lambda: Worker(source, store, how), course.beside)
            elif len(course.waiting) == 1 or not on_gpu:
                _in_this_process(course, Maker(source, store, how), say)
            else:
                with WriterProcess() as writer:
                    _in_this_process(course, Maker(source, store, how, writer), say)
    if course.waiting and course.signalled():
        raise course.signalled.error()
    return course.outcome()


class Course:
    """How a sweep stands: which runs are still to be made, how long they will take, and whether to go on."""

    def __init__(
        self,
        plans: dict[str, Plan],
        store: RunStore,
        budget: Budget,
        progress: Progress | None = None,
        look: Callable[[str], Diagnose | None] = lambda run: None,
    ) -> None:
        self.store, self.budget, self.progress, self.look = store, budget, progress, look
        self.waiting = plans  # those that have not ended, under way or not
        self.ended: list[Event] = []
        self.kinds = {name: kind_of(plan) for name, plan in plans.items()}
        self.paces = Paces()
        self.epochs: dict[str, int] = {}  # that are done, of the unfinished
        self.under_way: dict[str, Event] = {}
        self.beside = 1
        self.shares = False  # one device, whose runs slow each other down
        self.stopped = False
        self.begun = False
        self.signalled = Signalled()

    def skip_done(self, say: Say | None = None) -> None:
        """Runs that were begun come first, so that they do not stay so."""
        done = [plan for name, plan in self.waiting.items() if name in self.store]
        for plan in done:
            self.tell(event_of(plan, "skipped"))
        if say is not None:
            for told in _made_otherwise(done, self.store):
                say(told)
        for name in self.store.unfinished_names():
            if name in self.waiting:
                self.epochs[name] = epochs_saved(self.store.unfinished(name) / CHECKPOINT)
        self.waiting = dict(sorted(self.waiting.items(), key=lambda pair: pair[0] not in self.epochs))

    def recall(self, device: str, width: int) -> None:
        with suppress(StoreError):  # no estimate then, and whoever writes to it says what is wrong
            self.paces.recall(self.store, {self.kinds[name] for name in self.waiting}, device, width, self.look)
        for name in self.epochs:  # of these the store has a checkpoint
            if (pace := pace_saved(self.store.unfinished(name) / CHECKPOINT)) is not None:
                self.paces.known.setdefault(self.kinds[name], {width: pace})

    def tell(self, event: Event) -> None:
        self.paces.learn(self.kinds[event.run], event, self.together(event.run), self.look(event.run))
        if event.kind in ENDS:
            self.under_way.pop(event.run, None)
            if event.kind != "stopped":
                del self.waiting[event.run]
                self.ended.append(event)
        else:
            self.under_way[event.run] = event
        self.begun = self.begun or event.kind in ("epoch", "done", "diverged", "failed")
        if event.epoch:
            self.epochs[event.run] = event.epoch
        if self.progress is not None:
            self.progress(replace(event, sweep_left=self.seconds_left()))

    def seconds_left(self) -> float | None:
        """What the runs that wait or are under way will take together, those that go side by side shared out.

        Inside models one looks at a time on a GPU, and as many as are trained on CPUs.
        """
        together = self.beside if self.shares else 1
        training, looking = (
            [one for name in self.waiting if (one := seconds(name)) is not None]
            for seconds in (lambda name: self.seconds(name, together), self.looking)
        )
        if min(len(training), len(looking)) < len(self.waiting):
            return None
        inside = sum(looking) / (1 if self.shares else self.beside)
        return max(sum(training) / self.beside, max(training, default=0.0)) + inside

    def seconds(self, name: str, together: int) -> float | None:
        epochs = self.waiting[name].recipe.epochs - self.epochs.get(name, 0)
        return self.paces.seconds(self.kinds[name], epochs, together)

    def looking(self, name: str) -> float | None:
        """How long it will take to look inside this run's model."""
        return self.paces.looking(self.kinds[name], self.look(name))

    def an_epoch(self, name: str) -> float:
        """Seconds that the next epoch of a run will take: at its own pace, before it has one at that of its kind."""
        event = self.under_way.get(name)
        if event is not None and event.pace is not None:
            return event.pace
        return self.paces.seconds(self.kinds[name], 1, self.together(name)) or 0.0

    def together(self, name: str) -> int:
        """How many runs share the device while this one is under way, as things stand."""
        return len({*self.under_way, name}) if self.shares else 1

    def stop(self) -> bool:
        """Whether the runs under way shall write their checkpoints now: time for another epoch of each is not left,
        nor, where that is their last one, for a look inside.
        """
        longest = max(map(self.an_epoch, self.under_way), default=0.0)
        ending = [name for name, event in self.under_way.items() if event.of - event.epoch <= NEARLY]
        needed = longest + sum(self.looking(name) or 0.0 for name in ending)
        self.stopped = self.stopped or self.signalled() or self.budget.over(needed)
        return self.stopped

    def fits(self, name: str) -> bool:
        """Whether there is time for all of it: its training, and a look inside it and those that it may wait for. Where
        its training never fits, there is to be time for an epoch.
        """
        if self.stop() or self.budget.over(self.an_epoch(name)):
            return False
        training, looking = self.seconds(name, self.together(name)), self.looking(name)
        if training is None or looking is None:
            return self.budget.has(None)
        before = sum(self.looking(other) or 0.0 for other in self.under_way if self.shares and other != name)
        enough = not before or training + looking + before <= self.budget.left()
        return enough and self.budget.has(training + looking)

    def next(self, given: Iterable[str] = ()) -> Plan | None:
        """The first plan that no process is making, and that there is time for."""
        taken = {*self.under_way, *given}
        free = (name for name in self.waiting if name not in taken and self.fits(name) and not self.store.busy(name))
        return next((self.waiting[name] for name in free), None)

    def over(self) -> bool:
        """Whether nothing will be begun any more."""
        return not any(map(self.fits, self.waiting))

    def outcome(self) -> Outcome:
        names = {kind: tuple(event.run for event in self.ended if event.kind == kind) for kind in ENDS}
        failed, diverged = (tuple(one for one in self.ended if one.kind == kind) for kind in ("failed", "diverged"))
        left = tuple(self.waiting), self.seconds_left()
        return Outcome(names["done"], names["skipped"], failed, *left, self.begun, diverged)


def _made_otherwise(done: Sequence[Plan], store: RunStore) -> Iterator[str]:
    """What to say of methods of one's own that are not what they were, though their version is."""
    others: dict[str, int] = {}
    for plan in done:
        if (now := own_method(plan.method)) is None:
            continue
        with suppress(StoreError):  # whoever needs the run says what is wrong with it
            before = store.read(plan.name).about.get("method", {})
            if any(None not in (part, before.get(name)) and part != before[name] for name, part in now.items()):
                others[plan.method] = others.get(plan.method, 0) + 1
    for method, runs in others.items():
        yield (
            f"{many(runs, 'run')} of {method} {'is' if runs == 1 else 'are'} done, by other code than it has now. If "
            "what it delivers is not the same any more, raise the version of its delivery, or take another store."
        )


def _in_this_process(course: Course, make: Maker, say: Say | None) -> None:
    """All that is free, as long as there is some; then again what others were making, if they left it undone."""
    while not course.over():
        make(iter(course.next, None), course.tell, course.stop, say)
        if not course.over():
            time.sleep(LOOK_AGAIN)


def _in_processes(course: Course, start: Callable[[], Worker], jobs: int) -> None:
    workers: dict[Any, Worker] = {}
    try:
        while not course.over() or any(worker.plan for worker in workers.values()):
            while len(workers) < min(jobs, len(course.waiting)) and not course.over():
                worker = start()
                workers[worker.pipe] = worker
            for worker in workers.values():
                given = [other.plan.name for other in workers.values() if other.plan]
                if worker.idle and (plan := course.next(given)):
                    worker.give(plan)
                elif course.stop():
                    worker.stop()
            for pipe in wait(list(workers), timeout=LOOK_AGAIN):
                if not workers[pipe].hear(course.tell):
                    workers.pop(pipe).bury(course.tell)
    finally:
        for worker in workers.values():
            worker.stop()
        for worker in workers.values():
            worker.end()
