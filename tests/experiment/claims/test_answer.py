"""Five sentences, whatever was measured, and each follows the verdicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dissensus.experiment.claims import Claims, answer, judge_claims
from dissensus.experiment.claims.quantities import Number
from dissensus.experiment.papers import Evidence, Paper

from .conftest import HARD, as_claimed, world


def told(claims: Claims, paper: Paper, base: Callable[[Number], float] = as_claimed, **more: object) -> list[str]:
    evidence = world(claims, paper, base=base, **more)
    return answer(judge_claims(evidence, paper), evidence)


@pytest.fixture(scope="module")
def supported(claims: Claims, paper: Paper) -> list[str]:
    return told(claims, paper)


def test_all_as_claimed(supported: list[str]) -> None:
    few, every, which, sharp, sure = supported
    assert few.startswith("With few votes an item, train on hard labels")
    assert few.endswith("nats in their favour (B4, audited protocol, 10 seeds).")
    assert every.startswith("With all votes, take SLS or soft labels: they are the same within the margins")
    assert every.endswith("majority vote loses to both on every metric (B2).")
    assert which.startswith("Where the votes themselves are at hand, multipass is a safe default")
    assert sharp.startswith("The gain with few votes is more than sharpness")
    assert "by its own protocol 22 are supported, 0 contradicted and 0 undecided" in sure
    assert sure.endswith("from 420 trainings, 10 seeds, one data set and one architecture, with simulated few votes.")


def test_nothing_measured(paper: Paper) -> None:
    nothing = Evidence({})
    sentences = answer(judge_claims(nothing, paper), nothing)
    assert len(sentences) == 5
    assert all("nothing was run" in sentence for sentence in sentences[:4])
    assert "1 is supported, 0 contradicted, 0 undecided and 21 not judged" in sentences[4]
    assert "from no training yet (B13 needs none)" in sentences[4]
    assert "no training yet" in sentences[4]


def test_a_few_seeds(claims: Claims, paper: Paper) -> None:
    few, every, which, sharp, _ = told(claims, paper, seeds=range(3))
    assert few.startswith("With few votes an item, it is open whether hard labels always beat soft ones")
    assert "3 seeds" in few
    assert every.startswith("With all votes, it was neither shown that")
    assert which.startswith("It is open whether multipass is a safe default")
    assert sharp.startswith("Whether the gain with few votes is more than sharpness is open")


def test_the_opposite(claims: Claims, paper: Paper) -> None:
    def reversed_(number: Number) -> float:
        worse = 0.2 if number.metric == "soft_nll" and number.method in HARD else 0.0
        much_worse = 0.1 if number.metric == "soft_nll" and number.method == "multipass" else 0.0
        return as_claimed(number) + worse + much_worse

    few, every, which, sharp, sure = told(claims, paper, reversed_)
    assert few.startswith("With few votes an item, hard labels are not always better than soft ones: 0 of 6 cells")
    assert every.startswith("With all votes, SLS and soft labels are not on a par, beyond the margin")
    assert "soft NLL 0.199 [" in every
    assert which.startswith("Multipass is no safe default")
    assert sharp.startswith("With 5 and 10 votes there is no gain of hard labels that could be sharpness")
    assert "0 contradicted" not in sure.split(";")[0]


def test_a_gain_that_a_temperature_buys(claims: Claims, paper: Paper) -> None:
    def bought(number: Number) -> float:
        mended = 0.04 if number.metric == "soft_nll" and number.method == "soft" and number.tempered else 0.0
        return as_claimed(number) - mended

    sentences = told(claims, paper, bought)
    assert sentences[0].startswith("With few votes an item, train on hard labels")
    assert sentences[3].startswith("The gain with few votes is mostly sharpness")


def test_views_that_say_otherwise_are_named(claims: Claims, paper: Paper) -> None:
    evidence = world(claims, paper, only="B4")
    published = [one for one in evidence.findings if evidence.runs[one.run].protocol == "published"]
    few = answer(judge_claims(Evidence(evidence.runs, findings=published), paper), evidence)[0]
    assert few.endswith("(B4, published protocol, 10 seeds; audited protocol: undecided).")
