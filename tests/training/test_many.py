from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.models import make
from dissensus.training import (
    Checkpoint,
    Diverged,
    Ended,
    Engine,
    Fitted,
    Job,
    Recipe,
    Stopped,
    fit,
    fit_many,
    many,
    side_by_side,
)
from dissensus.training.checkpoint import load
from dissensus.training.lane import Lane
from dissensus.training.many import _UnderWay

X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
HELD_OUT = X[:6], np.eye(3)[np.arange(6) % 3]


class Net(nn.Sequential):
    """With dropout, which draws from the random numbers that all runs share."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


def deliver(epoch: int) -> np.ndarray:
    return np.arange(40) % 3


def job(seed: int, epochs: int = 3, **options) -> Job:
    recipe = Recipe(epochs=epochs, batch_size=16, **options.pop("recipe", {}))
    return Job(
        **{"make_model": Net, "tag": seed} | options,
        inputs=X,
        deliver=deliver,
        recipe=recipe,
        seed=seed,
        held_out=HELD_OUT,
    )


def same(fitted: Fitted | None, job: Job) -> bool:
    alone = fit(job.make_model, X, deliver, job.recipe, seed=job.seed, held_out=HELD_OUT)
    pairs = zip(fitted.model.parameters(), alone.model.parameters(), strict=True)
    return np.array_equal(fitted.last.logits, alone.last.logits) and all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs on a CPU go side by side, as if it were a GPU."""
    monkeypatch.setattr(many, "has_room", lambda under_way, width: len(under_way) < width)


