"""Many training runs: side by side on a GPU, one after the other on a CPU."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, replace

from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.graphs import NotRecorded
from dissensus.training.job import Job
from dissensus.training.lane import Lane
from dissensus.training.loop import Fitted, Run, Stopped
from dissensus.training.memory import memory_ran_out


@dataclass(frozen=True)
class Ended:
    """A job that is over: what it gave, or why it gave nothing."""

    job: Job
    fitted: Fitted | None
    error: Exception | None = None

    def result(self) -> Fitted:
        """What it gave; its error is raised."""
        if self.fitted is None:
            assert self.error is not None
            raise self.error
        return self.fitted


def fit_many(
    jobs: Iterable[Job],
    width: int = 4,
    engine: Engine = Engine(),  # noqa: B008 (frozen)
) -> list[Fitted]:
    """Every job through :func:`~dissensus.training.fit`, with the result it has on its own, in the order of the jobs.

    ``width`` is how many may share a GPU. Runs on a CPU go one after the other, whatever it is: to use several cores
    start several processes of one thread each, which is faster than one process of several.
    """
    numbered = (replace(job, tag=number) for number, job in enumerate(jobs))
    found = {ended.job.tag: ended.result() for ended in side_by_side(numbered, width, engine)}
    return [found[number] for number in sorted(found)]


def side_by_side(
    jobs: Iterable[Job | None],
    width: int = 4,
    engine: Engine = Engine(),  # noqa: B008 (frozen)
    stop: Callable[[], bool] | None = None,
    say: Callable[[str], object] | None = None,
) -> Iterator[Ended]:
    """Carry out jobs, up to ``width`` of them at a time on a GPU, and give each when it is over.

    A job is taken when there is room for it; None means that there is none now, and as long as others are under way
    ``jobs`` is asked again, since what they give may bring more.

    An error ends the run it happens in, and no other. Where GPU memory runs out, the run that it happened to starts
    again (from its checkpoint, if it has one) when there is room, fewer go side by side from then on, and ``say`` is
    told so in a line. So it is where a model cannot be recorded as a CUDA graph: its runs start again without one.

    ``stop`` is asked after every turn. When it says True, no further job is taken, every run under way goes on to the
    end of its epoch, writes its checkpoint, if it has one, and ends with :class:`~dissensus.training.Stopped`.
    """
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise InputError(f"width must be a whole number of at least 1, but is {width!r}.")
    return _turn_by_turn(iter(jobs), width, engine, stop or (lambda: False), say or (lambda line: None))


class _UnderWay:
    """A job in its lane. The first turn makes the run, and the last one returns what it gives."""

    def __init__(self, job: Job, lane: Lane | None, engine: Engine) -> None:
        self.job, self.idle_lane, self.engine = job, lane, engine
        self.turns = self._turns()
        self.between = False  # two epochs

    def _turns(self) -> Generator[bool, None, Fitted]:
        self.lane = self.idle_lane or Lane(keeps=True)  # a turn, since a stream on a GPU may lack memory, too
        self.run = Run(self.job, self.engine, self.lane)
        yield from self.run.epochs()
        return self.run.fitted()

    def turn(self) -> None:
        """A turn; StopIteration with what the run gives, if it was the last."""
        self.between = next(self.turns)

    def stop(self) -> Ended:
        """To the end of the epoch, and a checkpoint."""
        try:
            while not self.between:
                self.turn()
            return Ended(self.job, None, self.run.stop())
        except StopIteration as over:
            return Ended(self.job, over.value)
        except Exception as error:  # such as no room on the disk: the other runs still write theirs
            return Ended(self.job, None, error)


def _turn_by_turn(
    jobs: Iterator[Job | None], width: int, engine: Engine, stop: Callable[[], bool], say: Callable[[str], object]
) -> Iterator[Ended]:
    """One thread gives each run its turns."""
    again: deque[Job] = deque()  # those that ran out of memory
    under_way: deque[_UnderWay] = deque()
    idle: list[Lane] = []
    while not stop():
        if has_room(under_way, width) and (job := again.popleft() if again else next(jobs, None)) is not None:
            current = _UnderWay(job, idle.pop() if idle else None, engine)
        elif under_way:
            current = under_way.popleft()
        else:
            return
        ended, ran_out = None, False
        try:
            current.turn()
            under_way.append(current)
        except StopIteration as over:
            ended = Ended(current.job, over.value)
            if len(under_way) + len(idle) < width:
                idle.append(current.lane)
        except Exception as error:  # whatever it is, the other runs go on; the lane is not used again
            together = 1 + len(under_way) + len(idle)  # an idle lane keeps the memory of its learner
            if isinstance(error, NotRecorded):
                if engine.graph:
                    engine = replace(engine, graph=False)
                    say(str(error))
                again.append(current.job)
            elif not memory_ran_out(error):
                ended = Ended(current.job, None, error)
            elif together == 1:
                ended = Ended(current.job, None, too_large(current.job))
            else:
                width = fewer(together)
                say(f"GPU memory ran out with {together} runs side by side; going on with {width}")
                again.append(current.job)
                idle.clear()
                ran_out = True
        del current  # and with it the memory of a run that is over
        if ran_out:
            gc.collect()
        if ended is not None:
            yield ended

    for current in under_way:
        yield current.stop()
    for job in again:
        yield Ended(job, None, Stopped("the run was stopped while it waited for GPU memory."))


def has_room(under_way: Collection[_UnderWay], width: int) -> bool:
    """Whether another run can start beside these. A CPU is busy with one."""
    return len(under_way) < width and all(current.run.device.type == "cuda" for current in under_way)


def fewer(together: int) -> int:
    """How many to try when so many were too many: three quarters, and at least one less.

    >>> [fewer(n) for n in (8, 6, 4, 3, 2)]
    [6, 4, 3, 2, 1]
    """
    return max(1, together * 3 // 4)


def too_large(job: Job) -> InputError:
    return InputError(
        "GPU memory ran out with one run alone. Use a smaller batch_size "
        f"(it was {job.recipe.batch_size}) or a smaller model, or see what else uses the GPU."
    )
