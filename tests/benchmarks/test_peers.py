"""The peers do the job they are said to do, and the comparison adds up."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import peers

    return peers


@pytest.fixture
def job(peers: ModuleType) -> ModuleType:
    import peers_job

    return peers_job


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "peers.py"), "--tiny", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measurement(ends: list[float], loss: float = 1.5, nll: float = 1.8, runs: int = 1) -> dict:
    return {"runs": runs, "epochs": [{"ended_s": end, "train_loss": loss, "soft_nll": nll} for end in ends]}


def test_a_run_is_the_cold_start_of_the_first_measurement_and_200_median_epochs(peers: ModuleType) -> None:
    told = peers.summarize([measurement([31.0, 32.0, 33.0, 37.0]), measurement([11.0, 12.0])])
    assert told["s_an_epoch"] == 1.0  # 1, 1, 4 and 1
    assert told["s_an_epoch_spread"] == [1.0, 4.0]
    assert told["cold_start_s"] == 30.0
    assert told["start_with_compile_cache_s"] == 10.0
    assert told["s_a_run"] == 230.0
    assert told["runs_an_hour_warm"] == 18.0


def test_runs_side_by_side_share_the_time(peers: ModuleType) -> None:
    told = peers.summarize([measurement([12.0, 14.0, 16.0], runs=4)])
    assert told["s_an_epoch"] == 0.5
    assert told["cold_start_s"] == 10.0
    assert told["s_a_run"] == 102.5


def test_a_peer_that_failed_keeps_its_error(peers: ModuleType) -> None:
    assert peers.summarize([{"error": "no such module"}]) == {"error": "no such module"}
    assert peers.summarize([{"error": "once"}, measurement([3.0, 4.0])])["measurements"] == 1


@pytest.mark.parametrize(
    ("loss", "nll", "fault"),
    [
        (1.5, 1.8, None),
        (math.nan, 1.8, "not finite"),
        (1.5, math.inf, "not finite"),
        (2.4, 1.8, "not below that of a uniform guess"),
        (1.5, 2.4, "no held-out soft NLL"),
        (1.0, 1.8, "from the median of all"),
    ],
)
def test_gate(peers: ModuleType, loss: float, nll: float, fault: str | None) -> None:
    measured = {name: [measurement([3.0, 4.0])] for name in ("plain", "hf", "lightning")}
    measured["plain-tuned"] = [measurement([3.0, 4.0], loss, nll)]
    told = peers.conclude(measured, tiny=False)
    assert told["plain"]["faults"] == []
    assert [fault in text for text in told["plain-tuned"]["faults"]][:1] == ([] if fault is None else [True])


def test_hand_written_transforms_show_a_crop_of_the_black_padded_image(job: ModuleType) -> None:
    image = torch.from_numpy(np.random.default_rng(0).integers(1, 256, (3, 8, 8), dtype=np.uint8))
    mean, std = (torch.tensor(numbers).view(3, 1, 1) for numbers in (job.MEAN, job.STD))
    padded = torch.zeros(3, 16, 16, dtype=torch.uint8)
    padded[:, 4:12, 4:12] = image
    crops = {
        mirrored.numpy().tobytes(): (top, left, flip)
        for top in range(9)
        for left in range(9)
        for flip in (False, True)
        for crop in [padded[:, top : top + 8, left : left + 8]]
        for mirrored in [crop.flip(2).contiguous() if flip else crop.contiguous()]
    }
    torch.manual_seed(0)
    shown = [job.HandWritten(train=True)(image) for _ in range(1000)]
    seen = [crops[((x * std + mean) * 255).round().to(torch.uint8).numpy().tobytes()] for x in shown]
    assert {top for top, _, _ in seen} == {left for _, left, _ in seen} == set(range(9))
    assert 0.4 < np.mean([flip for _, _, flip in seen]) < 0.6
    torch.testing.assert_close(job.HandWritten(train=False)(image), (image / 255 - mean) / std)


def test_initial_weights_are_those_of_fit(job: ModuleType) -> None:
    from dissensus.training import Recipe, fit

    tiny = job.Job.load(1, True, job.Clock(0.0))
    seen = []

    def factory() -> torch.nn.Module:
        model = job.ResNet18(tiny.images.shape[1:], tiny.votes.n_classes, width=8)
        seen.append(job.digest(model))
        return model

    target = tiny.votes.frequencies().astype(np.float32)
    fit(factory, tiny.images[:2], lambda epoch: target[:2], Recipe(epochs=1), seed=job.SEED)
    assert seen == [job.digest(tiny.model())]


def test_plain_is_measured_once_and_a_second_call_finds_it_done(tmp_path: Path) -> None:
    out = tmp_path / "peers.json"
    done = run("--peers", "plain", "--epochs", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("plain: ")
    told = json.loads(out.read_text())["result"]
    assert told["peers"]["plain"]["measured_epochs"] == 1
    assert told["peers"]["plain"]["faults"] == []
    assert "commit" in told["measured"]["plain"][0]
    again = run("--peers", "plain", "--epochs", "1", "--out", str(out))
    assert (again.returncode, again.stdout) == (0, "")
    other = run("--peers", "plain", "--epochs", "2", "--out", str(out))
    assert "Give another --out" in other.stderr


def test_unknown_peers_are_named() -> None:
    assert "no such peer: keras; there are plain" in run("--peers", "plain,keras").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "package"),
    [
        ("plain-tuned", "torch"),
        ("plain-graphs", "torch"),
        ("hf", "accelerate"),
        ("hf-tuned", "accelerate"),
        ("lightning", "lightning"),
        ("lightning-tuned", "lightning"),
        ("dissensus", "torch"),
        ("dissensus-4", "torch"),
    ],
)
def test_every_peer_runs(tmp_path: Path, peer: str, package: str) -> None:
    pytest.importorskip(package)
    done = run("--peers", peer, "--epochs", "1", "--out", str(tmp_path / "peers.json"))
    assert "failed" not in done.stdout, done.stdout
