"""Which way of beginning is nearer to the published means, by a rule that was written first."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from dissensus.experiment import Comparison
from dissensus.records import RunStore


@pytest.fixture
def init() -> ModuleType:
    return importlib.import_module("init")


def rows(torch: float, he: float) -> dict:
    """Both z of a way."""
    return {"torch": {"soft_nll": {"z": torch}, "accuracy": {"z": -torch}}, "he": {"soft_nll": {"z": he}}}


@pytest.mark.parametrize(
    ("torch", "he", "choice"), [(2.0, 1.0, "he"), (1.0, 2.0, "torch"), (1.0, 1.7, "he"), (1.0, 1.8, "torch")]
)
def test_the_nearer_one_is_chosen_and_he_where_they_are_alike(init, torch, he, choice):
    assert init.choose(rows(torch, he)) == choice


def test_the_plan_asks_for_what_is_judged(init):
    asked = Comparison.read(Path(init.HERE) / "init.toml")
    assert asked.seeds == init.SEEDS
    assert asked.methods == ("soft",)
    assert asked.recipe.precision == "bf16"
    assert asked.model.options == {"init": "he"}


def test_from_a_store_to_the_file(init, add, tmp_path, capsys):
    store = RunStore(tmp_path / "runs")
    for seed in init.SEEDS:
        add(store, "soft", "all", seed, "bf16", nll=0.6 + seed / 1e4, wrong=5, version=1)
    with pytest.raises(SystemExit, match="runs are missing: he, seed 100; he, seed 101"):
        init.main([str(store.path), "--out", str(tmp_path / "init.json")])
    for seed in init.SEEDS:
        add(store, "soft", "all", seed, "bf16", nll=0.52 + seed / 1e4, wrong=5, version=1, options={"init": "he"})
    add(store, "soft", "all", 100, "tf32", nll=9.0)  # another question
    init.main([str(store.path), "--out", str(tmp_path / "init.json")])
    told = json.loads((tmp_path / "init.json").read_text())["result"]
    assert told["choice"] == "he"
    assert len(told["runs"]) == 12
    assert abs(told["ways"]["he"]["soft_nll"]["z"]) < abs(told["ways"]["torch"]["soft_nll"]["z"])
    assert "The rule chooses: he" in capsys.readouterr().out
