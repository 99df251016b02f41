from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import dirichlet

from dissensus import InputError, Votes
from dissensus.targets import smoothed

COUNTS = np.array([[3, 1, 0], [0, 0, 5], [1, 1, 1]])


def test_it_is_the_mean_of_the_dirichlet_posterior():
    prior = COUNTS.sum(0) / COUNTS.sum()
    ours = smoothed(Votes.from_counts(COUNTS), strength=2.5)
    for row, counts in zip(ours, COUNTS, strict=True):
        np.testing.assert_allclose(row, dirichlet(counts + 2.5 * prior).mean(), rtol=1e-14)


def test_a_uniform_prior_can_be_given():
    ours = smoothed(Votes.from_counts(COUNTS), strength=3.0, prior=np.full(3, 1 / 3))
    np.testing.assert_allclose(ours, (COUNTS + 1) / (COUNTS.sum(1, keepdims=True) + 3))


def test_no_strength_is_shares_and_endless_strength_is_the_prior():
    votes = Votes.from_counts(COUNTS)
    np.testing.assert_array_equal(smoothed(votes, strength=0), votes.frequencies())
    np.testing.assert_allclose(
        smoothed(votes, strength=1e12), np.tile(COUNTS.sum(0) / COUNTS.sum(), (3, 1)), atol=1e-11
    )


def test_an_item_without_votes_gets_the_prior():
    votes = Votes.from_counts([[3, 1], [0, 0]])
    np.testing.assert_allclose(smoothed(votes)[1], [0.75, 0.25])
    with pytest.raises(InputError, match="item 1 has no votes"):
        smoothed(votes, strength=0)


def test_several_labels_a_vote_have_a_beta_prior_each():
    votes = Votes.from_records(items=[0, 0, 1], labels=[{"a", "b"}, {"a"}, {"b"}])
    prior = np.array([2 / 3, 2 / 3])
    np.testing.assert_allclose(smoothed(votes), [(np.array([2, 1]) + prior) / 3, (np.array([0, 1]) + prior) / 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1}, "strength must be a number of votes, 0 or more, but it is -1"),
        ({"strength": float("nan")}, "strength must be"),
        ({"prior": [0.5, 0.5]}, r"one probability for each of 3 classes; its shape is \(2,\)"),
        ({"prior": [0.5, 0.5, 0.5]}, "prior must sum to 1, but it sums to 1.5"),
        ({"prior": [-1, 1, 1]}, "between 0 and 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        smoothed(Votes.from_counts(COUNTS), **options)


def test_no_votes_at_all_have_no_common_class():
    with pytest.raises(InputError, match="pass prior="):
        smoothed(Votes.from_counts([[0, 0]]))
