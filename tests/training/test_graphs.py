from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dissensus.models import make
from dissensus.training import Checkpoint, Engine, Fitted, Job, Recipe, Stopped, fit, fit_many, graphs, side_by_side
from dissensus.training.choose import learner_for
from dissensus.training.graphs import Graphed
from dissensus.training.inputs import Normalise
from dissensus.training.lane import Lane
from dissensus.training.learner import PlainLearner
from dissensus.training.loop import Run

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (72, 3, 12, 12), np.uint8)
SOFT = RNG.dirichlet([1, 1, 1, 1], 72).astype(np.float32)
RECIPE = Recipe(epochs=4, batch_size=16, lr=0.02, crop=1, flip=True)  # batches of 16 and one of 8
PAIRS = {"held_out": (IMAGES[:20], SOFT[20:40]), "select_on": (IMAGES[:30], SOFT[10:40])}


def net() -> nn.Module:
    # With all that has a state or draws.
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(100, 4)
    )


def on(device: str, make_model: Callable[[], nn.Module] = net) -> Callable[[], nn.Module]:
    return lambda: make_model().to(device)


def soft(epoch: int) -> np.ndarray:
    return np.roll(SOFT, epoch, 1)


def hard(epoch: int) -> np.ndarray:
    return soft(epoch).argmax(1)


# The bookkeeping, with a recording that records nothing


class Played:
    """Calls the function as a capture and its replays do."""

    made = 0

    def __init__(self, function: Callable[..., Tensor], arguments: tuple[Tensor | None, ...], pool: object) -> None:
        Played.made += 1
        self.function = function
        for _ in range(graphs.WARM_UP):
            function(*arguments)

    def __call__(self, *arguments: Tensor | None) -> Tensor:
        return self.function(*arguments)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(graphs, "Recording", Played)
    monkeypatch.setattr(Played, "made", 0)


def learner(seed: int = 0, kind: type[PlainLearner] | type[Graphed] = PlainLearner) -> PlainLearner | Graphed:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 4))
    plain = PlainLearner(model, Normalise.by(RECIPE, torch.eye(5)), F.cross_entropy, RECIPE, Engine())
    return plain if kind is PlainLearner else Graphed(plain)


@pytest.mark.usefixtures("played")
def test_warming_up_leaves_no_trace() -> None:
    ours, theirs, rate = learner(kind=Graphed), learner(), torch.tensor(0.1, dtype=torch.float64)
    share = torch.tensor(0.3, dtype=torch.float64)
    for step, size in enumerate((8, 8, 3, 8, 3)):
        x, y = torch.randn(size, 5), torch.randint(0, 4, (size,))
        mixed = (share, torch.randperm(size)) if step == 3 else ()
        assert torch.equal(ours.step(x, y, rate, *mixed), theirs.step(x, y, rate, *mixed))
        assert torch.equal(ours.logits(x), theirs.logits(x))
    assert all(torch.equal(a, b) for a, b in zip(ours.tensors(), theirs.tensors(), strict=True))


@pytest.mark.usefixtures("played")
def test_one_recording_for_each_kind_of_batch() -> None:
    ours, rate = learner(kind=Graphed), torch.tensor(0.1, dtype=torch.float64)
    for _ in range(3):
        for size in (8, 3):
            x, classes, rows = torch.randn(size, 5), torch.zeros(size, dtype=torch.int64), torch.full((size, 4), 0.25)
            ours.step(x, classes, rate)
            ours.step(x, rows, rate)
            ours.step(x, rows, rate, torch.tensor(0.3, dtype=torch.float64), torch.arange(size))
            ours.logits(x)
    assert Played.made == 2 * 4
    ours.reset(learner(1).model, Normalise.by(RECIPE, torch.eye(5)))
    ours.logits(torch.randn(8, 5))
    assert Played.made == 2 * 4


