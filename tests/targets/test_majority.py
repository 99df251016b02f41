from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dissensus import InputError, Votes
from dissensus.targets import majority
from dissensus.targets.majority import largest

ALL: Any = range(10**9)  # so many classes that nobody could hold a row of each


def test_the_class_with_most_votes_wins():
    counts = np.random.default_rng(0).permuted(np.tile(np.arange(6), (500, 1)), axis=1)
    np.testing.assert_array_equal(majority(Votes.from_counts(counts)), counts.argmax(1))


def test_tied_classes_have_the_same_chance_and_others_none():
    labels = majority(Votes.from_counts([[2, 0, 2, 1, 2]] * 3000), seed=0)
    counts = np.bincount(labels, minlength=5)
    assert counts[[1, 3]].sum() == 0
    low, high = binom(3000, 1 / 3).ppf([1e-6, 1 - 1e-6])
    assert ((counts[[0, 2, 4]] >= low) & (counts[[0, 2, 4]] <= high)).all()


def test_a_tie_is_broken_by_the_seed_and_the_position_of_the_item_alone():
    tied = majority(Votes.from_counts([[1, 1]] * 100), seed=3)
    mixed = majority(Votes.from_counts([[1, 1], [5, 0]] * 50), seed=3)
    np.testing.assert_array_equal(mixed[::2], tied[::2])
    assert (tied != majority(Votes.from_counts([[1, 1]] * 100), seed=4)).any()


def test_many_items_go_block_by_block_to_the_same_labels():
    counts = np.random.default_rng(0).integers(0, 3, (20_000, 8))  # two blocks, many tied
    counts[:, 0] += 1
    by_the_rows = largest(counts, 1, np.arange(len(counts)))
    np.testing.assert_array_equal(majority(Votes.from_counts(counts), seed=1), by_the_rows)


def test_many_classes_cost_no_more_than_their_votes():
    codes = np.random.default_rng(0).integers(0, 10**9, (50_000, 5)).astype(np.uint32)
    votes = Votes(codes=codes.ravel(), offsets=np.arange(0, codes.size + 1, 5), items=np.arange(50_000), classes=ALL)
    labels = majority(votes)  # in rows of counts these would be 400 TB
    assert (labels[:, None] == codes).any(1).all()


def test_several_labels_a_vote_need_more_than_half():
    labels = [{"a"}, {"a", "b"}, {"a", "c"}, {"c"}, {"b"}, {"c", "a"}]
    votes = Votes.from_records(items=[0, 0, 0, 1, 1, 1], labels=labels)
    np.testing.assert_array_equal(majority(votes), [[1, 0, 0], [0, 0, 1]])


def test_half_of_several_labels_is_a_coin_for_each_item_and_class():
    items = np.repeat(np.arange(2000), 2)
    votes = Votes.from_records(items=items, labels=[{"a", "b"}, {"c"}] * 2000)
    heads = majority(votes, seed=0)
    low, high = binom(2000, 0.5).ppf([1e-6, 1 - 1e-6])
    assert ((heads.sum(0) > low) & (heads.sum(0) < high)).all()
    assert len(np.unique(heads, axis=0)) == 8


def test_coins_of_several_labels_do_not_come_again_in_the_next_block(monkeypatch):
    votes = Votes.from_records(items=np.repeat(np.arange(500), 2), labels=[{"a", "b"}, {"c"}] * 500)
    whole = majority(votes, seed=0)
    monkeypatch.setattr("dissensus.targets.counting._CELLS", 300)
    np.testing.assert_array_equal(majority(votes, seed=0), whole)


def test_an_item_without_votes_is_named():
    with pytest.raises(InputError, match="item 1 has no votes"):
        majority(Votes.from_counts([[1, 2], [0, 0]]))
