"""What few votes foretell of many, against draws whose truth is known and the distributions of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.base.errors import InputError
from dissensus.votes import Votes
from dissensus.votes.nearness import Spread, nearness

SHARES = np.array([0.2, 0.3, 0.5])


def cast(strength: float, items: int, votes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What everybody says of items, and counts of so many votes on each."""
    random = np.random.default_rng(seed)
    people = random.dirichlet(strength * SHARES, items)
    return people, random.multinomial(votes, people)


@pytest.mark.parametrize("strength", [0.1, 1.0, 8.0])
def test_two_votes_an_item_tell_how_far_items_differ(strength: float) -> None:
    found = Spread.of(Votes.from_counts(cast(strength, 20_000, 2)[1]))
    assert found.strength == pytest.approx(strength, rel=0.15)
    assert found.shares == pytest.approx(SHARES, abs=0.02)


def test_the_interval_holds_the_truth_nineteen_times_of_twenty() -> None:
    found = [Spread.of(Votes.from_counts(cast(1.0, 200, 4, seed)[1])).likely or (0.0, 0.0) for seed in range(200)]
    assert 180 <= sum(low < 1.0 < high for low, high in found) <= 198


def test_no_other_strength_makes_the_votes_more_likely() -> None:
    counts = np.concatenate([cast(1.5, 60, 3)[1], cast(1.5, 60, 7, seed=1)[1]])
    found = Spread.of(Votes.from_counts(counts))

    def likelihood(strength: float) -> float:
        return float(stats.dirichlet_multinomial.logpmf(counts, strength * found.shares, counts.sum(1)).sum())

    best = likelihood(found.strength)
    assert all(likelihood(found.strength * factor) < best for factor in (0.95, 1.05))
    assert found.likely is not None
    for end in found.likely:
        assert 2 * (best - likelihood(end)) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-2)


@pytest.mark.parametrize("strength", [0.2, 2.0, 30.0])
@pytest.mark.parametrize("votes", [1, 2, 6, 40])
def test_the_distance_is_the_mean_of_draws(strength: float, votes: int) -> None:
    people, counts = cast(strength, 60_000, votes)
    told = (counts + strength * SHARES) / (votes + strength)
    drawn = (people * (np.log(np.maximum(people, 1e-300)) - np.log(told))).sum(1)
    assert Spread(SHARES, strength).distance(votes) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 60_000**0.5)
    same = (counts + np.random.default_rng(1).random(counts.shape)).argmax(1) == people.argmax(1)
    assert Spread(SHARES, strength).same_majority(votes) == pytest.approx(same.mean(), abs=0.02)


def test_more_votes_are_never_farther() -> None:
    spread = Spread(SHARES, 1.2)
    distances = [spread.distance(votes) for votes in range(60)]
    assert distances == sorted(distances, reverse=True)


def test_what_all_say_of_every_item_needs_no_more_votes() -> None:
    agreed, alike = (Votes.from_counts([[4, 0], [0, 4]] * 40), Votes.from_counts([[2, 2]] * 80))
    assert nearness(agreed, (2,))[0].kl < 1e-3
    assert nearness(agreed, (2,))[0].same_majority > 0.999
    assert nearness(alike, (2,))[0].kl < 1e-3


def test_a_pilot_foretells_what_more_votes_gain() -> None:
    """On items that are no draws from one Dirichlet distribution: half of them easy."""
    random = np.random.default_rng(3)
    easy = np.eye(3)[random.integers(0, 3, 2000)] * 0.94 + 0.02
    people = np.concatenate([easy, random.dirichlet([2.0, 2.0, 2.0], 2000)])
    pilot = Spread.of(Votes.from_counts(random.multinomial(3, people)))
    prior = pilot.strength * pilot.shares

    def loss(votes: int) -> float:
        told = (random.multinomial(votes, people) + prior) / (votes + pilot.strength)
        return float(-(people * np.log(told)).sum(1).mean())

    for votes in (2, 5, 20):
        assert pilot.distance(votes) - pilot.distance(50) == pytest.approx(loss(votes) - loss(50), rel=0.3, abs=0.01)


def test_a_guess_from_few_items_is_unsure() -> None:
    few, many = (nearness(Votes.from_counts(cast(1.0, items, 3)[1]), (5,))[0] for items in (30, 3000))
    assert few.kl_low < few.kl <= few.kl_high
    assert few.kl_high - few.kl_low > 5 * (many.kl_high - many.kl_low)


def test_what_cannot_be_told_is_said() -> None:
    with pytest.raises(InputError, match="no item has two votes"):
        Spread.of(Votes.from_counts([[1, 0], [0, 1]]))
    with pytest.raises(InputError, match="several classes"):
        Spread.of(Votes.from_records(items=[0, 0], labels=[["a", "b"], ["a"]]))