class Refused:
    """What a capture does of a model that reads from the device on its way."""

    def __init__(self, *_: object) -> None:
        raise graphs.NotRecorded(RuntimeError("operation not permitted when stream is capturing\nand more"))


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs where the engine wants some, though this is a CPU, and none can be recorded."""

    def chosen(model, prepare, loss_of, recipe, engine) -> PlainLearner | Graphed:
        plain = PlainLearner(model, prepare, loss_of, recipe, engine)
        return Graphed(plain) if engine.graph else plain

    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(graphs, "Recording", Refused)
    monkeypatch.setattr("dissensus.training.lane.learner_for", chosen)


@pytest.mark.usefixtures("refused")
def test_a_model_that_cannot_be_recorded_trains_without_graphs() -> None:
    with pytest.warns(UserWarning, match=r"as a CUDA graph \(operation not permitted when stream is capturing\)"):
        fitted = run(device="cpu")
    plain = run(Engine(graph=False), device="cpu")
    np.testing.assert_array_equal(fitted.last.logits, plain.last.logits)
    assert fitted.history[0]["train_loss"] == plain.history[0]["train_loss"]


@pytest.mark.usefixtures("refused")
def test_side_by_side_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissensus.training.many.has_room", lambda under_way, width: len(under_way) < width)
    said: list[str] = []
    jobs = [Job(on("cpu"), IMAGES, soft, RECIPE, seed=seed, tag=seed, **PAIRS) for seed in range(3)]
    found = {ended.job.tag: ended for ended in side_by_side(jobs, say=said.append)}
    assert [found[seed].error for seed in range(3)] == [None] * 3
    assert len(said) == 1
    alone = fit(on("cpu"), IMAGES, soft, RECIPE, seed=1, engine=Engine(graph=False), **PAIRS)
    np.testing.assert_array_equal(found[1].fitted.last.logits, alone.last.logits)


# On a GPU

needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


def gpu(test: Callable) -> Callable:
    for mark in needs_gpu:
        test = mark(test)
    return test


def run(engine: Engine = Engine(), recipe: Recipe = RECIPE, deliver=soft, device="cuda", **options) -> Fitted:  # noqa: B008
    return fit(on(device), IMAGES, deliver, recipe, seed=3, engine=engine, **PAIRS | options)


def close(a: Fitted, b: Fitted, tolerance: float = 5e-3) -> None:
    for ours, theirs in ((a.last, b.last), (a.select_last, b.select_last)):
        np.testing.assert_allclose(ours.logits, theirs.logits, atol=tolerance, rtol=tolerance)
    for name in ("train_loss", "soft_nll", "select_nll"):
        ours, theirs = ([row[name] for row in fitted.history] for fitted in (a, b))
        np.testing.assert_allclose(ours, theirs, atol=tolerance, rtol=tolerance)


@gpu
@pytest.mark.parametrize("deliver", [soft, hard])
@pytest.mark.parametrize("mixup", [0.0, 1.0])
def test_a_graph_trains_as_plain_steps_do(deliver: Callable, mixup: float) -> None:
    recipe = replace(RECIPE, mixup=mixup)
    close(run(recipe=recipe, deliver=deliver), run(Engine(graph=False), recipe, deliver))


@gpu
def test_a_gpu_trains_as_a_cpu_does() -> None:
    still = {"make_model": make("small-cnn", (3, 12, 12), 4, width=4)}  # no dropout: other numbers on a GPU
    a, b = (fit(on(device, **still), IMAGES, soft, RECIPE, seed=3, **PAIRS) for device in ("cuda", "cpu"))
    close(a, b, 0.02)
    assert list(a.history[0]) == list(b.history[0])
    assert [row["lr"] for row in a.history] == [row["lr"] for row in b.history]
    assert all(row["seconds"] > 0 for row in a.history)


@gpu
@pytest.mark.parametrize(
    "engine",
    [Engine(resident=False), Engine(channels_last=False), Engine(resident=False, channels_last=False, graph=False)],
)
def test_techniques_do_not_change_a_run(engine: Engine) -> None:
    close(run(engine), run())


@gpu
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("graph", [True, False])
def test_compiled_code_trains_as_plain_steps_do(graph: bool) -> None:
    factory = on("cuda", make("small-cnn", (3, 12, 12), 4, width=4))
    jobs = [Job(factory, IMAGES, soft, RECIPE, seed=seed, **PAIRS) for seed in range(4)]
    engine = Engine(compile=True, graph=graph)
    for fitted, job in zip(fit_many(jobs, width=2, engine=engine), jobs, strict=True):
        close(fitted, fit(factory, IMAGES, soft, RECIPE, seed=job.seed, **PAIRS), 0.02)


@gpu
def test_bf16_is_close() -> None:
    for half, full in zip(run(recipe=replace(RECIPE, precision="bf16")).history, run().history, strict=True):
        assert half["train_loss"] == pytest.approx(full["train_loss"], abs=0.1)
        assert half["soft_nll"] == pytest.approx(full["soft_nll"], abs=0.2)


@gpu
def test_the_same_run_beside_others_and_in_a_lane_that_was_used() -> None:
    # More jobs than lanes: the later ones use graphs again that were recorded for other weights and normalisation.
    jobs = [
        Job(on("cuda"), IMAGES[seed:], lambda epoch, seed=seed: soft(epoch)[seed:], RECIPE, seed=seed, **PAIRS)
        for seed in (0, 8, 16, 24, 32)
    ]
    found = fit_many(jobs, width=2)
    for fitted, job in zip(found, jobs, strict=True):
        close(fitted, fit(job.make_model, job.inputs, job.deliver, RECIPE, seed=job.seed, **PAIRS))
    models = {id(parameter) for fitted in found for parameter in fitted.model.parameters()}
    assert len(models) == 5 * len(list(found[0].model.parameters()))  # each has its own weights
    again = found[0].model.eval()(found[0].prepare(torch.from_numpy(IMAGES[:20]).cuda())).detach().cpu().numpy()
    np.testing.assert_allclose(again, found[0].last.logits, atol=1e-3, rtol=1e-3)


@gpu
def test_a_lane_records_once() -> None:
    lane = Lane(keeps=True)
    learners = set()
    for seed in range(3):
        one = Run(Job(on("cuda"), IMAGES, soft, RECIPE, seed=seed, **PAIRS), Engine(), lane)
        for _ in one.epochs():
            pass
        one.fitted()
        learners.add(one.learner)
    (kept,) = learners
    assert isinstance(kept, Graphed)
    assert len(kept.steps) == 2
    assert len(kept.looks) == 2


@gpu
def test_an_epoch_waits_for_nothing() -> None:
    one = Run(Job(on("cuda"), IMAGES, soft, replace(RECIPE, epochs=9, mixup=0.5), **PAIRS), Engine(), Lane())
    turns = one.epochs()
    next(turns)  # records the graphs, which waits
    next(turns)
    torch.cuda.set_sync_debug_mode("error")
    try:
        next(turns)
        next(turns)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(one.history) == 3  # the row of the fourth epoch is on its way


@gpu
def test_dropout_is_that_of_the_seed_and_the_caller_s_numbers_stay() -> None:
    torch.cuda.manual_seed(1)
    before = torch.cuda.get_rng_state()
    first = run()
    assert torch.equal(torch.cuda.get_rng_state(), before)
    torch.cuda.manual_seed(2)
    close(run(), first, 1e-3)


@gpu
def test_replays_draw_other_numbers_in_each_step_and_the_same_after_a_seed() -> None:
    class Drawing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.drop = nn.Linear(5, 4), nn.Dropout(0.5)
            self.register_buffer("seen", torch.zeros(64, 5))

        def forward(self, x: Tensor) -> Tensor:
            x = self.drop(x)
            if self.training:
                self.seen.copy_(x.detach())
            return self.head(x)

    lanes, shown = [Lane(), Lane()], []
    x, y, rate = (
        torch.ones(64, 5, device="cuda"),
        torch.zeros(64, dtype=torch.int64, device="cuda"),
        torch.tensor(0.1).cuda(),
    )
    learners = []
    for lane in lanes:
        with lane.turn():
            prepare = Normalise(torch.ones(1, 5, device="cuda"), torch.zeros(1, 5, device="cuda"))
            learners.append(learner_for(Drawing().cuda(), prepare, F.cross_entropy, RECIPE, Engine()))
    for seed in (7, 7, 8):
        for lane, one in zip(lanes, learners, strict=True):
            with lane.turn() as reseed:
                reseed(seed, "layers")
                for _ in range(2):
                    one.step(x, y, rate)
                    shown.append(one.model.seen.clone())
    torch.cuda.synchronize()
    first, second = shown[:2]
    assert not torch.equal(first, second)
    for again in (2, 4, 6):  # the other lane with the same seed, and both of them again
        assert torch.equal(first, shown[again])
        assert torch.equal(second, shown[again + 1])
    assert not torch.equal(first, shown[8])
    assert not torch.equal(second, shown[9])


@gpu
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    checkpoint, asked = Checkpoint(tmp_path / "checkpoint"), iter([False, True])
    with pytest.raises(Stopped, match="after 2 of 4 epochs"):
        run(checkpoint=checkpoint, stop=lambda: next(asked))
    close(run(checkpoint=checkpoint), run())


@gpu
@pytest.mark.filterwarnings("default")
def test_a_model_that_reads_from_the_device_trains_without_graphs() -> None:
    """Before dropout, which must still draw from the numbers of the run when the capture has failed."""

    class Reading(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rest = net()

        def forward(self, x: Tensor) -> Tensor:
            return self.rest(x if float(x.sum()) > -1e9 else -x)

    options = {"seed": 3, **PAIRS}
    with pytest.warns(UserWarning, match="cannot be recorded as a CUDA graph"):
        fitted = fit(on("cuda", Reading), IMAGES, soft, RECIPE, **options)
    close(fitted, run(Engine(graph=False)))
    jobs = [Job(on("cuda", Reading), IMAGES, soft, RECIPE, seed=3, **PAIRS) for _ in range(3)]
    said: list[str] = []
    for ended in side_by_side(jobs, width=2, say=said.append):
        assert ended.error is None
        close(ended.fitted, fitted)
    assert len(said) == 1
    close(run(), run(Engine(graph=False)))  # and others still have their graphs


@gpu
def test_where_memory_is_short_all_runs_get_done() -> None:
    class Hungry(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            held = torch.empty(300 << 20, dtype=torch.uint8, device=x.device) if self.training else x  # 300 MiB a run
            return super().forward(x.flatten(1)) + 0 * held[:1].sum()

    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    jobs = [Job(on("cuda", lambda: Hungry(432, 4)), IMAGES, soft, RECIPE, seed=seed, **PAIRS) for seed in range(5)]
    said: list[str] = []
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (900 << 20)) / total)
    try:
        found = list(side_by_side(jobs, width=4, say=said.append))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert [ended.error for ended in found] == [None] * 5
    assert said
    assert said[0].startswith("GPU memory ran out with ")
