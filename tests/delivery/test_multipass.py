from __future__ import annotations

from math import lcm

import numpy as np
import pytest
from scipy.stats import chi2

from dissensus import Multipass, Votes


def cycle(deliver, n_classes, start, length):
    given = [deliver(epoch) for epoch in range(start, start + length)]
    return sum(labels if labels.ndim == 2 else np.eye(n_classes, dtype=int)[labels] for labels in given)


def test_labels_are_those_that_the_seed_stands_for(votes, random_bits):
    deliver = Multipass(votes, seed=7)
    for i, (low, high) in enumerate(zip(votes.offsets[:-1].tolist(), votes.offsets[1:].tolist(), strict=True)):
        order = sorted(range(low, high), key=lambda vote: random_bits(vote, 7, "multipass"))
        given = deliver(12, [i])[0]
        expected = votes.codes[order[12 % (high - low)]]
        np.testing.assert_array_equal(given, votes.sets[expected] if votes.multilabel else expected)


@pytest.mark.parametrize("start", [0, 13])
def test_every_vote_is_shown_exactly_once_a_cycle(votes, start):
    deliver, counts = Multipass(votes, seed=0), votes.counts()
    for size in np.unique(votes.votes_per_item):
        those = votes.votes_per_item == size
        np.testing.assert_array_equal(cycle(deliver, votes.n_classes, start, size)[those], counts[those])


def test_a_common_cycle_shows_the_shares_exactly():
    votes = Votes.from_counts([[2, 1, 0], [1, 0, 0], [1, 3, 1], [0, 1, 1]])
    length = lcm(*votes.votes_per_item.tolist())
    shown = cycle(Multipass(votes, seed=4), 3, 0, length)
    np.testing.assert_allclose(shown / length, votes.frequencies(), rtol=1e-15)


def test_it_comes_round_again(votes):
    deliver = Multipass(votes, seed=0)
    for size in np.unique(votes.votes_per_item):
        those = np.flatnonzero(votes.votes_per_item == size)
        np.testing.assert_array_equal(deliver(3, those), deliver(3 + 7 * int(size), those))


def test_every_order_of_the_votes_has_the_same_chance():
    votes = Votes.from_counts([[1, 1, 1]] * 6000)
    deliver = Multipass(votes, seed=0)
    orders = np.bincount(deliver(0) * 9 + deliver(1) * 3 + deliver(2), minlength=27)
    assert np.count_nonzero(orders) == 6
    seen = orders[orders > 0]
    assert chi2(5).sf(((seen - 1000) ** 2 / 1000).sum()) > 1e-4


def test_the_shuffle_has_no_seam_between_blocks():
    n = (1 << 14) + 100
    votes = Votes.from_counts(np.random.default_rng(0).integers(0, 2, (n, 3)) + np.array([1, 0, 0]))
    deliver = Multipass(votes, seed=0)
    threes = votes.votes_per_item == 3
    np.testing.assert_array_equal(cycle(deliver, 3, 0, 3)[threes], votes.counts()[threes])


def test_the_order_does_not_come_again_in_the_next_block():
    size = 1 << 14
    labels = Multipass(Votes.from_counts([[1, 1]] * (2 * size)), seed=0)(0)
    assert np.mean(labels[:size] == labels[size:]) == pytest.approx(0.5, abs=0.02)


def test_an_item_may_have_very_many_votes():
    votes = Votes.from_counts([[70_000, 30_000], [1, 0]])
    deliver = Multipass(votes, seed=0)
    shown = [int(deliver(epoch, [0])[0]) for epoch in range(0, 100_000, 100)]
    assert 200 < sum(shown) < 400  # shuffled, not class after class
    assert deliver(99_999)[1] == 0


def test_held_votes_take_their_turns():
    votes = Votes.from_counts([[2, 2]])
    held = Multipass(votes, seed=0, hold=3)
    shown = [int(held(epoch)[0]) for epoch in range(12)]
    assert shown == [label for label in shown[::3] for _ in range(3)]
    assert sum(shown) == 6
