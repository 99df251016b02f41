from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dissensus import StochasticLabelSampling, Votes


def rows(given, n_classes):
    return given if given.ndim == 2 else np.eye(n_classes)[given]


def assert_drawn_from(p, shown, epochs):
    """``shown`` of ``epochs`` draws, per item and class, are binomial with the probability ``p``."""
    assert (shown[p == 0] == 0).all()
    assert (shown[p == 1] == epochs).all()
    # the exact tail of each cell; one in 10^5 test suites would fail by chance, were the seeds not fixed
    tail = np.minimum(binom.cdf(shown, epochs, p), binom.sf(shown - 1, epochs, p))
    assert tail.min() * 2 * p.size > 1e-5


def test_labels_are_those_that_the_seed_stands_for(votes, random_bits):
    given = rows(StochasticLabelSampling(votes, seed=7)(12), votes.n_classes)
    for i, (low, high) in enumerate(zip(votes.offsets[:-1].tolist(), votes.offsets[1:].tolist(), strict=True)):
        place = (random_bits(i, 7, "sls", 12) >> 11) * (high - low) >> 53  # floor(u n) without rounding
        np.testing.assert_array_equal(given[i], votes.sets[votes.codes[low + place]])


def test_the_mean_over_epochs_goes_to_the_votes(votes):
    epochs = 800
    deliver = StochasticLabelSampling(votes, seed=0)
    shown = sum(rows(deliver(epoch), votes.n_classes) for epoch in range(epochs))
    assert_drawn_from(votes.frequencies(), shown, epochs)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10, 1000])
def test_the_mean_over_epochs_goes_to_the_probabilities(n_classes):
    epochs = 800
    p = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.3), 20)
    p[p < 1e-3] = 0
    p /= p.sum(1, keepdims=True)
    deliver = StochasticLabelSampling(p, seed=0)
    shown = sum(rows(deliver(epoch), n_classes) for epoch in range(epochs))
    assert_drawn_from(p, shown, epochs)


def test_epochs_are_independent():
    votes = Votes.from_counts([[6, 3, 1]] * 5000)
    deliver = StochasticLabelSampling(votes, seed=0)
    pairs = np.bincount(deliver(0) * 3 + deliver(1), minlength=9)
    expected = 5000 * np.outer([0.6, 0.3, 0.1], [0.6, 0.3, 0.1]).reshape(-1)
    assert chi2(8).sf(((pairs - expected) ** 2 / expected).sum()) > 1e-4


def test_neighbouring_items_are_independent():
    labels = StochasticLabelSampling(Votes.from_counts([[6, 3, 1]] * 10001), seed=0)(0)
    pairs = np.bincount(labels[0:-1:2] * 3 + labels[1::2], minlength=9)
    expected = 5000 * np.outer([0.6, 0.3, 0.1], [0.6, 0.3, 0.1]).reshape(-1)
    assert chi2(8).sf(((pairs - expected) ** 2 / expected).sum()) > 1e-4


def test_an_impossible_class_is_never_drawn():
    # zeros before, between and after; sums that float32 rounds away from 1
    p = np.zeros((3000, 7), np.float32)
    p[:, [1, 2, 5]] = np.random.default_rng(0).dirichlet(np.ones(3), 3000)
    for epoch in range(20):
        assert np.isin(StochasticLabelSampling(p)(epoch), [1, 2, 5]).all()


@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 9, 1000])
def test_the_largest_and_the_smallest_draw_stay_within_the_possible_classes(n_classes):
    """The inverse of the distribution function at its very ends, where a careless one gives class C or class 0."""
    p = np.full((4, n_classes), 1 / n_classes)
    p[1] = np.eye(n_classes)[0]
    p[2] = np.eye(n_classes)[-1]
    p[3, [0, -1]] = 0
    p[3, 1:-1] = 1 / max(n_classes - 2, 1)
    if n_classes == 2:
        p[3] = [0, 1]
    draw = StochasticLabelSampling(p)._draw
    last_possible = [np.flatnonzero(row)[-1] for row in p]
    first_possible = [np.flatnonzero(row)[0] for row in p]
    np.testing.assert_array_equal(draw(4, np.full(4, 1 - 2.0**-53)), last_possible)
    np.testing.assert_array_equal(draw(4, np.zeros(4)), first_possible)


@pytest.mark.parametrize("n_classes", [1, 2, 5, 16, 17, 1000])
def test_the_binary_search_is_numpys(n_classes):
    rng = np.random.default_rng(0)
    p, u = rng.dirichlet(np.full(n_classes, 0.2), 200), rng.random(200)
    cdf = np.cumsum(p, 1) / np.cumsum(p, 1)[:, -1:]
    ours = StochasticLabelSampling(p)._draw(200, u)
    np.testing.assert_array_equal(ours, [np.searchsorted(row, x, side="right") for row, x in zip(cdf, u, strict=True)])


def test_a_large_table_is_cut_into_blocks_without_a_seam():
    n = (1 << 14) * 2 + 37
    votes = Votes.from_counts(np.random.default_rng(0).integers(0, 3, (n, 3)) + np.array([1, 0, 0]))
    for source in (votes, votes.frequencies()):
        deliver = StochasticLabelSampling(source, seed=1)
        index = np.random.default_rng(1).permutation(n)
        np.testing.assert_array_equal(deliver(5, index), deliver(5)[index])


def test_a_batch_costs_its_own_length():
    deliver = StochasticLabelSampling(Votes.from_counts(np.ones((10**6, 2), int)))
    index = np.arange(0, 10**6, 10**4)

    def fastest(question):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            question()
            times.append(time.perf_counter() - start)
        return min(times)

    assert fastest(lambda: deliver(0, index)) < fastest(lambda: deliver(0)) / 10


def test_several_labels_a_vote_are_sets_that_were_cast():
    votes = Votes.from_records(items=[0, 0, 1], labels=[{"a", "b"}, {"c"}, {"a", "c"}])
    deliver = StochasticLabelSampling(votes, seed=0)
    seen = {tuple(deliver(epoch)[0]) for epoch in range(40)}
    assert seen == {(1, 1, 0), (0, 0, 1)}
    assert {tuple(deliver(epoch)[1]) for epoch in range(40)} == {(1, 0, 1)}
