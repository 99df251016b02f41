"""What is not begun, and what can be done instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.experiment.reproduce import Reproduction, Standing, opened, refuse_loss, refuse_without_gpu
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


@pytest.mark.parametrize(("lost", "told"), [(1, "1 run that is"), (2, "2 runs that are")])
def test_results_are_not_written_over_by_a_store_without_their_runs(small: Reproduction, lost: int, told: str) -> None:
    before = Evidence({plan.name: cell for cell, plan in list(small.plans.items())[:lost]})
    with pytest.raises(InputError, match=f"here holds results of {told} not in the store .*--from here"):
        refuse_loss(small, before, Path("here"))
    refuse_loss(small, Evidence({}), Path("here"))
