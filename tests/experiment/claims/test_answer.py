"""Five sentences, whatever was measured, and each follows the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
    assert few.endswith("nats better (B4, audited protocol, 10 seeds).")
    assert every.startswith("With all votes, take SLS or soft labels: they are the same within the margins")
    assert every.endswith("majority vote loses to both on every metric (a part of B2, audited protocol).")
    assert which.startswith(
        "Of the hard deliveries, multipass is a safe default where the votes themselves are at hand"
    )
    assert "the paper's advice to take them in place of soft labels is supported (B22, " in which
    assert sharp.startswith("The gain with few votes is more than sharpness")
    assert "its own protocol supports 22, contradicts 0 and leaves 0 undecided; the audited one supports 14 (" in sure
    assert "from 420 trainings, 10 seeds, one data set and one architecture, with simulated few votes; B13" in sure


def test_nothing_measured(paper: Paper) -> None:
    nothing = Evidence({})
    sentences = answer(judge_claims(nothing, paper), nothing)
    assert len(sentences) == 5
    assert all("nothing was run" in sentence for sentence in sentences[:4])
    assert (
        "supports 1, contradicts 0, leaves 0 undecided and does not judge 21; the audited one supports 1"
        in sentences[4]
    )
    assert "At the last epoch, where nothing was selected, both come to the same. That is from no " in sentences[4]
    assert "from no training yet, " in sentences[4]
    assert sentences[4].endswith("B13, which is arithmetic and needs no training, is among them each time.")


def test_a_few_seeds_show_nothing_and_are_told_as_a_few(claims: Claims, paper: Paper) -> None:
    few, every, which, sharp, sure = told(claims, paper, seeds=range(3))
    for sentence, claim in zip((few, every, which, sharp), ("B4", "B1", "B22", "A1"), strict=True):
        assert "not known yet: only 3 of 10 seeds, and so far " in sentence
        assert sentence.endswith(f"({claim}, audited protocol).")
        assert "open" not in sentence
        assert "shown" not in sentence
    assert "their soft NLL is 0.0" in few
    assert "leaves 0 undecided and does not judge 21" in sure
    assert "from 126 of 420 trainings, 3 seeds" in sure


def test_what_is_judged_is_spoken_of_before_what_is_begun(claims: Claims, paper: Paper) -> None:
    """No gain, so nothing is decided; of the audited protocol two seeds are there, of the published one all."""

    def alike(number: Number) -> float:
        return as_claimed(replace(number, method="soft") if number.method in HARD else number)

    whole = world(claims, paper, base=alike)
    early = {run: cell for run, cell in whole.runs.items() if cell.protocol == "audited" and cell.seed > 1}
    evidence = whole.only(whole.runs.keys() - early.keys())
    few = answer(judge_claims(evidence, paper), evidence)[0]
    assert few.startswith("With few votes an item, it is open whether hard labels always beat soft ones: they win in ")
    assert few.endswith("(B4, published protocol, 10 seeds).")


def test_the_opposite(claims: Claims, paper: Paper) -> None:
    def reversed_(number: Number) -> float:
        worse = 0.2 if number.metric == "soft_nll" and number.method in HARD else 0.0
        much_worse = 0.1 if number.metric == "soft_nll" and number.method == "multipass" else 0.0
        return as_claimed(number) + worse + much_worse

    few, every, which, sharp, sure = told(claims, paper, reversed_)
    assert few.startswith("With few votes an item, hard labels are no gain over soft ones: they lose in 6 of 6 cells")
    assert "-" not in few
    assert few.endswith("nats worse (B4, audited protocol, 10 seeds).")
    assert every.startswith("With all votes, SLS and soft labels are not on a par, beyond the margin")
    assert "soft NLL 0.199 [" in every
    assert which.startswith("Of the hard deliveries, multipass is no safe default")
    assert "the paper's advice to take them in place of soft labels is contradicted (B22, " in which
    assert sharp.startswith("With 5 and 10 votes there is no gain of hard labels that could be sharpness")
    assert "contradicts 0" not in sure.split(";")[0]


def test_a_difference_that_is_sure_and_not_shown_to_be_beyond_the_margin(claims: Claims, paper: Paper) -> None:
    """The interval has no 0 in it, so nobody may read that no difference was shown."""

    def at_the_margin(number: Number) -> float:
        return as_claimed(number) - 0.024 * (number.metric == "soft_nll" and number.method in HARD)

    every = told(claims, paper, at_the_margin)[1]
    assert every.startswith(
        "With all votes, it was neither shown that SLS and soft labels are the same within the margins nor that they "
        "differ by more: soft NLL of SLS less that of soft labels is -0.02"
    )
    assert "], so SLS is better, and whether by more than the margin of 0.025 is open (B1, audited protocol" in every


def test_it_depends_on_the_delivery(claims: Claims, paper: Paper) -> None:
    def sls_is_worse(number: Number) -> float:
        return as_claimed(number) + 0.2 * (number.metric == "soft_nll" and number.method == "sls")

    few, _, which, _, _ = told(claims, paper, sls_is_worse)
    assert few.startswith(
        "With few votes an item, it depends: hard labels win in 3 of 6 cells, and lose in 3; their soft NLL is between"
    )
    assert "nats worse and 0.0" in few
    assert "and with all votes SLS and multipass differ by more than the margins (B8, audited protocol)" in which


def test_deliveries_that_were_not_compared_are_not_said_to_be_the_same(claims: Claims, paper: Paper) -> None:
    """The audited protocol has no deterministic control, the published one has."""
    assert "and with all votes SLS and multipass are the same: " in told(claims, paper)[2]
    whole = world(claims, paper)
    published = {run for run, cell in whole.runs.items() if cell.protocol == "published" or cell.votes != "all"}
    evidence = whole.only(published)
    which = answer(judge_claims(evidence, paper), evidence)[2]
    assert "the hard deliveries are the same: SLS will do where only probabilities exist (B8, published" in which


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
    assert few.endswith("(B4, published protocol, 10 seeds; audited protocol: not run; audited, last epoch: not run).")
