"""The trainings of many seeds at once: whatever they ask for goes side by side, and a seed is over when its own are.

On a CPU one training follows the other, and one seed the other. On a GPU the next seed begins as soon as there is room
that those under way do not need: no seed waits for the slowest training of another, nor one study for the last of the
study before.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.trial import Asked, Making, Trial, trial_of

if TYPE_CHECKING:
    from dissensus.training import Ended, Job

SLACK = 1.1  # of a forecast: a pace is a mean, and what was begun should be done in time


class Whole(ABC):
    """Makings that are of use only together, such as those of a seed; it hears when they begin and how they end."""

    def __init__(self, makings: Sequence[Making]) -> None:
        self.makings = makings
        self.said: list[dict[int, Trial]] = [{} for _ in makings]
        self.trainings = [
            Training(self, place, number, asked, length_of(making.asked, number))
            for place, making in enumerate(makings)
            for number, asked in enumerate(making.asked)
        ]
        self.work = sum(one.asked.work for one in self.trainings)
        self.longest = max((one.length for one in self.trainings), default=0.0)
        self.done = 0.0  # of its work

    @abstractmethod
    def begun(self) -> None:
        """Its first training is about to begin."""

    @abstractmethod
    def over(self, rows: list[Score]) -> None:
        """All that it asked for was trained, and these are its scores."""

    @abstractmethod
    def failed(self, error: Exception) -> None:
        """It cannot be finished."""

    def after(self, place: int, number: int | None) -> list[Training]:
        """The trainings of a making that come after another one of it, or after none."""
        return [
            one
            for one in self.trainings
            if one.making == place and number == (None if one.asked.after is None else one.asked.after.number)
        ]

    @property
    def complete(self) -> bool:
        return sum(map(len, self.said)) == len(self.trainings)

    def scores(self) -> list[Score]:
        """Of all makings, in their order."""
        told = zip(self.makings, self.said, strict=True)
        return [row for one, said in told for row in one.scores([said[number] for number in range(len(said))])]


@dataclass(frozen=True, eq=False)
class Training:
    """One of those that a whole asks for."""

    whole: Whole
    making: int
    number: int  # in its making
    asked: Asked
    length: float  # its own work, and that of the longest that waits for it

    def job(self) -> Job:
        said, after = self.whole.said[self.making], self.asked.after
        return replace(self.asked.job(None if after is None else said[after.number]), tag=self)


def length_of(asked: Sequence[Asked], number: int) -> float:
    """The work of a training, and of the longest of those that wait for it."""
    waits = [place for place, one in enumerate(asked) if one.after is not None and one.after.number == number]
    return asked[number].work + max((length_of(asked, place) for place in waits), default=0.0)


def together(
    wholes: Iterable[Whole],
    width: int = 4,
    *,
    say: Callable[[str], object] = lambda line: None,
    end: float | None = None,
) -> None:
    """Carry out wholes, one after the other or, on a GPU, as many at once as keep ``width`` trainings busy.

    Those that came first go first, and of each the longest trainings. None is begun that would not be done by ``end``,
    by the monotonic clock, at the pace so far; which is not known before the first epoch of the first one. After an
    error no further one is begun, those under way are finished, and then it is raised.
    """
    import torch

    from dissensus.experiment.machine import one_thread
    from dissensus.training import side_by_side

    pool = _Pool(iter(wholes), end, torch.get_num_threads())
    with one_thread():
        for ended in side_by_side(pool.jobs(), width, say=say):
            pool.hear(ended)
    if pool.error is not None:
        raise pool.error


class _Pool:
    """The wholes under way, and the trainings of theirs that can begin."""

    def __init__(self, wholes: Iterator[Whole], end: float | None, threads: int) -> None:
        self.wholes, self.end, self.threads = wholes, end, threads
        self.next: Whole | None = None  # that waits for its time
        self.exhausted = False
        self.under_way: list[Whole] = []
        self.ready: list[Training] = []
        self.error: Exception | None = None
        self.busy = self.most = 0  # trainings side by side, now and at most
        self.began: float | None = None
        self.done = 0.0  # of all work, since then

    def jobs(self) -> Iterator[Job | None]:
        """Asked for whenever there is room; None where nothing can begin now."""
        while True:
            yield self.take()

    def take(self) -> Job | None:
        while not self.ready and self.has_next():
            self.begin()
        if not self.ready:
            return None
        training = self.ready.pop(0)
        try:
            job = training.job()
        except Exception as error:
            self.fail(training.whole, error)
            return self.take()
        self.busy += 1
        self.most = max(self.most, self.busy)
        self.began = time.monotonic() if self.began is None else self.began
        return replace(job, progress=lambda row: self.epoch_over(training))

    def has_next(self) -> bool:
        """Whether another whole is to begin; it is looked at first, since only then it is known how long it takes."""
        if self.error is not None or self.exhausted or (self.end is not None and time.monotonic() >= self.end):
            return False
        if self.next is None:
            try:
                with self.all_threads():
                    self.next = next(self.wholes, None)
                self.exhausted = self.next is None
            except Exception as error:
                self.error = error
        return self.next is not None and self.in_time(self.next)

    def in_time(self, whole: Whole) -> bool:
        """By the pace so far; its last training may go on alone, while the places beside it are empty."""
        if self.end is None or self.began is None or not self.done:
            return self.end is None or not self.under_way
        now = time.monotonic()
        left = sum(max(0.0, one.work - one.done) for one in self.under_way) + whole.work
        left += (self.most - 1) * whole.longest
        return now + SLACK * left * (now - self.began) / self.done < self.end

    def begin(self) -> None:
        whole, self.next = self.next, None
        assert whole is not None
        self.under_way.append(whole)
        whole.begun()
        self.add(one for place in range(len(whole.makings)) for one in whole.after(place, None))
        self.end_if_complete(whole)

    def add(self, trainings: Iterable[Training]) -> None:
        self.ready = sorted([*self.ready, *trainings], key=lambda one: (self.under_way.index(one.whole), -one.length))

    def epoch_over(self, training: Training) -> None:
        work = training.asked.work / training.asked.how.recipe.epochs
        training.whole.done += work
        self.done += work

    def hear(self, ended: Ended) -> None:
        """A training is over: others may wait for it, and its whole may be complete."""
        self.busy -= 1
        training: Training = ended.job.tag
        whole, number = training.whole, training.number
        if whole not in self.under_way:
            return  # another one of it has failed
        try:
            waits = whole.after(training.making, number)
            said = trial_of(training.asked, ended.result(), weights=bool(waits))
        except Exception as error:
            self.fail(whole, error)
            return
        whole.said[training.making][number] = said
        self.add(waits)
        self.end_if_complete(whole)

    def end_if_complete(self, whole: Whole) -> None:
        if not whole.complete:
            return
        try:
            with self.all_threads():
                whole.over(whole.scores())
        except Exception as error:
            self.fail(whole, error)
            return
        self.under_way.remove(whole)

    def fail(self, whole: Whole, error: Exception) -> None:
        self.error = self.error or error
        self.under_way.remove(whole)
        self.ready = [one for one in self.ready if one.whole is not whole]
        whole.failed(error)

    def all_threads(self) -> AbstractContextManager[None]:
        """For what is no training: an encoder reads texts with as many as torch was set to."""
        from dissensus.experiment.machine import threads

        return threads(self.threads)
