from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dissensus.datasets import Dataset
from dissensus.experiment.parts import aim_of, given_votes, parts, reference_labels, sparse_targets, strata
from dissensus.votes import Votes


@pytest.mark.parametrize("select", [0.0, 0.1, 0.4])
def test_every_item_is_in_exactly_one_part(data, select):
    split = parts(data, 0.2, select, seed=3)
    together = np.concatenate([split.train, split.select, split.evaluation])
    np.testing.assert_array_equal(np.sort(together), np.arange(60))
    assert len(split.evaluation) == 12
    assert len(split.select) == round(48 * select)


def test_what_is_set_aside_does_not_move_the_evaluation_items(data):
    np.testing.assert_array_equal(parts(data, 0.2, 0, seed=3).evaluation, parts(data, 0.2, 0.1, seed=3).evaluation)


def test_seeds_split_differently_and_the_same_seed_alike(data):
    one, again, other = (parts(data, 0.2, 0.1, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.select, again.select)
    assert set(one.evaluation) != set(other.evaluation)
    assert set(one.select) != set(other.select)


def test_parts_keep_the_shares_of_the_classes(data):
    split = parts(data, 0.25, 0, seed=0)
    whole, part = (np.bincount(strata(data)[at], minlength=3) for at in (slice(None), split.evaluation))
    assert (np.abs(part - whole / 4) < 1).all()


@pytest.mark.parametrize("draw", ["subsample", "resample"])
def test_so_many_votes_are_given_and_only_of_items_that_are_not_evaluated(data, draw):
    split = parts(data, 0.2, 0.1, seed=0)
    before = data.votes.digest()
    train, select = given_votes(data.votes, split, 3, draw, seed=0)
    assert set(train.votes_per_item) == set(select.votes_per_item) == {3}
    np.testing.assert_array_equal(train.items, data.votes.items[split.train])
    np.testing.assert_array_equal(select.items, data.votes.items[split.select])
    assert data.votes.digest() == before


def test_subsamples_are_nested_real_votes(data):
    split = parts(data, 0.2, 0.1, seed=0)
    three, five, every = (given_votes(data.votes, split, k, "subsample", seed=0)[0].counts() for k in (3, 5, "all"))
    assert (three <= five).all()
    assert (five <= every).all()
    np.testing.assert_array_equal(every, data.votes.take(split.train).counts())


def test_resampled_votes_are_drawn_with_replacement(data):
    split = parts(data, 0.2, 0.1, seed=0)
    drawn, every = (given_votes(data.votes, split, k, "resample", seed=0)[0].counts() for k in (5, "all"))
    assert ((drawn > 0) <= (every > 0)).all()
    assert (drawn > every).any()  # a vote that was cast once is shown more often


def test_ties_go_to_the_label_of_the_data_set():
    votes = Votes.from_counts([[2, 2, 0], [2, 2, 0], [0, 1, 3], [1, 1, 0]])
    data = Dataset("ties", np.zeros((4, 1), np.float32), votes, labels=np.array([1, 0, 0, 2]))
    assert reference_labels(data).tolist() == [1, 0, 2, 0]
    assert strata(data).tolist() == [1, 0, 0, 2]
    bare = Dataset("ties", np.zeros((4, 1), np.float32), votes)
    assert reference_labels(bare).tolist() == strata(bare).tolist() == [0, 0, 2, 0]


def test_no_group_is_parted_and_a_group_each_is_none_at_all(data):
    groups = np.arange(60) // 3
    grouped = replace(data, groups=groups)
    split = parts(grouped, 0.2, 0.25, seed=3)
    sides = [set(groups[part]) for part in (split.train, split.select, split.evaluation)]
    assert sum(map(len, sides)) == len(set(groups))
    assert all(sides)
    one, each = parts(data, 0.2, 0.25, seed=3), parts(replace(data, groups=np.arange(60)), 0.2, 0.25, seed=3)
    for part in ("train", "select", "evaluation"):
        np.testing.assert_array_equal(getattr(one, part), getattr(each, part))


def test_sparse_targets_are_of_the_items_that_have_so_many_votes():
    counts = np.array([[4, 1], [1, 0], [0, 5]])
    enough, sparse, full = sparse_targets(counts, 3, "subsample", seed=0)
    assert enough.tolist() == [0, 2]
    np.testing.assert_allclose(full, [[0.8, 0.2], [0, 1]])
    assert sparse[0, 1] in (0, pytest.approx(1 / 3))
    assert sparse[1].tolist() == [0, 1]


def test_draws_with_replacement_need_one_vote():
    """As published: the 883 images of CIFAR-10H that have fewer than 50 votes are among the items at K = 50, too."""
    counts = np.array([[4, 1], [1, 0], [0, 0], [0, 5]])
    enough, sparse, full = sparse_targets(counts, 50, "resample", seed=0)
    assert enough.tolist() == [0, 1, 3]
    np.testing.assert_allclose(full, [[0.8, 0.2], [1, 0], [0, 1]])
    np.testing.assert_allclose(sparse * 50, (sparse * 50).round())


def test_shares_are_delivered_as_votes():
    votes = Votes.from_counts([[4, 1], [0, 5]])
    assert aim_of(votes, "shares") is votes
    assert aim_of(votes, "smoothed").shape == (2, 2)
