"""Trainings as plans: what the paper says, in the words of a plan, and each once."""

from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.papers import Cell, Paper, read_paper
from dissensus.experiment.reproduce import Reproduction, full


def test_every_training_has_a_name_of_its_own(small: Reproduction) -> None:
    names = {plan.name for plan in small.plans.values()}
    assert len(names) == len(small.plans) == 42 * 2


def test_the_published_protocol(small: Reproduction) -> None:
    plan = small.plans[Cell("published", "sls", 50, 1, 1)]
    assert (plan.method, plan.votes, plan.draw, plan.split.select) == ("sls", 50, "resample", 0)
    assert plan.seeds.model_dump() == {"split": 1, "init": 1, "order": 1, "delivery": 1}
    assert small.plans[Cell("published", "sls", "all", 50, 0)].hold == 50


def test_the_audited_protocol(small: Reproduction) -> None:
    plan = small.plans[Cell("audited", "soft", 25, 1, 0)]
    assert (plan.votes, plan.draw, plan.split.select, plan.split.test) == (25, "subsample", 0.1, 0.2)


def test_controls_differ_in_order_and_delivery_alone(small: Reproduction) -> None:
    one, control = (small.plans[Cell("published", "sls", "all", 1, 1, reorder)] for reorder in (0, 500))
    assert control.seeds.model_dump() == {"split": 1, "init": 1, "order": 501, "delivery": 501}
    assert control.model_copy(update={"seeds": one.seeds}).name == one.name


def test_the_recipe_is_that_of_the_paper(paper: Paper) -> None:
    setting = full(paper)
    assert setting.source.name == "cifar10h"
    assert setting.defaults.model == "resnet18"
    assert setting.defaults.recipe["epochs"] == 200
    assert setting.seeds is None
    assert setting.effort.precision == "tf32"
    assert full(paper, "fp32").effort.precision == "fp32"
    with pytest.raises(InputError, match="unknown precision of looks 'fp23'; did you mean 'fp32'"):
        full(paper, "fp23")


def test_a_paper_without_a_data_set_of_its_own_is_told() -> None:
    with pytest.raises(InputError, match=r"soft-labels has no data set of its own .* papers that have: basins"):
        full(read_paper("soft-labels"))


def test_slices_of_the_paper(small: Reproduction) -> None:
    few = small.wanted(["table1"], "published", {0})
    assert {cell.votes for cell in few} == {5, 10, 25, 50}
    assert len(few) == 16
    assert {cell.protocol for cell in small.wanted(["table1"])} == {"published", "audited"}
    assert len(small.wanted(["resampling"], seeds={1})) == 4 + 3  # and those that lie on lines with one of them


def test_with_one_end_of_a_line_come_the_others(small: Reproduction) -> None:
    cells = small.wanted(["table3"], "published", {0})
    assert Cell("published", "soft", "all", 1, 0, 500) in cells
    assert {cell.method for cell in cells[:4]} == {"sls", "soft"}  # first, so that they go side by side


def test_what_is_not_there_is_told(small: Reproduction) -> None:
    with pytest.raises(InputError, match="unknown table, figure or experiment 'tabel1'; did you mean 'table1'"):
        small.wanted(["tabel1"])
    with pytest.raises(InputError, match="unknown protocol 'pubished'; did you mean 'published'"):
        small.wanted(protocol="pubished")
    with pytest.raises(
        InputError, match="nothing is run for that: table1 under the protocol any, with seeds among 0 to 1"
    ):
        small.wanted(["table1"], seeds={99})
