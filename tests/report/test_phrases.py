"""Verdicts in words: constructed verdicts with known sentences, and nothing said that was not judged."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.report.phrases import _cover, _groups, phrase
from dissensus.stats import Interval, Verdict


def verdicts(methods: str, **outcomes: str) -> list[Verdict]:
    """Verdicts on all pairs: ``a_b="a"`` (a wins), ``"a!"`` (within the margin), ``"="`` (same); else undecided."""
    found = []
    for first, second in combinations(methods.split(), 2):
        told = outcomes.pop(f"{first}_{second}", "?")
        found.append(
            Verdict(
                first=first,
                second=second,
                difference=Interval(0.0, -1.0, 1.0),
                p_differ=0.5,
                p_same=0.5,
                winner=told.rstrip("!") if told not in "=?" else None,
                same=told == "=" or told.endswith("!"),
                margin=0.025,
            )
        )
    assert not outcomes
    return found


def test_winners_with_a_common_loser_stand_together():
    told = verdicts(
        "multipass sls soft majority",
        multipass_majority="multipass",
        sls_majority="sls",
        soft_majority="soft",
        multipass_sls="=",
        multipass_soft="=",
    )
    assert phrase(told) == (
        "multipass, sls and soft each beat majority; multipass is the same as sls and soft within 0.025; "
        "sls against soft is undecided"
    )


def test_winners_that_are_all_the_same_need_one_clause():
    told = verdicts("soft sls majority", soft_majority="soft", sls_majority="sls", soft_sls="=")
    assert phrase(told) == "soft and sls both beat majority and are the same within 0.025"


def test_a_ranking_is_told_as_one():
    told = verdicts(
        "soft sls mixup majority",
        soft_sls="soft",
        soft_mixup="soft",
        soft_majority="soft",
        sls_majority="sls",
        mixup_majority="mixup",
        sls_mixup="=",
    )
    assert phrase(told) == "soft is best, then sls and mixup, then majority; sls and mixup are the same within 0.025"


def test_a_ranking_tells_which_leads_do_not_matter():
    told = verdicts("a b c", a_b="a!", a_c="a", b_c="b!")
    assert phrase(told) == "a is best, then b, then c; the leads of a over b and of b over c are less than 0.025"


def test_soft_labels_may_lose():
    assert phrase(verdicts("soft majority", soft_majority="majority")) == "majority beats soft"


def test_a_win_that_does_not_matter_is_told_with_its_size():
    assert phrase(verdicts("soft sls", soft_sls="sls!")) == "sls beats soft by less than 0.025"


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ("soft sls", "soft against sls is undecided"),
        ("soft sls majority", "nothing is decided between soft, sls and majority"),
    ],
)
def test_nothing_decided_is_said(methods, said):
    assert phrase(verdicts(methods)) == said


def test_wins_that_form_no_ranking_are_told_one_by_one():
    told = verdicts("a b c d", a_b="a", c_d="c", a_c="=", b_d="=", a_d="=", b_c="=")
    assert phrase(told) == (
        "a beats b; c beats d; a is the same as c and d within 0.025; b is the same as c and d within 0.025"
    )


def test_many_losers_are_counted():
    methods = "best b c d e"
    told = verdicts(
        methods, **{f"best_{m}": "best" for m in "bcde"}, **{f"{x}_{y}": "=" for x, y in combinations("bcde", 2)}
    )
    assert phrase(told) == "best beats the other 4 methods; b, c, d and e are the same within 0.025"


def test_many_scattered_undecided_pairs_are_counted():
    told = verdicts(
        "a b c d e f", **{f"{x}_{y}": "=" for x, y in ["ac", "ad", "ae", "bd", "be", "bf", "ce", "cf", "df"]}
    )
    assert phrase(told).endswith("; the other 6 pairs are undecided")


def test_no_verdicts():
    assert phrase([]) == "there is nothing to compare"


NAMES = tuple("abcdef")
PAIRS = list(combinations(NAMES, 2))


@given(st.sets(st.sampled_from(PAIRS)))
def test_clauses_tell_all_pairs_and_no_other(pairs):
    wanted = {frozenset(pair) for pair in pairs}
    shapes = _cover(NAMES, wanted)
    assert {pair for shape in shapes for pair in shape.pairs} == wanted


@given(st.sets(st.sampled_from(PAIRS)), st.sets(st.sampled_from(PAIRS)))
def test_groups_tell_all_wins_and_no_other(pairs, turned):
    wins = {(b, a) if (a, b) in turned else (a, b) for a, b in pairs}
    told = {(winner, loser) for g in _groups(NAMES, wins) for winner in g.winners for loser in g.losers}
    assert told == wins
