"""Ours against the published means, by the rule that was written first."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.records import RunStore

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def sanity() -> ModuleType:
    import sanity

    return sanity


def fill(store: RunStore, add: Callable, seeds: tuple[int, ...] = (100, 101, 102, 103)) -> None:
    for method in tomllib.loads((BENCHMARKS / "sanity.toml").read_text("utf-8"))["methods"]:
        for seed in seeds:
            add(store, method, "all", seed, "bf16", 0.5 + 0.01 * (seed - 101.5))


def test_every_method_of_the_plan_was_published_and_no_seed_is_one_of_the_tables(sanity: ModuleType) -> None:
    plan = tomllib.loads((BENCHMARKS / sanity.PLAN).read_text("utf-8"))
    assert set(plan["methods"]) == set(sanity.published())
    assert min(plan["seeds"]) >= 100
    assert len(plan["seeds"]) == 4


def test_published_numbers_add_up(sanity: ModuleType) -> None:
    """Soft NLL minus KL is the mean entropy of the votes, the same for all methods up to the splits of the seeds."""
    published = sanity.published()
    gaps = [told["soft_nll"]["mean"] - told["kl"]["mean"] for told in published.values() if "kl" in told]
    np.testing.assert_allclose(gaps, 0.1538, atol=2e-4)
    assert sum(metric in told for told in published.values() for metric in sanity.METRICS) == 34
    assert {method: told["seeds"] for method, told in published.items() if told["seeds"] != 10} == {"multipass": 5}


def test_z_is_that_of_welch(sanity: ModuleType) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.5, 0.02, 4), rng.normal(0.52, 0.03, 10)
    told = sanity.judge(list(ours), {"mean": theirs.mean(), "sd": theirs.std(ddof=1)}, 10)
    assert told["z"] == pytest.approx(scipy_stats.ttest_ind(ours, theirs, equal_var=False).statistic)


@pytest.mark.parametrize(("mean", "verdict"), [(0.5, "agrees"), (0.5149, "agrees"), (0.5151, "differs")])
def test_three_standard_errors_agree(sanity: ModuleType, mean: float, verdict: str) -> None:
    ours = [0.5 - 0.01, 0.5 + 0.01, 0.5, 0.5]  # SD .008165
    told = {"mean": mean, "sd": np.sqrt((0.005**2 - np.var(ours, ddof=1) / 4) * 10)}
    assert sanity.judge(ours, told, 10)["verdict"] == verdict


def test_a_diverged_run_differs(sanity: ModuleType) -> None:
    assert sanity.judge([0.5, np.nan, 0.5, 0.5], {"mean": 0.5, "sd": 0.1}, 10)["verdict"] == "differs"


def test_from_a_store_to_the_file(sanity: ModuleType, add: Callable, tmp_path: Path, capsys, monkeypatch) -> None:
    store = RunStore(tmp_path / "runs")
    fill(store, add)
    monkeypatch.setattr(sanity, "notes", lambda: {"mixup": {"accuracy": "made-up predictions are always right"}})
    sanity.main([str(store.path), "--out", str(tmp_path / "sanity.json")])
    told = json.loads((tmp_path / "sanity.json").read_text())
    rows = {(row["method"], row["metric"]): row for row in told["result"]["rows"]}
    assert len(rows) == 34
    assert len(told["result"]["runs"]) == 24
    assert rows["soft", "accuracy"]["ours"] == 1.0
    assert rows["soft", "accuracy"]["verdict"] == "differs"
    assert "note" not in rows["soft", "accuracy"]
    assert rows["mixup", "accuracy"]["note"] == "made-up predictions are always right"
    out = capsys.readouterr().out
    assert "soft, accuracy: say why in benchmarks/sanity_notes.toml" in out
    assert "mixup, accuracy: made-up predictions are always right" in out


def test_missing_runs_are_named_and_nothing_is_written(sanity: ModuleType, add: Callable, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    fill(store, add, seeds=(100, 101, 102))
    with pytest.raises(SystemExit, match=r"6 of 24 runs are missing:\n  soft, all votes, seed 103, bf16"):
        sanity.main([str(store.path), "--out", str(tmp_path / "sanity.json")])
    assert not (tmp_path / "sanity.json").exists()


def test_what_differs_in_the_committed_result_is_explained() -> None:
    path = BENCHMARKS / "results" / "sanity.json"
    if not path.exists():
        pytest.skip("not measured yet")
    for row in json.loads(path.read_text("utf-8"))["result"]["rows"]:
        assert row["verdict"] == "agrees" or row.get("note"), f"{row['method']}, {row['metric']} differs: say why"
