"""What is not begun, and what can be done instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.papers import read_paper
from dissensus.experiment.reproduce import Reproduction, Standing, opened, refuse_without_gpu
from dissensus.records import RunStore


@pytest.fixture
def now(small: Reproduction) -> Standing:
    """Two trainings of the smoke test as if they were published ones."""
    standing = small.standing(list(small.plans)[:2])
    plans = {
        cell: plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"precision": "tf32"})})
        for cell, plan in standing.plans.items()
    }
    return replace(standing, plans=plans)


def test_runs_that_need_a_gpu_are_not_begun_without_one(
    small: Reproduction, now: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dissensus.experiment.reproduce.refusals.device", lambda: "cpu")
    with pytest.raises(InputError, match=r"2 runs of basins are left, .* CUDA GPU is needed.*--smoke tries") as told:
        refuse_without_gpu(small, now)
    assert "--protocol frozen" not in str(told.value)
    refuse_without_gpu(small, replace(now, done=frozenset(now.plans)))  # nothing is left
    refuse_without_gpu(small, small.standing(now.plans))  # what a processor can do
    monkeypatch.setattr("dissensus.experiment.reproduce.refusals.device", lambda: "cuda")
    refuse_without_gpu(small, now)


def test_of_a_paper_with_models_that_need_none_they_are_named(
    now: Standing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dissensus.experiment.reproduce.refusals.device", lambda: "cpu")
    several = opened(read_paper("soft-labels"), RunStore(tmp_path), small=True)
    with pytest.raises(InputError, match="Models of texts that need none: --protocol frozen"):
        refuse_without_gpu(several, now)
