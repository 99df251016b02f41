"""Runs are found by what their plans say, and nobody chooses between two of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from dissensus.records import RunStore


@pytest.fixture
def stored_runs() -> ModuleType:
    return importlib.import_module("stored_runs")


def test_a_plan_that_was_carried_out_under_two_names_is_refused(
    stored_runs: ModuleType, add: Callable, tmp_path: Path
) -> None:
    asked = stored_runs.asked_for("init.toml", "bf16", seeds=[100, 101])
    store = RunStore(tmp_path)
    for seed, nll in ((100, 0.5), (101, 0.6)):
        add(store, "soft", "all", seed, "bf16", nll)
    found = stored_runs.find(stored_runs.gathered([tmp_path]), asked)
    assert [round(run.scores["best"]["soft_nll"], 1) for run in found.values()] == [0.5, 0.6]
    add(store, "soft", "all", 101, "bf16", 0.6, options={"init": "he"})  # the same numbers: no choice
    assert len(stored_runs.find(stored_runs.gathered([tmp_path]), asked)) == 2
    add(store, "soft", "all", 100, "bf16", 0.7, options={"init": "he"})
    with pytest.raises(SystemExit, match=r"1 of 2 runs are there twice, .*\n  soft, all votes, seed 100, bf16"):
        stored_runs.find(stored_runs.gathered([tmp_path]), asked)
