"""Which cells of a claim a protocol can decide: those of which it plans all numbers, or enough of them."""

from __future__ import annotations

import pytest

from dissensus.experiment.claims.planned import Plans, needs, planned, plans
from dissensus.experiment.claims.quantities import Difference, Number, Quantity
from dissensus.experiment.papers import Paper

SOFT, SLS = (Number("soft_nll", method) for method in ("soft", "sls"))
FEW = [Difference(Number("soft_nll", "sls", votes), Number("soft_nll", "soft", votes)) for votes in (5, 10, 25, 50)]


def known(*differences: Difference) -> Plans:
    """What a protocol plans that makes just these."""
    numbers = [number for one in differences for number in (one.first, one.second) if number is not None]
    return frozenset().union(*map(needs, numbers))


@pytest.fixture
def gain() -> Quantity:
    """With 5 and 10 votes, less that with 25 and 50."""
    return Quantity("gain", "soft_nll", tuple(FEW[:2]), tuple(FEW[2:]))


@pytest.mark.parametrize("fewer", [False, True])
def test_what_is_planned_whole_stays_as_it_is(gain: Quantity, fewer: bool) -> None:
    assert planned(gain, known(*FEW), fewer) == gain


@pytest.mark.parametrize("lacking", range(4))
def test_what_lacks_a_number_is_left_out_only_where_fewer_will_do(gain: Quantity, lacking: int) -> None:
    there = [one for place, one in enumerate(FEW) if place != lacking]
    assert planned(gain, known(*there), fewer=False) is None
    left = planned(gain, known(*there), fewer=True)
    assert left is not None
    assert [*left.differences, *left.less] == there


@pytest.mark.parametrize("side", [FEW[:2], FEW[2:]])
def test_a_gain_that_is_compared_with_none_is_no_cell(gain: Quantity, side: list[Difference]) -> None:
    """One of the two sides alone says something else."""
    assert planned(gain, known(*side), fewer=True) is None


def test_both_sides_of_a_difference_are_needed() -> None:
    cell = Quantity("", "soft_nll", (Difference(SLS, SOFT),))
    assert planned(cell, frozenset(needs(SLS)), fewer=True) is None
    assert planned(cell, frozenset(needs(SLS) | needs(SOFT)), fewer=True) == cell


def test_a_number_from_inside_models_is_planned_with_its_diagnostic(paper: Paper) -> None:
    """The audited protocol has no barriers, and trains the methods between which they would be."""
    line = Quantity("", "barrier", (Difference(Number("barrier", "sls", other="soft"), None),))
    score = Quantity("", "soft_nll", (Difference(SLS, SOFT),))
    for protocol, lines in (("published", line), ("audited", None)):
        there = plans(paper, protocol)
        assert planned(score, there, fewer=False) == score
        assert planned(line, there, fewer=False) == lines


def test_a_second_run_of_a_method_is_another_training() -> None:
    again = needs(Number("barrier", "sls", other="sls+reorder"))
    assert again == {("sls", "all", 1, False, "barrier"), ("sls", "all", 1, True, "barrier")}
