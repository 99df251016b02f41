import json

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import Votes, by_annotator, krippendorff_alpha
from dissensus.votes.summary import Glance, glance, summary


def test_votes_at_a_glance():
    counts = [[4, 0, 0], [2, 2, 0], [0, 0, 1], [0, 0, 0]]
    told = summary(Votes.from_counts(counts, classes=["cat", "dog", "owl"], items=["a", "b", "c", "d"]))
    assert (told.items, told.votes, told.annotators, told.items_without_votes) == (4, 9, None, 1)
    assert told.votes_per_item == (0, 2.25, 4)
    assert told.sizes == {0: 1, 1: 1, 4: 2}
    assert [told.fewer_than(number) for number in (1, 2, 4, 5)] == [0, 1, 1, 3]
    assert told.class_shares == pytest.approx({"cat": 6 / 9, "dog": 2 / 9, "owl": 1 / 9})
    assert told.unanimous == 0.5  # of the two items with two votes or more
    assert told.tied == 0.5  # of the same two
    assert told.entropy == pytest.approx(np.log(2) / 2)  # of the same two: one vote alone is no agreement
    assert told.items_with_two == 2
    assert told.agreement == pytest.approx((1 + 1 / 3) / 2)
    assert [(d.item, d.counts) for d in told.most_divided] == [("b", {"cat": 2, "dog": 2})]


def test_a_glance_is_what_a_summary_begins_with():
    counts = np.random.default_rng(0).multinomial(4, [0.5, 0.3, 0.2], size=40)
    counts[:7] = np.eye(3, dtype=int)[[0, 1, 2, 0, 1, 2, 0]]
    votes = Votes.from_counts(counts, ordered=True)
    whole, first = vars(summary(votes)), vars(glance(votes))
    assert {name: whole[name] for name in first} == first
    rows = dict(glance(votes).in_words(votes.n_classes))
    assert rows["votes"] == "139 (1 to 4 an item, 3.5 on average)"
    assert rows["unanimous items"].endswith(" of the 33 with two votes or more")
    assert list(rows)[-1] == "Krippendorff's alpha (ordinal)"


def test_a_glance_is_read_as_it_was_kept():
    told = glance(Votes.from_counts([[4, 0, 0], [2, 2, 0], [0, 0, 1]]))
    kept = json.loads(json.dumps(told.as_json, allow_nan=False))
    assert Glance.read(kept | {"notes": ["of a later release"]}) == told
    for other in ({}, {"items": 3}, kept | {"sizes": [1, 4]}, kept | {"sizes": {"few": 1}}):
        assert Glance.read(other) is None


def test_what_cannot_be_said_is_none():
    lonely = summary(Votes.from_counts([[1, 0], [0, 1]]))
    assert (lonely.unanimous, lonely.tied, lonely.entropy, lonely.agreement, lonely.alpha) == (None,) * 5
    several = summary(Votes.from_records(items=[0, 1], labels=[["a", "b"], ["a"]]))
    assert (several.multilabel, several.entropy, several.alpha, several.most_divided) == (True, None, None, [])
    assert summary(Votes.from_counts([[2, 0], [3, 0]])).alpha is None  # chance alone would agree as well


def test_agreement_beyond_chance_is_ordinal_where_the_classes_are_ordered():
    votes = Votes.from_counts([[3, 1, 0], [0, 1, 3], [2, 2, 0]], ordered=True)
    assert summary(votes).alpha == krippendorff_alpha(votes, "ordinal") != krippendorff_alpha(votes)


def test_without_any_vote_there_is_nothing_to_tell():
    with pytest.raises(InputError, match="there is not one vote on the 2 items"):
        summary(Votes.from_counts([[0, 0], [0, 0]]))


def test_more_votes_are_foretold_from_enough_items():
    assert summary(Votes.from_counts([[2, 1], [0, 3]] * 14)).nearness == []
    told = summary(Votes.from_counts([[2, 1], [0, 3]] * 15)).nearness
    assert [near.votes for near in told] == [1, 2, 3, 5, 10, 20, 50, 100]
    assert [near.kl for near in told] == sorted((near.kl for near in told), reverse=True)


def test_annotators_are_told_of_where_they_are_known_and_say_one_class():
    said = {"items": [0, 0, 1, 1], "labels": ["a", "b", "a", "a"]}
    votes = Votes.from_records(**said, annotators=[7, 8, 7, 8])
    assert summary(votes).by_annotator == by_annotator(votes)
    assert summary(Votes.from_records(**said)).by_annotator == []
    several = Votes.from_records(items=[0, 0], labels=[["a", "b"], ["a"]], annotators=[7, 8])
    assert summary(several).by_annotator == []