class Watched(Iterator[Job]):
    """Jobs that remember how many were taken."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs, self.taken = jobs, 0

    def __next__(self) -> Job:
        if self.taken == len(self.jobs):
            raise StopIteration
        self.taken += 1
        return self.jobs[self.taken - 1]


# All of them


def test_every_job_has_the_result_it_has_alone_and_its_own_place() -> None:
    jobs = [job(seed) for seed in (4, 0, 2)]
    for fitted, given in zip(fit_many(iter(jobs), width=2), jobs, strict=True):
        assert same(fitted, given)


@pytest.mark.usefixtures("together")
def test_also_beside_others_that_end_before_it() -> None:
    jobs = [job(4, epochs=5), job(0, epochs=1), job(2, epochs=3), job(1, epochs=2)]
    for fitted, given in zip(fit_many(jobs, width=3), jobs, strict=True):
        assert same(fitted, given)


def test_no_jobs_no_results() -> None:
    assert fit_many([]) == []


@pytest.mark.parametrize("width", [0, 1.5, True])
def test_a_width_of_nothing_is_refused(width: int) -> None:
    with pytest.raises(InputError, match=f"width must be a whole number of at least 1, but is {width}"):
        side_by_side([], width=width)
    with pytest.raises(InputError, match="width must be"):
        fit_many([], width=width)


def test_the_first_error_is_raised() -> None:
    with pytest.raises(Diverged):
        fit_many([job(0), job(1, recipe={"lr": 1e30}), job(2)])


# One by one


def test_on_a_cpu_one_run_goes_at_a_time() -> None:
    jobs = Watched(job(0), job(1), job(2))
    for number, ended in enumerate(side_by_side(jobs, width=8)):
        assert ended.job.tag == number
        assert jobs.taken == number + 1


@pytest.mark.usefixtures("together")
def test_runs_take_turns_and_jobs_are_taken_when_there_is_room() -> None:
    told: list[tuple[int, float]] = []
    jobs = Watched(*(job(n, epochs=n + 1, progress=lambda row, n=n: told.append((n, row["epoch"]))) for n in range(4)))
    found = side_by_side(jobs, width=2)
    assert jobs.taken == 0
    assert next(found).job.tag == 0
    assert jobs.taken == 1  # it had but one epoch
    assert next(found).job.tag == 1
    assert jobs.taken == 3
    assert [ended.job.tag for ended in found] == [2, 3]
    assert told == [(0, 0), (1, 0), (2, 0), (1, 1), (3, 0), (2, 1), (3, 1), (2, 2), (3, 2), (3, 3)]


@pytest.mark.usefixtures("together")
def test_what_a_run_gives_may_bring_another() -> None:
    """None: not now."""
    waiting: list[Job | None] = [job(0), None, job(1, epochs=6), None]
    found, order = side_by_side(iter(lambda: waiting.pop(0) if waiting else None, 0), width=3), []
    for ended in found:
        order.append(ended.job.tag)
        if ended.job.tag == 0:
            waiting.append(job(2, epochs=1))
    assert order == [0, 2, 1]


@pytest.mark.usefixtures("together")
def test_an_error_ends_its_own_run_only() -> None:
    def fail() -> nn.Module:
        raise ZeroDivisionError("mine")

    jobs = [job(0, epochs=6), job(1, recipe={"lr": 1e30}), job(2, make_model=fail), job(3)]
    found = {ended.job.tag: ended for ended in side_by_side(jobs)}
    assert same(found[0].fitted, jobs[0])
    assert same(found[3].fitted, jobs[3])
    assert isinstance(found[1].error, Diverged)
    assert isinstance(found[2].error, ZeroDivisionError)
    assert found[1].fitted is found[2].fitted is None


def test_an_interrupt_ends_everything() -> None:
    def interrupt(row: dict) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side([job(0, progress=interrupt), job(1)]))


# Stop


@pytest.mark.usefixtures("together")
def test_a_stop_keeps_what_is_under_way_and_takes_nothing_more(tmp_path: Path) -> None:
    paths = [tmp_path / str(n) for n in range(4)]
    given = [job(n, epochs=1 if n == 0 else 9, checkpoint=Checkpoint(path)) for n, path in enumerate(paths)]
    jobs, turns = Watched(*given), iter([False] * 6 + [True])
    found = sorted(side_by_side(jobs, width=2, stop=lambda: next(turns)), key=lambda ended: ended.job.tag)
    assert jobs.taken == 3
    assert [ended.job.tag for ended in found] == [0, 1, 2]
    assert found[0].error is None
    assert all(isinstance(ended.error, Stopped) for ended in found[1:])
    assert [len(load(path, {}).history) for path in paths[1:3]] == [3, 2]
    assert not paths[3].exists()
    for fitted, job_again in zip(fit_many(given[1:3]), given[1:3], strict=True):
        assert same(fitted, replace(job_again, checkpoint=None))


def test_stopped_from_the_start_nothing_is_taken() -> None:
    jobs = Watched(job(0))
    assert list(side_by_side(jobs, stop=lambda: True)) == []
    assert jobs.taken == 0


@pytest.mark.usefixtures("together")
def test_a_checkpoint_that_cannot_be_written_does_not_lose_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    jobs = [job(0, checkpoint=Checkpoint(tmp_path / "file" / "x")), job(1, checkpoint=Checkpoint(tmp_path / "fine"))]
    turns = iter([False, False, True])
    wrong, fine = side_by_side(jobs, stop=lambda: next(turns))
    assert "cannot write" in str(wrong.error)
    assert isinstance(fine.error, Stopped)
    assert (tmp_path / "fine").exists()


# Memory


class Memory:
    """Room for so many runs at a time: the model of one more raises in its first step, as on a GPU."""

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0

    def model(self) -> nn.Module:
        memory = self

        class Large(Net):
            begun = False

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if self.training and not self.begun:
                    if memory.used == memory.room:
                        raise torch.cuda.OutOfMemoryError("CUDA out of memory")
                    self.begun = True
                    memory.used += 1
                return super().forward(x)

        return Large()

    def free(self, ended: Ended) -> Ended:
        self.used -= 1
        return ended


@pytest.mark.usefixtures("together")
def test_when_memory_runs_out_fewer_go_side_by_side_and_all_get_done() -> None:
    memory, said = Memory(room=3), []
    jobs = [job(n, make_model=memory.model) for n in range(7)]
    found = {ended.job.tag: memory.free(ended) for ended in side_by_side(jobs, width=4, say=said.append)}
    assert said == ["GPU memory ran out with 4 runs side by side; going on with 3"]
    for n in range(7):
        assert same(found[n].fitted, job(n))


@pytest.mark.usefixtures("together")
def test_the_run_starts_again_when_another_has_ended() -> None:
    memory, said, order = Memory(room=1), [], []
    jobs = [job(n, make_model=memory.model) for n in range(2)]
    for ended in side_by_side(jobs, say=said.append):
        order.append(memory.free(ended).job.tag)
    assert order == [0, 1]
    assert said == ["GPU memory ran out with 2 runs side by side; going on with 1"]


@pytest.mark.usefixtures("together")
def test_lanes_that_are_too_many_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes: weakref.WeakSet[Lane] = weakref.WeakSet()

    class Counted(Lane):
        def __init__(self, keeps: bool) -> None:
            super().__init__(keeps)
            lanes.add(self)

    monkeypatch.setattr(many, "Lane", Counted)
    memory, said = Memory(room=5), []
    jobs = [job(n, make_model=memory.model, epochs=2 + n % 3) for n in range(9)]
    alive = [len(lanes) for ended in side_by_side(jobs, width=6, say=said.append) if memory.free(ended)]
    assert said == ["GPU memory ran out with 6 runs side by side; going on with 4"]
    assert max(alive) == 4  # each has a learner and its graphs


def test_a_run_that_is_too_large_alone_says_what_to_do() -> None:
    memory, said = Memory(room=0), []
    (ended,) = side_by_side([job(0, make_model=memory.model)], say=said.append)
    assert isinstance(ended.error, InputError)
    assert "GPU memory ran out with one run alone. Use a smaller batch_size (it was 16)" in str(ended.error)
    assert said == []


def test_a_gpu_that_others_have_filled_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def lane(keeps: bool) -> Lane:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr("dissensus.training.many.Lane", lane)
    (ended,) = side_by_side([job(0)])
    assert isinstance(ended.error, InputError)
    assert "see what else uses the GPU" in str(ended.error)


@pytest.mark.usefixtures("together")
def test_stopped_while_it_waits_for_memory() -> None:
    memory, turns = Memory(room=1), iter([False, False, False, True])
    found = list(side_by_side([job(n, make_model=memory.model, epochs=9) for n in range(2)], stop=lambda: next(turns)))
    assert [ended.job.tag for ended in found] == [0, 1]
    assert "while it waited for GPU memory" in str(found[1].error)


def test_errors_that_a_lack_of_memory_brings_count_as_one() -> None:
    lack = torch.cuda.OutOfMemoryError("CUDA out of memory")
    brought = RuntimeError("capture failed")
    brought.__context__ = lack
    assert many.memory_ran_out(lack)
    for words in (
        "CUDA error: out of memory",
        "CUDA driver error: out of memory",
        "Triton Error [CUDA]: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    ):
        assert many.memory_ran_out(RuntimeError(words))
    assert many.memory_ran_out(brought)
    assert not many.memory_ran_out(RuntimeError("capture failed"))
    assert not many.memory_ran_out(ValueError("the loader is out of memory"))


def test_models_need_not_be_alike() -> None:
    jobs = [job(0), job(1, make_model=make("mlp", (5,), 3, width=4))]
    assert all(same(fitted, given) for fitted, given in zip(fit_many(jobs), jobs, strict=True))


def test_a_run_that_is_stopped_goes_on_to_the_end_of_its_epoch() -> None:
    """On a GPU a turn is a few steps, and a checkpoint is one between two epochs."""

    class Stopping:
        def stop(self) -> Stopped:
            assert heard == [False, False, True]
            return Stopped("in time")

    heard = []

    def turns():
        for over in (False, False, True, False):
            heard.append(over)
            yield over

    current = _UnderWay(Job(lambda: None, None, None), None, Engine())  # type: ignore[arg-type,return-value]
    current.run, current.turns = Stopping(), turns()  # type: ignore[assignment]
    current.turn()
    assert str(current.stop().error) == "in time"
