from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from dissensus.base.errors import InputError
from dissensus.stats import wilcoxon
from dissensus.stats.paired import EXACT_UP_TO, SINGLE

SIDES = ["two-sided", "less", "greater"]
differences = st.lists(st.integers(-5, 5), min_size=1, max_size=9)


def by_all_signs(d, alternative):
    """The definition: rank the differences that are not zero, and look at every pattern of signs."""
    d = np.array([x for x in d if x != 0], float)
    if not len(d):
        return 1.0
    ranks = reference.rankdata(np.abs(d))
    observed = ranks[d > 0].sum()
    sums = np.array([ranks[np.array(pattern)].sum() for pattern in product([False, True], repeat=len(d))])
    below, above = (sums <= observed).mean(), (sums >= observed).mean()
    return {"less": below, "greater": above, "two-sided": min(1.0, 2 * min(below, above))}[alternative]


@settings(max_examples=60, deadline=None)
@given(differences, st.sampled_from(SIDES))
def test_it_counts_the_sign_patterns_with_ties_and_zeros(d, alternative):
    test = wilcoxon(d, np.zeros(len(d)), alternative=alternative)
    assert test.pvalue == pytest.approx(by_all_signs(d, alternative), abs=1e-12)
    assert test.exact
    assert test.alternative == alternative
    assert test.n == np.count_nonzero(d)


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 10, 25, 50])
def test_it_agrees_with_scipy_where_that_is_exact(n, alternative):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(0.3, 1, n)
    ours, theirs = (
        wilcoxon(a, b, alternative),
        reference.wilcoxon(a, b, alternative=alternative, method="exact"),
    )
    assert ours.pvalue == pytest.approx(theirs.pvalue, rel=1e-10)
    if alternative != "two-sided":  # there, theirs is the smaller of both rank sums
        assert ours.statistic == theirs.statistic


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("decimals", [1, 9], ids=["ties", "no ties"])
def test_many_pairs_agree_with_the_normal_approximation_of_scipy(alternative, decimals):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500)).round(decimals)
    ours = wilcoxon(a, b + 0.05, alternative)
    theirs = reference.wilcoxon((a - b - 0.05).round(9), alternative=alternative, method="approx", correction=False)
    assert not ours.exact
    assert ours.pvalue == pytest.approx(theirs.pvalue, rel=1e-9)


def test_exact_and_normal_meet():
    rng = np.random.default_rng(1)
    d = rng.normal(0.1, 1, EXACT_UP_TO)
    exact = wilcoxon(d, np.zeros_like(d)).pvalue
    normal = reference.wilcoxon(d, method="approx", correction=False).pvalue
    assert exact == pytest.approx(normal, abs=2e-3)


def test_the_side_is_that_of_the_first_argument():
    lower, higher = np.arange(5.0), 2 * np.arange(5.0) + 1
    assert wilcoxon(lower, higher, "less").pvalue == 1 / 32
    assert wilcoxon(lower, higher, "greater").pvalue == 1
    assert wilcoxon(lower, higher).pvalue == 1 / 16


def test_published_smallest_p_values_of_five_seeds():
    sls, soft = [0.55, 0.54, 0.53, 0.52, 0.51], [0.58, 0.58, 0.58, 0.58, 0.58]
    assert round(wilcoxon(sls, soft, "less").pvalue, 3) == 0.031
    assert round(wilcoxon(sls, soft).pvalue, 4) == 0.0625


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2000)), min_size=1, max_size=12))
def test_rounding_neither_makes_nor_breaks_ties(correct):
    """Accuracies are whole numbers over 2000; their p-value is that of the whole numbers."""
    a, b = np.array(correct).T
    assert wilcoxon(a / 2000, b / 2000).pvalue == wilcoxon(a, b).pvalue
    assert wilcoxon(a / 2000, b / 2000).n == np.count_nonzero(a - b)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 303), st.integers(0, 303)), min_size=1, max_size=12))
def test_differences_of_rounded_numbers_tie_within_their_resolution(correct):
    """Accuracies on 303 items, kept in single precision, and passed as differences: whole numbers again."""
    a, b = np.array(correct).T
    kept = [np.float32(one / 303).astype(np.float64) for one in (a, b)]
    found = wilcoxon(kept[0] - kept[1], np.zeros(len(a)), resolution=SINGLE)
    assert (found.pvalue, found.n) == (wilcoxon(a, b).pvalue, np.count_nonzero(a - b))


def test_no_difference_at_all():
    test = wilcoxon([0.1, 0.2], [0.1, 0.2])
    assert (test.statistic, test.pvalue, test.n, test.side) == (0, 1, 0, 0)
    assert wilcoxon([0.0], [0.0]).pvalue == 1


def test_false_alarms_stay_below_the_level():
    rng = np.random.default_rng(0)
    alarms = [wilcoxon(rng.normal(size=8).round(1), rng.normal(size=8).round(1)).pvalue < 0.05 for _ in range(2000)]
    assert np.mean(alarms) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 2], [1, 2, 3], "a has 2, b has 3"),
        ([], [], "a is empty"),
        ([1, np.nan], [1, 2], r"a must be finite, but seed 1 has nan. If that run diverged"),
        ([1, 2], ["a", "b"], "b must hold numbers"),
        ([[1.0, 2.0], [3.0]], [1, 2], "a must hold numbers, one row a seed, all rows equally long"),
        (torch.ones(2, requires_grad=True), [1, 2], r"a must hold numbers.*Use tensor.detach\(\)"),
        ([[1.0]], [[1.0]], r"a must have the shape \(seeds,\), but its shape is \(1, 1\)"),
    ],
)
def test_bad_scores_are_named(a, b, message):
    with pytest.raises(InputError, match=message):
        wilcoxon(a, b)


@pytest.mark.parametrize(
    ("differences", "side"), [([1, 2, 3], 1), ([-1, -2, 3], 0), ([-1, -2, -4, 3], -1), ([1, 2, -100, 3], 1)]
)
def test_ranks_are_on_a_side_of_their_own(differences, side):
    for one in ("two-sided", "less", "greater"):
        assert wilcoxon(differences, [0] * len(differences), one).side == side


def test_a_misspelt_side_is_named():
    with pytest.raises(InputError, match="unknown alternative 'lesser'; did you mean 'less'"):
        wilcoxon([1], [2], alternative="lesser")
