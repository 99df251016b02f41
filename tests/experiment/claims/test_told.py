"""The claims against the paper's own numbers: signs and differences that they rest on, found by address."""

from __future__ import annotations

import re
from importlib.resources import files
from math import log

import pytest

from dissensus.experiment.claims import Claims, Part
from dissensus.experiment.claims.quantities import Difference, Number, Quantity, quantities
from dissensus.experiment.claims.told import published, published_value
from dissensus.experiment.papers import Paper

DIRECTED = ("better", "lower", "higher", "every")


def told(claims: Claims, paper: Paper, claim: str, number: int) -> dict[str, float]:
    """What the paper has for each cell of a part, with the sign of the claim."""
    part = claims[claim].parts[number]
    found = {
        cell.label: published_value(cell, part, paper, claims[claim].places, claims.outside)
        for cell in quantities(part)
    }
    return {label: value for label, value in found.items() if value is not None}


def parts(claims: Claims) -> list[tuple[str, int, Part]]:
    return [(claim.name, number, part) for claim in claims.claims for number, part in enumerate(claim.parts)]


def test_every_claim_names_its_places(claims: Claims, paper: Paper) -> None:
    named = {place for claim in claims.claims for place in claim.places}
    assert named == set(paper.places)  # and no table or figure is left without a claim
    assert [claim.name for claim in claims.claims] == [*(f"B{number}" for number in range(1, 23)), "A1"]
    assert [claim.name for claim in claims.claims if claim.ours] == ["A1"]


def test_published_numbers_are_not_copied(paper: Paper) -> None:
    """No number of the file is one that the paper published; what is not a mean of theirs may look like none."""
    text = (files("dissensus.experiment.papers") / "basins_claims.toml").read_text("utf-8")
    numbers = {float(found) for found in re.findall(r"(?<![\w.])\d*\.\d{3,}", text)}
    means = {number.mean for number in paper.published.numbers.values()}
    assert not numbers & means


def test_all_twelve_cells_of_table_1_are_below_soft_labels(claims: Claims, paper: Paper) -> None:
    gains = told(claims, paper, "B4", 0)
    assert len(gains) == 12
    assert all(value > 0 for value in gains.values())
    assert gains["5 votes, sls"] == pytest.approx(0.5860 - 0.5599)


def test_table_1_does_not_fit_the_claim_that_few_votes_gain_most(claims: Claims, paper: Paper) -> None:
    sls = {votes: told(claims, paper, "B4", 0)[f"{votes} votes, sls"] for votes in (5, 10, 25, 50)}
    assert max(sls, key=sls.__getitem__) == 50
    (all_three,) = told(claims, paper, "B5", 0).values()
    assert all_three < 0
    by_hand = [
        sum(told(claims, paper, "B4", 0)[f"{votes} votes, {method}"] for votes in group) / 2
        for group in ((5, 10), (25, 50))
        for method in ("sls", "multipass", "deterministic-control")
    ]
    assert all_three == pytest.approx((sum(by_hand[:3]) - sum(by_hand[3:])) / 3)


def test_parity_is_published_within_the_margins(claims: Claims, paper: Paper) -> None:
    part = claims["B1"].parts[0]
    differences = told(claims, paper, "B1", 0)
    assert list(differences) == ["soft NLL", "accuracy", "EntCorr", "KL", "soft Brier"]
    for value, metric in zip(differences.values(), part.axes["metric"], strict=True):
        assert abs(value) < part.margins[metric]


def test_every_other_published_sign_is_as_claimed(claims: Claims, paper: Paper) -> None:
    """Where a direction is claimed and both numbers are published; B18 allows one score of six to fail."""
    looked_at = 0
    for claim, number, part in parts(claims):
        if part.kind not in DIRECTED or claim == "B5":
            continue
        values = told(claims, paper, claim, number)
        least = part.by if part.by is not None else 1.0 if part.ratio else 0.0
        as_claimed = sum(value > least for value in values.values())
        need = len(values) if part.need is None or not values else part.need
        if (claim, part.weight) == ("B1", "beside"):
            continue  # ECE of SLS and soft labels: nothing is claimed
        assert as_claimed >= need, (claim, part.name, values)
        looked_at += len(values)
    assert looked_at > 80


def test_deterministic_control_is_published_highest_on_five_scores(claims: Claims, paper: Paper) -> None:
    values = told(claims, paper, "B18", 1)
    scores = dict.fromkeys(label.split(",")[0] for label in values)
    ahead = [score for score in scores if all(v > 0 for label, v in values.items() if label.startswith(f"{score},"))]
    assert ahead == ["energy", "MSP", "ODIN", "entropy", "logit margin"]


def test_the_family_is_published_within_margins_and_in_one_regime(claims: Claims, paper: Paper) -> None:
    part = claims["B8"].parts[0]
    for cell in quantities(part):
        value = published_value(cell, part, paper, claims["B8"].places, claims.outside)
        assert value is not None
        assert abs(value) < part.margins[cell.metric]
    regime = told(claims, paper, "B10", 1)
    assert len(regime) == 12
    assert all(1 / 1.25 < ratio < 1.25 for ratio in regime.values())


def test_the_regime_is_about_a_quarter_of_the_way_to_soft_labels(claims: Claims, paper: Paper) -> None:
    for label, ratio in told(claims, paper, "B10", 0).items():
        if label.endswith("sls"):
            assert 0.19 < log(1.25) / log(ratio) < 0.28


def test_shuffled_sls_is_published_at_chance_within_the_margins(claims: Claims, paper: Paper) -> None:
    for number, metric in enumerate(("soft_nll", "accuracy", "entropy_correlation")):
        part = claims["B9"].parts[number]
        (value,) = told(claims, paper, "B9", number).values()
        assert abs(value) < part.margins[metric]


def test_of_several_rows_that_of_most_seeds_is_taken_which_both_sides_have(claims: Claims, paper: Paper) -> None:
    """SLS stands in table 2 with ten seeds and in table 3 with five; multipass stands in table 3 alone."""
    sls, multipass = (Number("soft_nll", method) for method in ("sls", "multipass"))

    def value(of: Difference) -> float | None:
        cell = Quantity("", "soft_nll", (of,))
        return published_value(cell, claims["B8"].parts[0], paper, ["table2", "table3"], claims.outside)

    assert value(Difference(sls, None)) == pytest.approx(0.5052)
    assert value(Difference(sls, multipass)) == pytest.approx(0.5035 - 0.4942)


def test_what_is_told_in_the_text_is_found(claims: Claims, paper: Paper) -> None:
    def shown(claim: str, number: int) -> list[str]:
        part = claims[claim].parts[number]
        return [published(cell, part, paper, claims[claim].places, claims.outside) for cell in quantities(part)]

    assert shown("B6", 0) == ["0.05 to 0.16", "", "", ""]  # JS distance on all items, and no other
    assert shown("B17", 0) == ["35.7"]
    assert shown("B17", 1) == ["47.2"]
    assert shown("B14", 3) == ["2.05"]
    assert shown("B12", 0)[0] == "0.939"
    assert shown("B16", 0) == ["0.097", "0.105"]
    assert shown("B7", 3) == ["0.0431", "0.1027", "0.1662"]
