from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.base.files import parts_of, written_whole
from dissensus.training import Checkpoint, Diverged, Fitted, Recipe, Stopped, fit
from dissensus.training.checkpoint import Saved, load, save

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (60, 3, 8, 8), np.uint8)
SOFT = RNG.dirichlet([1, 1, 1, 1], 60).astype(np.float32)
RECIPE = Recipe(epochs=8, batch_size=16, crop=1, flip=True, mixup=0.5)


class Net(nn.Module):
    """With all that has a state or draws: batch-norm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(36, 4)

    def features(self, x: Tensor) -> Tensor:
        return self.drop(self.trunk(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def deliver(epoch: int) -> np.ndarray:
    return np.roll(SOFT, epoch, 1)


def run(recipe: Recipe = RECIPE, **options) -> Fitted:
    # The held-out people say something else than the training ones, so the best epoch is not the last.
    given = {"seed": 3, "held_out": (IMAGES[:20], SOFT[20:40]), "select_on": (IMAGES[:30], SOFT[10:40])}
    return fit(Net, IMAGES, deliver, recipe, features=True, **given | options)


def digest(fitted: Fitted) -> str:
    sha = hashlib.sha256()
    for state in (fitted.model.state_dict(), fitted.best_state):
        for name, value in state.items():
            sha.update(name.encode() + value.numpy().tobytes())
    for row in fitted.history:
        sha.update(repr({name: value for name, value in row.items() if name != "seconds"}).encode())
    for found in (fitted.best, fitted.last, fitted.select_best, fitted.select_last):
        sha.update(found.logits.tobytes() + found.features.tobytes() + bytes([found.epoch]))
    return sha.hexdigest()


class After:
    """Says stop when it has been asked so often."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def __call__(self) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "there" / "checkpoint.safetensors"


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(path: Path) -> None:
    for epoch in (1, 3, 4, 7):
        with pytest.raises(Stopped, match=f"stopped after {epoch} of 8 epochs; its state is in .*checkpoint"):
            run(checkpoint=Checkpoint(path), stop=After(epoch - len(rows(path))))
        assert [row["epoch"] for row in rows(path)] == list(range(epoch))
    told: list[dict] = []
    found = run(checkpoint=Checkpoint(path), progress=told.append)
    assert [row["epoch"] for row in told] == [7]
    assert len(found.history) == 8
    assert digest(found) == digest(run())


def test_adamw_goes_on_with_its_moments_and_steps(path: Path) -> None:
    recipe = replace(RECIPE, optimizer="adamw", lr=0.01, schedule="linear", warmup=0.3)
    with pytest.raises(Stopped):
        run(recipe, checkpoint=Checkpoint(path), stop=After(3))
    assert digest(run(recipe, checkpoint=Checkpoint(path))) == digest(run(recipe))


def test_a_checkpoint_without_fields_that_recipes_got_later_is_still_read(path: Path) -> None:
    with pytest.raises(Stopped):
        run(checkpoint=Checkpoint(path), stop=After(3))
    saved = load(path, {})
    recipe = {name: value for name, value in saved.run["recipe"].items() if name not in ("optimizer", "warmup")}
    save(path, replace(saved, run=saved.run | {"recipe": recipe}))
    assert digest(run(checkpoint=Checkpoint(path))) == digest(run())


def rows(path: Path) -> list[dict]:
    saved = load(path, {})
    return [] if saved is None else saved.history


KILLED = """
import importlib.util, sys, torch
torch.set_num_threads(1)
spec = importlib.util.spec_from_file_location("t", sys.argv[1])
t = importlib.util.module_from_spec(spec)
spec.loader.exec_module(t)
recipe = t.replace(t.RECIPE, epochs=60)
checkpoint = t.Checkpoint(sys.argv[2], every=0)
t.run(recipe, checkpoint=checkpoint, progress=lambda row: print(row["epoch"], flush=True))
"""


def test_a_run_that_is_killed_at_any_moment_goes_on_bit_for_bit(path: Path) -> None:
    def start() -> subprocess.Popen[str]:
        arguments = [sys.executable, "-c", KILLED, __file__, str(path)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=os.environ)

    reached = []
    for after in (5, 23):
        with start() as process:
            told = [process.stdout.readline() for _ in range(after)]
            process.send_signal(signal.SIGKILL)  # while it trains or writes, since it writes after every epoch
            reached.append(int(told[-1]))
        assert process.returncode == -signal.SIGKILL
    assert reached[1] > reached[0] + 20  # the second went on from where the first was killed
    assert len(rows(path)) >= reached[1]
    recipe = replace(RECIPE, epochs=60)
    assert digest(run(recipe, checkpoint=Checkpoint(path))) == digest(run(recipe))


def test_what_a_kill_left_half_written_is_removed_and_other_files_stay(path: Path) -> None:
    beside = [".part-abc123_x" + path.name, ".part-abc123_x" + "other-" + path.name, "mine.txt"]
    path.parent.mkdir()
    for name in beside:
        (path.parent / name).touch()
    run(checkpoint=Checkpoint(path))
    left = {file.name for file in path.parent.iterdir()}
    assert left >= set(beside[1:])
    assert beside[0] not in left


