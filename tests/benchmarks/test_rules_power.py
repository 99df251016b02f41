"""Imagined papers are what they are said to be, and what was counted of them is what the page says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dissensus.experiment.claims import read_claims

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def power() -> ModuleType:
    import rules_power

    return rules_power


@pytest.fixture
def told() -> dict:
    return json.loads((BENCHMARKS / "results" / "rules_power.json").read_text("utf-8"))["result"]


def test_worlds(power: ModuleType) -> None:
    sls = power.Number("soft_nll", "sls", votes=10)
    assert power.right(sls).mean == 0.5485
    assert power.nothing(sls).mean == 0.5785
    assert power.reverse(sls).mean == pytest.approx(0.6085)
    flat = power.Number("top_eigenvalue", "sls")
    assert power.reverse(flat).mean == pytest.approx(242.2**2 / 104.9)
    with_all = power.Number("accuracy", "multipass")
    assert power.reverse(with_all).mean == pytest.approx(0.8687 - 4 * 0.01)
    assert power.right(replace(with_all, votes=5)) == power.right(with_all)  # no number of its own
    assert power.right(power.Number("brier_resolution", "sls")) is None
    assert power.nothing(power.Number("best_epoch", "sls")) == power.right(power.Number("best_epoch", "soft"))


def test_numbers_have_their_mean_sd_and_correlation(power: ModuleType) -> None:
    of = {"votes": "all", "hold": 1, "slice": "all", "other": "", "tempered": False, "where": "evaluation"}
    papers = [power.Imagined(power.right, draw, 0.5) for draw in range(300)]

    def drawn(metric: str, method: str) -> np.ndarray:
        return np.concatenate([list(one.numbers(metric, method=method, **of).values()) for one in papers])

    sls, soft, brier = drawn("soft_nll", "sls"), drawn("soft_nll", "soft"), drawn("soft_brier", "sls")
    assert sls.mean() == pytest.approx(0.5052, abs=0.002)
    assert sls.std() == pytest.approx(0.0263, rel=0.05)
    assert np.corrcoef(sls, soft)[0, 1] == pytest.approx(0.5, abs=0.05)
    assert np.corrcoef(sls, brier)[0, 1] == pytest.approx(0.9, abs=0.02)
    assert np.corrcoef(sls, drawn("accuracy", "sls"))[0, 1] == pytest.approx(-0.5, abs=0.05)
    np.testing.assert_array_equal(soft, drawn("soft_nll", "soft"))


def test_claims_are_judged_by_their_own_rules(power: ModuleType) -> None:
    rules = power.deciding(read_claims("basins"))
    few = replace(rules, claims=tuple(claim for claim in rules.claims if claim.name in ("B2", "B15")))
    found = power.shares(few, power.right, 3, 0.5)
    assert found["B2"] == found["B15"] == {"supported": 1.0, "contradicted": 0.0}
    assert set(found) == {"B2", "B2, majority vote", "B2, label smoothing", "B15", "B15, debiased CKA"}


def test_every_claim_is_counted_or_left_out_with_a_reason(told: dict) -> None:
    names = {claim.name for claim in read_claims("basins").claims}
    counted = {name for name in told["worlds"]["right"] if "," not in name}
    assert counted | set(told["left_out"]) == names
    assert not counted & set(told["left_out"])


def test_no_rule_is_wrong_more_often_than_it_may_be(told: dict) -> None:
    """Three SDs of a share of 5 % above it. That all methods are alike is what B1 and B8 claim."""
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / told["papers"])
    for name, found in told["worlds"]["right"].items():
        assert found["contradicted"] <= most, name
    for name, found in told["worlds"]["nothing"].items():
        assert found["supported"] <= most or "," in name or name in ("B1", "B8"), name


def test_the_page_has_what_was_counted(power: ModuleType, told: dict) -> None:
    assert power.PAGE.read_text("utf-8") == power.for_the_page(told)
