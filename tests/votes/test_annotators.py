from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from dissensus.base.errors import InputError
from dissensus.votes import Votes, by_annotator, krippendorff_alpha


@st.composite
def said(draw):
    """Rows of item, annotator, class; some annotators vote again on an item, and some items have one vote."""
    row = st.tuples(st.integers(0, 3), st.sampled_from("abcde"), st.integers(0, 3))
    rows = draw(st.lists(row, min_size=1, max_size=40))
    items, people, codes = zip(*rows, strict=True)
    return Votes.from_records(
        items=items, annotators=people, labels=codes, classes=range(4), ordered=draw(st.booleans())
    )


def rows_of(votes):
    """(item, annotator, class) of every vote."""
    items = np.repeat(votes.items, votes.votes_per_item).tolist()
    return list(zip(items, votes.annotator_names[votes.annotators].tolist(), votes.codes.tolist(), strict=True))


def without(votes, name):
    rows = [row for row in rows_of(votes) if row[1] != name]
    items, people, codes = zip(*rows, strict=True) if rows else ((), (), ())
    return Votes.from_records(items=items, annotators=people, labels=codes, classes=range(4), ordered=votes.ordered)


def by_hand(votes, name, distance):
    """Means over pairs of votes, one by one: with others, between the others, and by chance."""
    rows = rows_of(votes)
    shared = {item for item, _, _ in rows if len({who for where, who, _ in rows if where == item}) > 1}
    others = [code for item, who, code in rows if who != name and item in shared]
    mine, theirs, chance = [], [], []
    for item, who, code in rows:
        if who != name or item not in shared:
            continue
        here = [other for where, by, other in rows if where == item and by != name]
        mine.append((item, np.mean([distance(code, other) for other in here])))
        chance.append(np.mean([distance(code, other) for other in others]))
        if len(here) > 1:
            theirs.append(np.mean([distance(a, b) for i, a in enumerate(here) for j, b in enumerate(here) if i != j]))
    return mine, theirs, chance


@given(said())
def test_all_means_are_those_of_pairs_one_by_one(votes):
    found = {one.annotator: one for one in by_annotator(votes)}
    assert {name: one.votes for name, one in found.items()} == {
        name: sum(row[1] == name for row in rows_of(votes)) for name in {row[1] for row in rows_of(votes)}
    }
    for name, one in found.items():
        for told, distance, sign in (
            (one.agreement, lambda a, b: a == b, 1),
            (one.distance, lambda a, b: abs(a - b), -1),
        ):
            mine, theirs, chance = by_hand(votes, name, distance)
            if sign < 0 and not votes.ordered:
                assert told is None
                continue
            assert one.shared == len({item for item, _ in mine})
            if not mine:
                assert told is None
                continue
            assert told.mean == pytest.approx(np.mean([value for _, value in mine]))
            assert told.others == (pytest.approx(np.mean(theirs)) if theirs else None)
            assert told.by_chance == pytest.approx(np.mean(chance))
            assert told.low <= told.mean <= told.high


@given(said())
def test_alpha_without_is_that_of_votes_without(votes):
    for one in by_annotator(votes):
        left = without(votes, one.annotator)
        counts = left.counts()[left.votes_per_item > 1]
        if not len(counts) or (counts.sum(0) > 0).sum() < 2:
            assert one.alpha_without is None
            continue
        level = "ordinal" if votes.ordered else "nominal"
        expected = krippendorff.alpha(value_counts=counts, level_of_measurement=level)
        assert one.alpha_without == pytest.approx(expected, abs=1e-9)
        assert one.alpha_without == pytest.approx(krippendorff_alpha(left, level), abs=1e-9)


@given(said())
def test_the_commonest_label_is_the_first_of_those_named_most(votes):
    for one in by_annotator(votes):
        named = [code for _, who, code in rows_of(votes) if who == one.annotator]
        times = np.bincount(named, minlength=4)
        assert (one.commonest, one.commonest_share) == (times.argmax(), pytest.approx(times.max() / len(named)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30), st.booleans())
def test_beyond_chance_between_two_people_is_cohens_kappa(pairs, ordered):
    """Linear weights where classes are ordered: he, too, takes the classes that each names as they are."""
    ann, bob = zip(*pairs, strict=True)
    assume(len({*ann, *bob}) > 1)
    items = [*range(len(pairs))]
    votes = Votes.from_records(
        items=items * 2, annotators=["ann"] * len(items) + ["bob"] * len(items), labels=[*ann, *bob], classes=range(4),
        ordered=ordered,
    )  # fmt: skip
    kappa = cohen_kappa_score(ann, bob, labels=range(4), weights="linear" if ordered else None)
    for one in by_annotator(votes):
        assert one.beyond_chance == pytest.approx(kappa, abs=1e-12)


@pytest.mark.parametrize(("items", "same"), [(1, 1), (12, 12), (12, 0), (40, 13), (900, 700)])
def test_the_interval_is_wilsons_where_one_other_votes(items, same):
    labels = [0] * items + [0] * same + [1] * (items - same)
    votes = Votes.from_records(
        items=[*range(items)] * 2, annotators=["ann"] * items + ["bob"] * items, labels=labels, classes=[0, 1]
    )
    low, high = proportion_confint(same, items, method="wilson")
    for one in by_annotator(votes):
        assert one.agreement.low == pytest.approx(low, abs=1e-6)
        assert one.agreement.high == pytest.approx(high, abs=1e-6)


