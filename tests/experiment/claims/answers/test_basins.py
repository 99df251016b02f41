"""Five answers, whatever was measured, and each follows the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dissensus.experiment.claims import Answer, Claims, answers, judge_claims
from dissensus.experiment.claims.quantities import Number
from dissensus.experiment.papers import Evidence, Paper

from ..conftest import HARD, as_claimed, world


def told(claims: Claims, paper: Paper, base: Callable[[Number], float] = as_claimed, **more: object) -> list[Answer]:
    evidence = world(claims, paper, base=base, **more)
    return answers(judge_claims(evidence, paper), evidence)


@pytest.fixture(scope="module")
def supported(claims: Claims, paper: Paper) -> list[Answer]:
    return told(claims, paper)


def test_all_as_claimed(supported: list[Answer]) -> None:
    few, every, which, sharp, sure = supported
    assert few.short.startswith("Train on hard labels: at every number of votes that was tried they beat soft labels; ")
    assert few.short.endswith("nats better (B4).")
    assert few.more == ("B4: audited protocol, 10 seeds.",)
    assert every.short == (
        "Take SLS or soft labels: they are the same within the margins (B1). Majority vote loses to both on all five "
        "metrics of B2."
    )
    assert every.more[0].startswith("Soft NLL of SLS less that of soft labels is ")
    assert every.more[1:] == ("Majority vote: a part of B2, audited protocol.", "B1: audited protocol, 10 seeds.")
    assert which.short.startswith("Multipass is a safe default where the votes themselves are at hand")
    assert "The paper's advice to take them in place of soft labels is supported." in which.more
    assert sharp.short.startswith("Yes: with 5 and 10 votes after a temperature the soft NLL of hard labels is 0.0")
    assert sharp.short.endswith("nats better (A1).")
    assert sure.short.startswith(
        "From 10 seeds and 420 trainings, the paper's own protocol supports 22, contradicts 0 "
    )
    assert "and leaves 0 undecided of its claims; the audited one supports 14 (" in sure.short
    assert "One data set and one architecture, with simulated few votes." in sure.more


def test_nothing_measured(paper: Paper) -> None:
    nothing = Evidence({})
    few, every, which, sharp, sure = answers(judge_claims(nothing, paper), nothing)
    assert all("not known yet: nothing was run" in one.short for one in (few, every, which, sharp))
    alone = (
        "supports 1 (B13, which is arithmetic and needs no training), contradicts 0, leaves 0 undecided and does not"
    )
    assert sure.short == (
        f"From no training yet, the paper's own protocol {alone} judge 21 of its claims; the audited one {alone} judge "
        "21."
    )
    assert sure.more[0] == "At the last epoch, where nothing was selected, both come to the same."
    assert sure.more[-1] == "B13, which is arithmetic and needs no training, is among those that are supported."


def test_a_few_seeds_show_nothing_and_are_told_as_a_few(claims: Claims, paper: Paper) -> None:
    few, every, which, sharp, sure = told(claims, paper, seeds=range(3))
    for one, claim in zip((few, every, which, sharp), ("B4", "B1", "B22", "A1"), strict=True):
        assert "not known yet: only 3 of 10 seeds, and so far " in one.short
        assert one.short.endswith(f"({claim}, audited protocol).")
        assert "open" not in one.text
        assert "shown" not in one.text
    assert "their soft NLL is 0.0" in few.short
    assert "leaves 0 undecided and does not judge 21" in sure.short
    assert sure.short.startswith("From 3 seeds and 126 of 420 trainings, ")


def test_what_is_judged_is_spoken_of_before_what_is_begun(claims: Claims, paper: Paper) -> None:
    """No gain, so nothing is decided; of the audited protocol two seeds are there, of the published one all."""

    def alike(number: Number) -> float:
        return as_claimed(replace(number, method="soft") if number.method in HARD else number)

    whole = world(claims, paper, base=alike)
    early = {run: cell for run, cell in whole.runs.items() if cell.protocol == "audited" and cell.seed > 1}
    evidence = whole.only(whole.runs.keys() - early.keys())
    few = answers(judge_claims(evidence, paper), evidence)[0]
    assert few.short.startswith("It is open whether hard labels always beat soft ones: they win in ")
    assert few.more[-1] == "B4: published protocol, 10 seeds."


def test_the_opposite(claims: Claims, paper: Paper) -> None:
    def reversed_(number: Number) -> float:
        worse = 0.2 if number.metric == "soft_nll" and number.method in HARD else 0.0
        much_worse = 0.1 if number.metric == "soft_nll" and number.method == "multipass" else 0.0
        return as_claimed(number) + worse + much_worse

    few, every, which, sharp, sure = told(claims, paper, reversed_)
    assert few.short.startswith(
        "Hard labels are no gain over soft ones: they win in none of 6 comparisons, and lose in 6; "
    )
    assert "-" not in few.short
    assert few.short.endswith("nats worse (B4).")
    assert every.short.startswith("SLS and soft labels are not on a par; beyond the margin is soft NLL 0.199 [")
    assert which.short.startswith("Multipass is no safe default")
    assert "The paper's advice to take them in place of soft labels is contradicted." in which.more
    assert sharp.short == "With 5 and 10 votes there is no gain that could be sharpness (A1)."
    assert "contradicts 0" not in sure.short.split(";")[0]


@pytest.mark.parametrize(("by", "who"), [(-0.024, "is lower than that of soft labels"), (0.026, "is higher")])
def test_a_difference_that_is_sure_and_not_shown_to_be_beyond_the_margin(
    claims: Claims, paper: Paper, by: float, who: str
) -> None:
    """The interval has no 0 in it, so nobody may read that no difference was shown."""

    def at_the_margin(number: Number) -> float:
        return as_claimed(number) + by * (number.metric == "soft_nll" and number.method in HARD)

    every = told(claims, paper, at_the_margin)[1]
    assert every.short.startswith(f"Soft NLL of SLS {who}, by 0.02")
    assert "] nats; whether by more than the margin of 0.025 is open (B1). " in every.short
    assert "-" not in every.short


def test_it_depends_on_the_delivery(claims: Claims, paper: Paper) -> None:
    def sls_is_worse(number: Number) -> float:
        return as_claimed(number) + 0.2 * (number.metric == "soft_nll" and number.method == "sls")

    few, _, which, _, _ = told(claims, paper, sls_is_worse)
    assert few.short.startswith(
        "It depends: hard labels win in 3 of 6 comparisons, and lose in 3; with 5, 10 and 25 votes their soft NLL is"
    )
    assert "nats worse and 0.0" in few.short
    assert "; with all votes SLS and multipass differ by more than the margins (B8)." in which.short


def test_deliveries_that_were_not_compared_are_not_said_to_be_the_same(claims: Claims, paper: Paper) -> None:
    """The audited protocol has no deterministic control, the published one has."""
    assert "; with all votes SLS and multipass are the same, so SLS will do " in told(claims, paper)[2].short
    whole = world(claims, paper)
    published = {run for run, cell in whole.runs.items() if cell.protocol == "published" or cell.votes != "all"}
    evidence = whole.only(published)
    which = answers(judge_claims(evidence, paper), evidence)[2]
    assert "the hard deliveries are the same, so SLS will do where only probabilities exist (B8)" in which.short
    assert "B8 is of the published protocol." in which.more


def test_a_gain_that_a_temperature_buys(claims: Claims, paper: Paper) -> None:
    def bought(number: Number) -> float:
        mended = 0.04 if number.metric == "soft_nll" and number.method == "soft" and number.tempered else 0.0
        return as_claimed(number) - mended

    few, _, _, sharp, _ = told(claims, paper, bought)
    assert few.short.startswith("Train on hard labels")
    assert sharp.short.startswith("Mostly not, and one fitted temperature mends that as well: ")


def test_views_that_have_no_verdict_are_named(claims: Claims, paper: Paper) -> None:
    evidence = world(claims, paper, only="B4")
    published = [one for one in evidence.findings if evidence.runs[one.run].protocol == "published"]
    few = answers(judge_claims(Evidence(evidence.runs, findings=published), paper), evidence)[0]
    assert few.more[-1] == (
        "B4: published protocol, 10 seeds; audited protocol: not run; audited protocol, last epoch: not run."
    )


def test_a_view_that_says_the_opposite_is_told_in_short(claims: Claims, paper: Paper) -> None:
    def loses(number: Number) -> float:
        return as_claimed(number) + 0.3 * (number.metric == "soft_nll" and number.method in HARD)

    holds, not_ = world(claims, paper, only="B4"), world(claims, paper, base=loses, only="B4")
    found = [
        one
        for evidence, protocol in ((holds, "audited"), (not_, "published"))
        for one in evidence.findings
        if evidence.runs[one.run].protocol == protocol
    ]
    mixed = Evidence(holds.runs, findings=found)
    few = answers(judge_claims(mixed, paper), mixed)[0]
    assert few.short.startswith("Train on hard labels")
    assert few.short.endswith(
        "; but B4 is contradicted by the published protocol and the published protocol, last epoch."
    )


def test_a_distance_that_says_otherwise_is_told(claims: Claims, paper: Paper) -> None:
    """KL decides B2; that majority vote is nearer to people by another distance must not be hidden."""

    def nearer(number: Number) -> float:
        value = as_claimed(number)
        if number.metric == "js_distance" and not number.tempered:
            return {"majority": 0.19, "sls": 0.21, "soft": 0.22}.get(number.method, value)
        return {"majority": 0.19}.get(number.method, 0.18) if number.metric == "total_variation" else value

    every = told(claims, paper, nearer)[1]
    assert every.short.endswith(
        "Majority vote loses to both on all five metrics of B2, yet it is nearer to people by JS distance, as trained, "
        "than SLS and soft labels."
    )
