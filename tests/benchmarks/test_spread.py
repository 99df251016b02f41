"""The same plan trained again: its scatter, and what company changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dissensus.records import RunStore


@pytest.fixture
def spread() -> ModuleType:
    import spread

    return spread


def repetition(spread: ModuleType, name: str, width: int, nll: float, logits: float = 0.0):
    scores = {checkpoint: {"soft_nll": nll, "accuracy": 0.9} for checkpoint in ("best", "last")}
    return spread.Repetition(name, width, {"seconds": nll}, {}, scores, str(logits))


def test_pooled_sd_is_the_root_of_the_mean_within_plans(spread: ModuleType) -> None:
    sd, freedom = spread.pooled_sd([[1.0, 2.0, 3.0], [10.0, 12.0]])
    assert freedom == 3
    assert sd == pytest.approx(np.sqrt((2 * np.var([1, 2, 3], ddof=1) + np.var([10, 12], ddof=1)) / 3))


def test_the_standard_error_is_that_of_simulated_runs(spread: ModuleType) -> None:
    rng = np.random.default_rng(0)
    changes, errors = [], []
    for _ in range(2000):
        plans = {
            plan: [
                repetition(spread, plan, width, nll)
                for width, nll in zip((1, 1, 1, 8), rng.normal(0.5, 0.01, 4), strict=True)
            ]
            for plan in "abcd"
        }
        told = spread.measure(plans, "best", "soft_nll")
        changes.append(told["beside_minus_alone"])
        errors.append(told["se_from_spread"])
    assert np.mean(np.square(errors)) == pytest.approx(np.var(changes), rel=0.1)


def test_bits_are_compared_alone(spread: ModuleType) -> None:
    plans = {
        "a": [repetition(spread, "a", width, 0.5, bits) for width, bits in ((1, 0.0), (1, 0.0), (1, 1.0), (8, 0.0))]
    }
    assert spread.same_bits(plans) == {"pairs": 3, "identical": 1}


def test_without_company_there_is_only_the_spread(spread: ModuleType) -> None:
    plans = {"a": [repetition(spread, "a", 1, nll) for nll in (0.5, 0.6)]}
    assert "beside_minus_alone" not in spread.measure(plans, "best", "soft_nll")


def test_from_stores_to_the_file(spread: ModuleType, add: Callable, tmp_path: Path, capsys) -> None:
    for store, width, shift in (("one", 1, 0.0), ("two", 1, 0.02), ("beside", 8, 0.03)):
        for seed in (100, 101):
            about = {"width": width, "seconds": 20 + shift}
            add(RunStore(tmp_path / store), "soft", "all", seed, "bf16", 0.5 + shift, about=about)
    add(RunStore(tmp_path / "beside"), "soft", "all", 102, "bf16", 0.5, about={"width": 8})  # nowhere alone
    sources = [str(tmp_path / store) for store in ("one", "two", "two", "beside")]  # a store given twice is one
    spread.main([*sources, "--out", str(tmp_path / "spread.json")])
    told = json.loads((tmp_path / "spread.json").read_text())
    row = told["result"]["rows"][0]
    assert (row["checkpoint"], row["metric"], row["degrees_of_freedom"]) == ("best", "soft_nll", 2)
    values = {run["width"]: run["best"]["soft_nll"] for run in told["result"]["runs"]}
    first = told["result"]["runs"][0]["best"]["soft_nll"]
    assert row["sd_alone"] == pytest.approx(abs(values[1] - first) / np.sqrt(2), abs=1e-5)
    assert row["beside_minus_alone"] == pytest.approx(values[8] - (first + values[1]) / 2, abs=1e-5)
    assert told["result"]["widths"] == [1, 8]
    assert len(told["result"]["runs"]) == 6
    assert "0 of 2 pairs of repetitions agree to the last bit" in capsys.readouterr().out


def test_one_repetition_is_none(spread: ModuleType, add: Callable, tmp_path: Path) -> None:
    add(RunStore(tmp_path / "one"), "soft", "all", 100, "bf16", 0.5, about={"width": 1})
    with pytest.raises(SystemExit, match="no run is there twice at width 1"):
        spread.main([str(tmp_path / "one")])


def test_runs_that_do_not_tell_their_width_are_refused(spread: ModuleType, add: Callable, tmp_path: Path) -> None:
    name = add(RunStore(tmp_path / "one"), "soft", "all", 100, "bf16", 0.5, about={"width": None})
    with pytest.raises(SystemExit, match=f"run {name} does not tell how many"):
        spread.main([str(tmp_path / "one")])
