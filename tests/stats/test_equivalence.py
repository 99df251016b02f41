import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

from dissensus.base.errors import InputError
from dissensus.stats import equivalence


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.floats(-0.2, 0.2), st.floats(0.01, 0.5))
def test_it_agrees_with_statsmodels(seed, n, shift, margin):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(shift, 0.1, n)
    ours, theirs = equivalence(a, b, margin=margin), ttost_paired(a, b, -margin, margin)
    assert ours.pvalue == pytest.approx(theirs[0], rel=1e-7, abs=1e-300)
    assert ours.difference == pytest.approx((a - b).mean())


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 0.2), st.sampled_from([0.01, 0.05, 0.1]))
def test_the_interval_lies_within_the_margin_exactly_where_the_test_rejects(seed, margin, alpha):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 0.05, (2, 8))
    result = equivalence(a, b, margin=margin, alpha=alpha)
    assert result.equivalent == (-margin < result.low and result.high < margin)


def test_the_sides_are_alike():
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    assert equivalence(a, b, margin=0.5).pvalue == pytest.approx(equivalence(b, a, margin=0.5).pvalue)


def test_false_claims_of_a_match_stay_at_the_level():
    """On the edge of the margin, where a false claim is likeliest."""
    rng = np.random.default_rng(0)
    claims = [equivalence(rng.normal(0.3, 0.1, 10), np.zeros(10), margin=0.3).equivalent for _ in range(2000)]
    assert np.mean(claims) == pytest.approx(0.05, abs=0.015)


def test_a_large_p_value_of_a_difference_is_no_match():
    noisy = equivalence([0.1, 0.9, 0.2, 0.8], [0.8, 0.1, 0.9, 0.3], margin=0.025)
    assert not noisy.equivalent
    assert noisy.pvalue > 0.4


@pytest.mark.parametrize(("shift", "pvalue"), [(0.0, 0.0), (0.25, 0.0), (0.5, 1.0), (1.0, 1.0)])
def test_equal_differences_give_the_limit(shift, pvalue):
    a = np.arange(4.0)
    result = equivalence(a, a - shift, margin=0.5)
    assert result.pvalue == pvalue
    assert result.equivalent == (pvalue == 0)
    assert (result.low, result.high) == (shift, shift)


def test_a_single_pair_shows_nothing():
    result = equivalence([0.5], [0.5], margin=1)
    assert result.pvalue == 1
    assert not result.equivalent
    assert np.isnan([result.low, result.high]).all()


@pytest.mark.parametrize("margin", [0, -0.1, np.nan, np.inf])
def test_a_margin_that_is_none_is_named(margin):
    with pytest.raises(InputError, match="margin must be above 0, but it is"):
        equivalence([1, 2], [1, 2], margin=margin)


def test_bad_scores_and_levels_are_named():
    with pytest.raises(InputError, match="b must be finite, but seed 0 has nan"):
        equivalence([1, 2], [np.nan, 2], margin=1)
    with pytest.raises(InputError, match="alpha must lie between"):
        equivalence([1, 2], [1, 2], margin=1, alpha=0.7)
