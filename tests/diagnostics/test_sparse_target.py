"""Worlds in which the truth is known: gains that follow the distance, and gains that only follow entropy."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, spearmanr

from dissensus.base.errors import InputError
from dissensus.diagnostics.sparse_target import relation, sparse_target


@pytest.fixture(scope="module")
def world():
    chance = np.random.default_rng(0)
    full = chance.dirichlet([0.6, 0.6, 0.6], size=3000)
    return np.array([chance.multinomial(5, p) for p in full]) / 5, full, chance


def test_against_scipy(world):
    sparse, full, chance = world
    gain = chance.normal(size=len(full))
    found = sparse_target(sparse, full, gain)
    js = np.array([jensenshannon(s, p) for s, p in zip(sparse, full, strict=True)])
    assert found.js.plain.value == pytest.approx(spearmanr(js, gain).statistic, abs=1e-9)
    disputed = np.argsort(-entropy(full, axis=1), kind="stable")[:300]
    l1 = np.abs(sparse - full).sum(1)
    assert found.l1_disputed.plain.value == pytest.approx(spearmanr(l1[disputed], gain[disputed]).statistic, abs=1e-9)
    assert found.l1_disputed.plain.items == 300


def test_a_gain_that_follows_the_distance_is_found_beyond_entropy(world):
    sparse, full, chance = world
    found = sparse_target(sparse, full, np.abs(sparse - full).sum(1) + 0.1 * chance.normal(size=len(full)))
    for one in (found.js, found.l1, found.js_disputed, found.l1_disputed):
        assert one.plain.low > 0
        assert one.given_entropy.low > 0
    assert (np.diff(found.l1.bins.improvement) > 0).all()


def test_a_gain_that_only_follows_entropy_is_seen_through(world):
    sparse, full, chance = world
    found = sparse_target(sparse, full, entropy(full, axis=1) + 0.3 * chance.normal(size=len(full)))
    assert found.js.plain.low > 0.05
    assert abs(found.js.given_entropy.value) < 0.05


def test_bins_are_equal_mass_with_means_and_standard_errors():
    found = relation([1, 2, 3, 4], [0.0, 2.0, 5.0, 5.0], [0, 1, 0, 1], bins=2).bins
    np.testing.assert_array_equal(found.items, [2, 2])
    np.testing.assert_array_equal(found.distance, [1.5, 3.5])
    np.testing.assert_array_equal(found.improvement, [1.0, 5.0])
    np.testing.assert_allclose(found.standard_error, [1.0, 0.0])  # sd sqrt(2) over sqrt(2)


def test_a_bin_of_one_item_has_no_standard_error():
    assert np.isnan(relation([1, 2], [0.0, 1.0], [0, 1], bins=2).bins.standard_error).all()


def test_ten_bins_of_the_items(world):
    sparse, full, _ = world
    bins = sparse_target(sparse, full, np.zeros(len(full))).l1.bins
    assert len(bins.items) == 10
    assert bins.items.sum() == len(full)


def test_bad_input(world):
    sparse, full, _ = world
    with pytest.raises(InputError, match="one number an item"):
        sparse_target(sparse, full, full)
    with pytest.raises(InputError, match="improvement has 2"):
        sparse_target(sparse, full, [0.0, 1.0])
    with pytest.raises(InputError, match="sum to 1"):
        sparse_target(5 * sparse, full, np.zeros(len(full)))
