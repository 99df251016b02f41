from __future__ import annotations

import pytest

from dissensus.experiment.claims import Claims, read_claims, rules

CLAIMS = [claim.name for claim in read_claims("basins").claims]


@pytest.mark.parametrize("name", CLAIMS)
def test_every_rule_says_when_a_claim_is_supported_and_contradicted(claims: Claims, name: str) -> None:
    told = rules(claims[name])
    why, changed = claims[name].why, claims[name].changed
    said = [f"Why so: {why}"] * bool(why) + [f"Changed later: {changed}"] * bool(changed)
    assert told[len(claims[name].parts) :] == said
    for part, rule in zip(claims[name].parts, told, strict=False):
        assert rule.endswith(".")
        assert ("supported if" in rule.lower() and "contradicted if" in rule) or part.kind == "follows"
        assert rule.startswith({"decides": "", "needed": "Needed", "beside": "Beside"}[part.weight])


def test_rules_that_were_changed_when_results_had_been_seen_say_so() -> None:
    changed = {paper: [c.name for c in read_claims(paper).claims if c.changed] for paper in ("basins", "soft-labels")}
    assert changed == {"basins": ["B7"], "soft-labels": ["S4"]}


def test_tests_margins_and_families_are_named(claims: Claims) -> None:
    test = "Exact one-sided Wilcoxon test over at least 10 paired seeds, their mean on the same side"
    assert f"{test}, Holm over 12 cells, 5 %" in rules(claims["B4"])[0]
    assert "0.025 for soft NLL, 0.01 for accuracy, 0.02 for EntCorr" in rules(claims["B1"])[0]
    assert "within a factor of 1.25" in rules(claims["B10"])[1]
    assert "at least 5 of 6 show it, contradicted if more than 1 shows the opposite" in rules(claims["B18"])[0]
    assert "jackknife" in rules(claims["B15"])[0]
    assert "The verdict of B4." in rules(claims["B22"])[-3]
    assert "ahead on more than 1 (exact one-sided Wilcoxon test, Holm over 18 cells, 5 %)" in rules(claims["B18"])[1]
    assert "Holm" not in rules(claims["B7"])[0]
