from __future__ import annotations

import numpy as np
import pytest

from dissensus import Soft, Votes


def test_it_delivers_the_shares(votes):
    np.testing.assert_array_equal(Soft(votes)(0), votes.frequencies().astype(np.float32))


def test_it_delivers_the_probabilities_as_they_are():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    p[0] = [1 - 1e-20, 1e-20, 0, 0]
    np.testing.assert_array_equal(Soft(p)(0), p.astype(np.float32))


@pytest.mark.parametrize(("n_items", "n_classes"), [(2500, 1000), (20_000, 4)])  # the second in two blocks
def test_it_divides_the_counts_by_their_sum_to_the_last_bit(n_items, n_classes):
    counts = np.random.default_rng(0).integers(0, 3, (n_items, n_classes))
    counts[:, 0] += 1
    np.testing.assert_array_equal(
        Soft(Votes.from_counts(counts))(0), (counts / counts.sum(1, keepdims=True)).astype(np.float32)
    )


def test_probabilities_of_low_precision_are_given_as_rows_that_sum_to_one():
    rough = np.random.default_rng(0).dirichlet(np.ones(100), 50).astype(np.float16)
    assert np.abs(rough.astype(np.float64).sum(1) - 1).max() > 1e-5
    given = Soft(rough)(0).astype(np.float64)
    np.testing.assert_allclose(given.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(given, rough.astype(np.float64), rtol=1e-3)
