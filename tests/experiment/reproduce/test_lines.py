"""Lines between models, and weights that wait for the other end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from dissensus.base.errors import StoreError
from dissensus.experiment.papers import Cell, Paper
from dissensus.experiment.reproduce.lines import LineBetween, Models, joined, lines_of

SLS, SOFT = (Cell("published", method, "all", 1, 3) for method in ("sls", "soft"))
SLS_AGAIN, SOFT_AGAIN = (Cell("published", method, "all", 1, 3, 500) for method in ("sls", "soft"))


def test_three_lines_a_seed(paper: Paper) -> None:
    lines = lines_of(paper.cells(), paper)
    assert len(lines) == 30
    assert {line for line in lines if line.first.seed == 3} == {
        LineBetween(SLS, SOFT),
        LineBetween(SLS, SLS_AGAIN),
        LineBetween(SOFT, SOFT_AGAIN),
    }
    assert [line.within for line in (LineBetween(SLS, SOFT), LineBetween(SLS, SLS_AGAIN))] == [False, True]
    assert LineBetween(SLS, SOFT).other(SOFT) == SLS


def test_only_of_trainings_that_are_there(paper: Paper) -> None:
    assert lines_of([SLS, SOFT_AGAIN], paper) == []
    assert lines_of([SOFT, SLS], paper) == [LineBetween(SLS, SOFT)]


def test_what_lies_at_the_other_end_comes_along(paper: Paper) -> None:
    assert set(joined([SLS], paper)) == {SLS, SOFT, SLS_AGAIN, SOFT_AGAIN}
    few = Cell("published", "sls", 5, 1, 3)
    assert joined([few], paper) == [few]


def test_weights_wait_and_are_forgotten(tmp_path: Path) -> None:
    models, model = Models(tmp_path / "models"), nn.Linear(3, 2)
    assert models.load("a", "best") is None
    models.save("a", "best", model)
    assert not models.has("a")  # those of the last epoch are missing
    models.save("a", "last", model)
    assert models.has("a")
    assert models.runs() == ["a"]
    state = models.load("a", "last")
    assert state is not None
    assert torch.equal(state["weight"], model.weight)
    models.forget("a")
    models.forget("a")
    assert models.runs() == []


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    models = Models(tmp_path)
    models.save("a", "best", nn.Linear(3, 2))
    path = tmp_path / "a" / "best.safetensors"
    whole = path.read_bytes()
    for damaged in (b"\x00" * 20, whole[:-4], whole[:-1] + bytes([whole[-1] ^ 1])):  # one bit is enough
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"best\.safetensors cannot be used .* the run is made again"):
            models.load("a", "best")


@pytest.mark.parametrize(("run", "weights"), [("b", "best"), ("a", "last")])
def test_weights_of_another_run_are_refused(tmp_path: Path, run: str, weights: str) -> None:
    models = Models(tmp_path)
    models.save("a", "best", nn.Linear(3, 2))
    (tmp_path / run).mkdir(exist_ok=True)
    shutil.copy(tmp_path / "a" / "best.safetensors", tmp_path / run / f"{weights}.safetensors")
    with pytest.raises(StoreError, match="it holds the weights of another run, or of another epoch"):
        models.load(run, weights)
