from __future__ import annotations

import numpy as np

from dissensus import MajorityVote, Votes
from dissensus.targets import majority


def test_it_delivers_the_majority(votes):
    np.testing.assert_array_equal(MajorityVote(votes, seed=3)(0), majority(votes, seed=3))


def test_of_probabilities_it_delivers_the_largest():
    p = np.random.default_rng(0).dirichlet(np.ones(6), 100)
    np.testing.assert_array_equal(MajorityVote(p)(0), p.argmax(1))


def test_ties_of_votes_and_of_probabilities_are_broken_alike():
    counts = np.random.default_rng(0).integers(0, 3, (300, 4)) + np.array([0, 0, 0, 1])
    votes = Votes.from_counts(counts)
    np.testing.assert_array_equal(MajorityVote(votes, seed=2)(0), MajorityVote(votes.frequencies(), seed=2)(0))
