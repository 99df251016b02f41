from __future__ import annotations

import numpy as np
import pytest

from dissensus import InputError, Votes
from dissensus.targets import TARGETS, shares


def test_shares_are_counts_over_their_sum():
    counts = np.random.default_rng(0).integers(1, 9, (20, 4))
    np.testing.assert_allclose(shares(Votes.from_counts(counts)), counts / counts.sum(1, keepdims=True), rtol=1e-15)


def test_an_item_without_votes_is_named():
    with pytest.raises(InputError, match="item 'b' has no votes"):
        shares(Votes.from_counts([[1, 2], [0, 0]], items=["a", "b"]))


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_gives_a_simplex(name):
    rng = np.random.default_rng(0)
    votes = Votes.from_records(
        items=np.repeat(np.arange(50), 4), labels=rng.integers(0, 3, 200), annotators=rng.integers(0, 9, 200)
    )
    target = TARGETS[name](votes)
    assert target.shape == (50, 3)
    assert target.dtype == np.float64
    assert (target >= 0).all()
    np.testing.assert_allclose(target.sum(1), 1, atol=1e-12)
