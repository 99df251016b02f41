from __future__ import annotations

import numpy as np
from scipy.stats import binom

from dissensus import ShuffledSLS, StochasticLabelSampling, Votes


def test_each_item_is_given_labels_of_one_other_item_for_good():
    votes = Votes.from_counts(np.eye(50, dtype=int) * 3)  # unanimous, each in a class of its own: labels name the item
    deliver = ShuffledSLS(votes, seed=0)
    assert sorted(deliver(0)) == list(range(50))
    np.testing.assert_array_equal(deliver(0), deliver(199))
    assert (deliver(0) != np.arange(50)).mean() > 0.8


def test_the_distributions_are_kept_and_the_match_is_broken():
    rng = np.random.default_rng(0)
    votes = Votes.from_counts(rng.multinomial(20, rng.dirichlet(np.full(3, 0.3), 400)))
    p, epochs = votes.frequencies(), 400
    deliver = ShuffledSLS(votes, seed=0)
    shown = sum(np.eye(3)[deliver(epoch)] for epoch in range(epochs))

    # marginal: the sum over items is a sum of independent draws with this mean and this variance, exactly
    off = (shown.sum(0) - epochs * p.sum(0)) / np.sqrt(epochs * (p * (1 - p)).sum(0))
    assert np.abs(off).max() < 5

    # the rows are those of other items: each is as the votes of its partner would have it ...
    partner = p[deliver._other]
    assert (np.minimum(binom.cdf(shown, epochs, partner), binom.sf(shown - 1, epochs, partner)) * 2400).min() > 1e-5
    # ... and unrelated to its own: the correlation of unrelated columns of 400 has the SD .05
    correlation = np.corrcoef(shown[:, 0] / epochs, p[:, 0])[0, 1]
    assert abs(correlation) < 0.25


def test_its_draws_are_its_own():
    votes = Votes.from_counts([[1, 1]] * 2000)
    agree = (ShuffledSLS(votes, seed=0)(0) == StochasticLabelSampling(votes, seed=0)(0)).sum()
    low, high = binom(2000, 0.5).ppf([1e-6, 1 - 1e-6])
    assert low < agree < high


def test_the_permutation_follows_the_seed():
    votes = Votes.from_counts(np.eye(50, dtype=int))
    assert (ShuffledSLS(votes, seed=0)(0) != ShuffledSLS(votes, seed=1)(0)).any()


def test_probabilities_are_permuted_too():
    assert sorted(ShuffledSLS(np.eye(9), seed=0)(0)) == list(range(9))
