"""Runs are made in slices and their stores thrown away: scores stay, and nothing is made twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from dissensus.records import RunStore

PLAN = """
methods = ["soft", "majority"]
seeds = [100, 101]
[data]
name = "glyphs"
options = { items = 60, votes = 5 }
[recipe]
epochs = 1
"""


@pytest.fixture
def make_runs() -> ModuleType:
    import make_runs

    return make_runs


def test_scores_outlive_the_store(make_runs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "small.toml"
    plan.write_text(PLAN)
    scores = tmp_path / "scores.json"

    def make(store: str, *words: str) -> str:
        make_runs.main([str(plan), "--store", str(tmp_path / store), "--scores", str(scores), *words])
        return capsys.readouterr().out

    assert "2 runs: 0 known, 2 to make" in make("one", "--seeds", "100")
    first = make_runs.read_scores(scores)
    assert {run.plan["method"] for run in first} == {"soft", "majority"}
    assert "4 runs: 2 known, 2 to make" in make("two")
    assert len(RunStore(tmp_path / "two").names()) == 2
    both = make_runs.read_scores(scores)
    assert [run for run in both if run.plan["seeds"]["split"] == 100] == first
    assert len(both) == 4
    text = scores.read_text()
    assert "4 runs: 4 known, 0 to make" in make("three")
    assert scores.read_text() == text
    assert "4 runs: 4 known, 0 to make" in make("four", "--scores", str(tmp_path / "no.json"), "--known", str(scores))
    assert str(tmp_path) not in text


def test_judges_take_scores_for_stores(make_runs: ModuleType, add: Callable[..., str], tmp_path: Path) -> None:
    import stored_runs

    store = RunStore(tmp_path / "runs")
    add(store, "soft", "all", 100, "bf16", 0.5)
    lost = np.full((40, 2), np.nan, np.float32)
    add(store, "soft", "all", 101, "bf16", np.nan, best_logits=lost, last_logits=lost)
    runs = stored_runs.gathered([store.path])
    stored_runs.write_scores(runs, tmp_path / "scores.json")
    again = stored_runs.gathered([tmp_path / "scores.json", store.path])
    assert [run.name for run in again] == [run.name for run in runs]
    for one, other in zip(runs, again, strict=True):
        assert (one.plan, one.about) == (other.plan, other.about)
        assert one.first_loss == pytest.approx(other.first_loss, nan_ok=True)
        for checkpoint in ("best", "last"):
            assert one.scores[checkpoint] == pytest.approx(other.scores[checkpoint], nan_ok=True)
    told = json.loads((tmp_path / "scores.json").read_text())
    assert None in [row["scores"]["last"]["soft_nll"] for row in told]
    changed = [row | {"last_logits": "0"} for row in told]
    (tmp_path / "other.json").write_text(json.dumps(changed))
    with pytest.raises(SystemExit, match=r"in two sources with other numbers: .*, "):
        stored_runs.gathered([tmp_path / "scores.json", tmp_path / "other.json"])


@pytest.mark.parametrize("content", ["", "[1]", "{}x", '[{"name": "a"}]'])
def test_a_file_that_holds_no_scores_is_named(make_runs: ModuleType, content: str, tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(content)
    with pytest.raises(SystemExit, match=r"scores.json is no file of scores"):
        make_runs.read_scores(tmp_path / "scores.json")


@pytest.mark.skipif(torch.cuda.is_available(), reason="it can")
def test_what_this_machine_cannot_make_is_said(make_runs: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ["--precision", "tf32", "--store", str(tmp_path / "runs"), "--scores", str(tmp_path / "scores.json")]
    for plan, message in ((tmp_path / "plan.toml", "precision tf32, made for CUDA GPUs"), ("nosuch", "nosuch")):
        with pytest.raises(SystemExit, match=message):
            make_runs.main([str(plan), *words])
    assert not (tmp_path / "scores.json").exists()