def test_half_written_files_are_those_that_are_removed(path: Path) -> None:
    with written_whole(path) as part:
        assert parts_of(path) == [part]


def test_how_often_it_is_written(path: Path) -> None:
    def written(**options) -> list[int]:
        path.unlink(missing_ok=True)
        found: list[int] = []
        run(checkpoint=Checkpoint(path, **options), progress=lambda row: found.append(len(rows(path))))
        return found

    assert written(every=0) == [0, 1, 2, 3, 4, 5, 6, 7]  # rows in the file when each epoch is told
    assert written(every=3600, epochs=3) == [0, 0, 0, 3, 3, 3, 6, 6]
    assert written(every=3600) == [0] * 8
    assert not path.exists()


def test_checkpoints_change_nothing_and_nothing_held_out_is_fine(path: Path) -> None:
    assert digest(run(checkpoint=Checkpoint(path, every=0))) == digest(run())
    path.unlink()
    alone = {"held_out": None, "select_on": None}
    with pytest.raises(Stopped):
        run(checkpoint=Checkpoint(path), stop=After(3), **alone)
    found, expected = run(checkpoint=Checkpoint(path), **alone), run(**alone)
    for ours, theirs in zip(found.model.parameters(), expected.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert found.best is None


def test_without_a_checkpoint_a_stop_keeps_nothing() -> None:
    with pytest.raises(Stopped, match="stopped after 2 of 8 epochs; nothing was kept"):
        run(stop=After(2))


def test_a_run_is_not_stopped_after_its_last_epoch() -> None:
    assert digest(run(stop=After(8))) == digest(run())


def test_a_run_that_diverged_leaves_no_checkpoint(path: Path) -> None:
    with pytest.raises(Diverged):
        run(replace(RECIPE, lr=1e30), checkpoint=Checkpoint(path, every=0))
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"recipe": replace(RECIPE, epochs=9)}, "its recipe differ"),
        ({"seed": 4}, "its seeds differ"),
        ({"held_out": (IMAGES[:20], SOFT[:20])}, "its data differ"),
        ({"held_out": None, "recipe": replace(RECIPE, lr=0.2)}, "its recipe and data differ"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(path: Path, change: dict, parts: str) -> None:
    with pytest.raises(Stopped):
        run(checkpoint=Checkpoint(path), stop=After(1))
    with pytest.raises(InputError, match=rf"checkpoint\.safetensors is the checkpoint of another run: {parts}"):
        run(checkpoint=Checkpoint(path), **change)


def test_other_labels_make_another_run(path: Path) -> None:
    with pytest.raises(Stopped):
        run(checkpoint=Checkpoint(path), stop=After(1))
    with pytest.raises(InputError, match="its data differ"):
        fit(Net, IMAGES, lambda epoch: SOFT[::-1].copy(), RECIPE, seed=3, checkpoint=Checkpoint(path))


def test_a_damaged_file_is_told_by_its_name(path: Path) -> None:
    with pytest.raises(Stopped):
        run(checkpoint=Checkpoint(path), stop=After(1))
    whole = path.read_bytes()
    for damaged in (b"", b"not a checkpoint", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"checkpoint\.safetensors is no checkpoint, or damaged.*Remove it"):
            run(checkpoint=Checkpoint(path))


def test_a_single_bit_that_was_lost_is_noticed(path: Path) -> None:
    tensors = {"model.weight": torch.randn(3, 4), "best.logits": torch.randn(5).bfloat16(), "steps": torch.tensor(7)}
    save(path, Saved({"seeds": {"init": 0}}, [{"epoch": 0, "kl": 0.25}], tensors))
    whole = path.read_bytes()
    summed = whole.index(b'"sum"')
    for place in range(len(whole)):
        if summed < place <= summed + 3:
            continue  # it would have another name, and checkpoints had none in the past
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match=r"checkpoint\.safetensors is no checkpoint, or damaged.*Remove it"):
            load(path, {})
    path.write_bytes(whole)
    assert load(path, {}) is not None


def test_floats_come_back_as_they_were(path: Path) -> None:
    history = [{"epoch": 0, "kl": 0.1 + 0.2, "lr": 1e-300}]
    tensors = {"a": torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last), "b": torch.tensor(7)}
    save(path, Saved({"seeds": {"init": 0}}, history, tensors))
    saved = load(path, {"seeds": {"init": 0}})
    assert saved.history == history
    assert all(torch.equal(saved.tensors[name], value) for name, value in tensors.items())
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": -1}, "every must be a number of seconds of at least 0, but is -1"),
        ({"every": float("nan")}, "every must be a number of seconds of at least 0, but is nan"),
        ({"every": "60"}, "every must be a number of seconds of at least 0, but is '60'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, but is 0"),
        ({"epochs": 1.5}, "epochs must be a whole number of at least 1, but is 1.5"),
    ],
)
def test_mistakes_are_told(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Checkpoint("x", **options)
