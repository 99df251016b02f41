"""What is said of rules follows from what was counted."""

from __future__ import annotations

import pytest

from dissensus.report.paper.chances import Chances


@pytest.fixture
def chances() -> Chances:
    seldom = {"right": (0.3, 0.01), "nothing": (0.0, 0.002), "reverse": (0.0, 1.0)}
    often = seldom | {"right": (0.9, 0.0)}
    return Chances(
        papers=200,
        seeds=10,
        correlation=0.5,
        claims={"B1": seldom, "B2": often},
        paired_otherwise={"B1": {"0.0": 0.03, "0.8": 0.94}, "B2": {"0.0": 0.5, "0.8": 1.0}},
        left_out={"B3": "no number is published"},
    )


def test_a_claim(chances: Chances) -> None:
    assert chances.of("B1") == (
        "Of 200 imagined repetitions with 10 seeds: supported in 30 % and contradicted in 1 % if the paper is exactly "
        "right; supported in 0 % and contradicted in less than 1 % if no method differs from another; supported in 0 % "
        "and contradicted in 100 % if all differences are the other way. The first share is for methods that correlate "
        "at 0.5 over seeds; it is 3 % at 0.0 and 94 % at 0.8."
    )
    assert chances.of("B3") == "Not counted: no number is published."
    assert chances.of("C1") == ""


def test_all_claims(chances: Chances) -> None:
    seldom = "would support 1 of the 2 claims that have published numbers in fewer than half of all repetitions (B1; "
    assert seldom in chances.sentence
    assert chances.sentence.endswith("and contradict none in more than 1 %.")
