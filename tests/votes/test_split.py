from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.base.errors import InputError
from dissensus.votes import Votes
from dissensus.votes.split import group_numbers


def labelled(label):
    return Votes.from_counts(np.eye(label.max() + 1, dtype=int)[label])


def test_groups_are_numbered_as_they_come():
    assert group_numbers(np.array([30, 10, 30, 20])).tolist() == [0, 1, 0, 2]
    with pytest.raises(InputError, match="groups must be all whole numbers or all text"):
        group_numbers(["a", 3])


@given(st.integers(10, 120), st.integers(1, 4), st.integers(2, 3), st.integers(0, 5))
def test_no_group_is_in_both_parts(n_items, size, n_classes, seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_items // size + 2, n_items)
    votes = labelled(np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_items - n_classes)])
    train, test = votes.split(0.4, seed=seed, groups=groups)
    assert sorted([*train, *test]) == list(range(n_items))
    assert not set(groups[train]) & set(groups[test])


@given(st.integers(3, 200), st.floats(0.05, 0.95), st.integers(1, 5), st.integers(0, 5))
def test_groups_of_one_item_each_are_split_as_items_are(n_items, share, n_classes, seed):
    if not 0 < np.floor(share * n_items + 0.5) < n_items:
        return
    votes, by = labelled(np.arange(n_items) % 2), np.arange(n_items) % n_classes
    for mine, yours in zip(
        votes.split(share, seed=seed, by=by),
        votes.split(share, seed=seed, by=by, groups=np.arange(n_items) + 5),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, yours)


def test_classes_keep_their_shares_as_well_as_whole_groups_allow():
    rng = np.random.default_rng(0)
    label = rng.choice(3, 1500, p=[0.6, 0.3, 0.1])
    groups = rng.integers(0, 1000, 1500)
    for seed in range(10):
        _, test = labelled(label).split(0.2, seed=seed, groups=groups)
        assert np.abs(np.bincount(label[test]) - 0.2 * np.bincount(label)).max() <= 2
        assert abs(len(test) - 300) <= 3


def test_large_groups_are_as_likely_to_be_tested_as_small_ones():
    groups = np.r_[np.arange(100), np.repeat(np.arange(100, 150), 4)]  # as many items in large groups, and twice
    votes = labelled(np.arange(300) % 2)
    tested = [votes.split(0.3, seed=seed, groups=groups)[1] for seed in range(40)]
    assert abs(np.mean([(test >= 100).mean() for test in tested]) - 200 / 300) < 0.03


def test_a_seed_is_a_split():
    votes, groups = labelled(np.arange(90) % 3), np.arange(90) // 2
    one, again, other = (votes.split(0.3, seed=seed, groups=groups)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert set(one) != set(other)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["p"] * 10, "the 1 groups of these 10 items cannot be split .* the largest holds 10 items"),
        (["p"] * 5 + ["q"] * 5, "the 2 groups of these 10 items cannot be split"),
        (["p"] * 9, "one for each of 10 items, but there are 9"),
    ],
)
def test_groups_that_cannot_be_split(groups, message):
    with pytest.raises(InputError, match=message):
        labelled(np.arange(10) % 2).split(0.2, groups=groups)
