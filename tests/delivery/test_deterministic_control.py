from __future__ import annotations

import numpy as np

from dissensus import DeterministicControl, Multipass, Votes


def test_it_is_multipass_with_its_seed_moved_by_a_thousand(votes):
    control, multipass = DeterministicControl(votes, seed=3), Multipass(votes, seed=1003)
    for epoch in (0, 1, 17):
        np.testing.assert_array_equal(control(epoch), multipass(epoch))


def test_it_shows_the_same_votes_in_another_order():
    votes = Votes.from_counts([[5, 4, 3]] * 50)
    shown = {
        make: np.stack([make(votes, seed=0)(epoch) for epoch in range(12)])
        for make in (Multipass, DeterministicControl)
    }
    assert (shown[Multipass] != shown[DeterministicControl]).any(0).all()
    np.testing.assert_array_equal(np.sort(shown[Multipass], 0), np.sort(shown[DeterministicControl], 0))
