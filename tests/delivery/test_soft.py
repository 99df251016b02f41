from __future__ import annotations

import numpy as np

from dissensus import Soft, Votes


def test_it_delivers_the_shares(votes):
    np.testing.assert_array_equal(Soft(votes)(0), votes.frequencies().astype(np.float32))


def test_it_delivers_the_probabilities_as_they_are():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    p[0] = [1 - 1e-20, 1e-20, 0, 0]
    np.testing.assert_array_equal(Soft(p)(0), p.astype(np.float32))


def test_many_cells_go_block_by_block():
    counts = np.random.default_rng(0).integers(0, 3, (2500, 1000))
    counts[:, 0] += 1
    np.testing.assert_array_equal(
        Soft(Votes.from_counts(counts))(0), (counts / counts.sum(1, keepdims=True)).astype(np.float32)
    )