def test_intervals_hold_what_they_promise():
    """Of 250 honest annotators with a known agreement the interval of about 95 % covers it, with few items or many."""
    rng = np.random.default_rng(0)
    for size in (8, 30, 200):
        held = []
        for _ in range(250):
            truth = rng.integers(0, 3, size)
            said = np.where(rng.random((4, size)) < 0.7, truth, (truth + rng.integers(1, 3, (4, size))) % 3)
            votes = Votes.from_records(
                items=np.tile(np.arange(size), 4), annotators=np.arange(4).repeat(size), labels=said.ravel(),
                classes=range(3),
            )  # fmt: skip
            (one,) = (one for one in by_annotator(votes) if one.annotator == 0)
            held.append(one.agreement.low <= 0.7**2 + 2 * 0.15**2 <= one.agreement.high)
        assert 0.92 <= np.mean(held) <= 0.995, (size, np.mean(held))


def crowd(ordered, seed=0):
    """Five careful people, one who draws lots, one who always says the first class, and a newcomer with four votes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 600)
    careful = {f"careful {n}": np.clip(truth + rng.choice([-1, 0, 0, 0, 1], 600), 0, 3) for n in range(5)}
    odd = {"by lot": rng.integers(0, 4, 600), "always 0": np.zeros(600, int), "newcomer": (truth + 2) % 4}
    rows = []
    for item in range(600):
        asked = rng.choice(7, 4, replace=False)
        people = [[*careful, "by lot", "always 0"][n] for n in asked] + (["newcomer"] if item < 4 else [])
        rows += [(item, who, {**careful, **odd}[who][item]) for who in people]
    items, people, labels = zip(*rows, strict=True)
    return Votes.from_records(items=items, annotators=people, labels=[*map(int, labels)], ordered=ordered)


@pytest.mark.parametrize("ordered", [False, True])
def test_who_draws_lots_or_says_one_thing_comes_first_and_few_votes_come_later(ordered):
    votes = crowd(ordered)
    found = by_annotator(votes)
    assert {found[0].annotator, found[1].annotator} == {"by lot", "always 0"}
    for one in found[:2]:
        assert abs(one.beyond_chance) < 0.1
        assert one.alpha_without > krippendorff_alpha(votes, "ordinal" if ordered else "nominal")
    newcomer = next(place for place, one in enumerate(found) if one.annotator == "newcomer")
    assert newcomer >= 2
    assert found[newcomer].beyond_chance < min(one.beyond_chance for one in found[:2])
    assert next(one for one in found if one.annotator == "always 0").commonest_share == 1


def test_who_says_higher_classes_leans():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 4, 300)
    said = np.stack([truth, truth, truth + 1])
    votes = Votes.from_records(
        items=np.tile(np.arange(300), 3), annotators=np.repeat(["ann", "bob", "high"], 300), labels=said.ravel(),
        classes=range(5), ordered=True,
    )  # fmt: skip
    found = {one.annotator: one for one in by_annotator(votes)}
    assert (found["high"].lean, found["high"].distance.mean) == (1, 1)
    assert found["ann"].lean == found["bob"].lean == -0.5
    assert by_annotator(crowd(ordered=False))[0].lean is None


def test_who_shares_no_item_comes_last_and_is_told_so():
    votes = Votes.from_records(
        items=[1, 1, 2, 3, 3], annotators=["p", "q", "alone", "again", "again"], labels=[0, 1, 1, 0, 1]
    )
    found = by_annotator(votes)
    assert [(one.annotator, one.votes, one.shared) for one in found[2:]] == [("alone", 1, 0), ("again", 2, 0)]
    assert found[2].agreement is found[2].beyond_chance is None
    assert by_annotator(votes.take([1, 2]))[0].agreement is None


def test_large_tables_are_taken_in_parts(monkeypatch):
    votes = crowd(ordered=True)
    twice = Votes.from_records(
        items=np.repeat(votes.items, votes.votes_per_item).repeat(2), labels=votes.codes.repeat(2).astype(int),
        annotators=votes.annotator_names[votes.annotators].repeat(2), ordered=True,
    )  # fmt: skip
    whole = by_annotator(votes), by_annotator(twice)
    monkeypatch.setattr("dissensus.votes.cast.CELLS", 16)
    monkeypatch.setattr("dissensus.votes.alpha_without.CELLS", 16)
    for made, expected in zip((by_annotator(votes), by_annotator(twice)), whole, strict=True):
        for one, other in zip(made, expected, strict=True):
            assert (one.annotator, one.shared) == (other.annotator, other.shared)
            assert one.distance.mean == pytest.approx(other.distance.mean)
            assert one.alpha_without == pytest.approx(other.alpha_without)


def test_classes_that_annotators_never_name_take_no_room(monkeypatch):
    votes = crowd(ordered=False)
    expected = by_annotator(votes)
    monkeypatch.setattr("dissensus.votes.cast.CELLS", -1_000_000)  # as if there were more of them than room
    assert by_annotator(votes) == expected


def test_what_cannot_be_said_of_annotators_is_refused():
    with pytest.raises(InputError, match="the votes do not say who cast them"):
        by_annotator(Votes.from_counts([[2, 1]]))
    several = Votes.from_records(items=[1, 1], labels=[["a", "b"], ["a"]], annotators=["p", "q"])
    with pytest.raises(InputError, match="needs votes for one class each, but these may name several"):
        by_annotator(several)
    assert by_annotator(Votes.from_records(items=[1, 2], labels=["a", "b"], annotators=["p", "q"]).take([])) == []
