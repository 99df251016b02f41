"""Against scipy, against regression on ranks, and an interval that holds the truth as often as it says."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata, spearmanr

from dissensus.base.errors import InputError
from dissensus.diagnostics.correlation import partial_spearman, spearman


@pytest.fixture
def three():
    chance = np.random.default_rng(0)
    g = chance.integers(0, 6, 300).astype(float)  # with ties
    return g + chance.normal(size=300), (2 * g + 3 * chance.normal(size=300)).round(), g


def test_it_is_scipys(three):
    a, b, _ = three
    assert spearman(a, b).value == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-14, 1e14])
def test_the_scale_does_not_matter(three, scale):
    a, b, g = three
    assert spearman(scale * a, b).value == pytest.approx(spearman(a, b).value, abs=1e-12)
    assert partial_spearman(scale * a, b, g).value == pytest.approx(partial_spearman(a, b, g).value, abs=1e-12)


def test_partial_is_the_correlation_of_residual_ranks(three):
    a, b, g = map(rankdata, three)
    given = np.column_stack([np.ones(300), g])
    left = [y - given @ np.linalg.lstsq(given, y, rcond=None)[0] for y in (a, b)]
    assert partial_spearman(*three).value == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-12)


@pytest.mark.parametrize("truth", [0.5, 0.95])  # Fisher's plain interval would hold the second in 90 of 100 cases
def test_intervals_hold_the_truth_as_often_as_they_say(truth):
    chance, held = np.random.default_rng(1), 0
    rho = 6 / np.pi * np.arcsin(truth / 2)  # Spearman's of a normal pair with such a Pearson's
    for _ in range(1000):
        x = chance.normal(size=60)
        found = spearman(x, truth * x + np.sqrt(1 - truth**2) * chance.normal(size=60))
        held += found.low <= rho <= found.high
    assert 0.93 < held / 1000 < 0.975


@pytest.mark.parametrize("fixed", [0, 1])
def test_a_number_that_is_held_fixed_costs_an_item(three, fixed):
    """Fisher, 1924: the interval of a partial correlation is that of a plain one with one item fewer."""
    found = partial_spearman(*three) if fixed else spearman(*three[:2])
    half = norm.ppf(0.975) * np.sqrt((1 + found.value**2 / 2) / (len(three[0]) - 3 - fixed))
    ends = np.tanh(np.arctanh(found.value) + np.array([-half, half]))
    np.testing.assert_allclose([found.low, found.high], ends, rtol=1e-9)


def test_numbers_that_differ_in_the_last_bit_are_ties():
    assert spearman([0.3, 0.1 + 0.2, 1.0], [1.0, 1.0, 2.0]).value == 1


@pytest.mark.parametrize("b", [[1.0, 1.0, 1.0, 1.0]])
def test_what_does_not_vary_correlates_with_nothing(b):
    found = spearman([1.0, 2.0, 3.0, 4.0], b)
    assert np.isnan([found.value, found.low, found.high]).all()


def test_given_that_says_everything_leaves_nothing():
    x = np.arange(10.0)
    assert np.isnan(partial_spearman(x, x[::-1], x).value)


def test_perfect_agreement_has_no_width_and_few_items_have_no_interval():
    assert spearman(range(10), range(10)).low == 1
    assert np.isnan(spearman([1, 2, 3], [1, 3, 2]).low)


def test_bad_input():
    with pytest.raises(InputError, match=r"a must have the shape \(items,\)"):
        spearman([[1.0]], [1.0])
    with pytest.raises(InputError, match="item 1 has nan"):
        spearman([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(InputError, match="a has 2, b has 2, given has 1"):
        partial_spearman([1, 2], [1, 2], [1])
