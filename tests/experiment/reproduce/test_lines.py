"""Lines between models, and weights that wait for the other end."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from dissensus.base.errors import StoreError
from dissensus.experiment.papers import Cell, Paper
from dissensus.experiment.reproduce.lines import Line, Models, joined, lines_of

SLS, SOFT = (Cell("published", method, "all", 1, 3) for method in ("sls", "soft"))
SLS_AGAIN, SOFT_AGAIN = (Cell("published", method, "all", 1, 3, 500) for method in ("sls", "soft"))


def test_three_lines_a_seed(paper: Paper) -> None:
    lines = lines_of(paper.cells(), paper)
    assert len(lines) == 30
    assert {line for line in lines if line.first.seed == 3} == {
        Line(SLS, SOFT),
        Line(SLS, SLS_AGAIN),
        Line(SOFT, SOFT_AGAIN),
    }
    assert [line.within for line in (Line(SLS, SOFT), Line(SLS, SLS_AGAIN))] == [False, True]
    assert Line(SLS, SOFT).other(SOFT) == SLS


def test_only_of_trainings_that_are_there(paper: Paper) -> None:
    assert lines_of([SLS, SOFT_AGAIN], paper) == []
    assert lines_of([SOFT, SLS], paper) == [Line(SLS, SOFT)]


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
    (tmp_path / "a" / "best.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(StoreError, match=r"best\.safetensors cannot be read .* the run is made again"):
        models.load("a", "best")
