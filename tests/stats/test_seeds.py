import numpy as np
import pytest
from scipy import stats as reference

from dissensus.base.errors import InputError
from dissensus.stats import fewest_seeds, holm, plan_seeds, smallest_pvalue, warning_for, wilcoxon


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("seeds", [1, 2, 5, 8])
def test_the_smallest_p_value_is_that_of_unanimous_seeds(seeds, alternative):
    unanimous = np.arange(1, seeds + 1) * (-1 if alternative == "less" else 1)
    assert smallest_pvalue(seeds, alternative) == wilcoxon(unanimous, np.zeros(seeds), alternative).pvalue


def test_known_numbers():
    assert fewest_seeds(tests=12, alternative="less") == 8  # 12 / 256 = .047
    assert fewest_seeds(tests=6) == 8  # four methods, six pairs: 6 * 2 / 256 = .047
    assert fewest_seeds() == 6
    assert fewest_seeds(alternative="greater") == 5


@pytest.mark.parametrize("tests", [1, 3, 6, 12, 66])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_one_seed_fewer_can_never_reject_and_this_many_can(tests, alternative):
    fewest = fewest_seeds(tests, alternative)
    for seeds, rejects in ((fewest - 1, False), (fewest, True)):
        adjusted = holm([smallest_pvalue(seeds, alternative)] * tests)
        assert (adjusted < 0.05).all() == rejects
        assert (warning_for(seeds, tests, alternative) is None) == rejects


def test_a_p_value_at_the_level_is_not_below_it():
    assert smallest_pvalue(5) == 0.0625
    assert fewest_seeds(alpha=0.0625) == 6


def test_the_warning_says_why_and_what_to_do():
    assert warning_for(5, tests=12, alternative="less") == (
        "5 seeds can never show a difference here: the smallest one-sided p-value of 5 pairs is 0.0312, which Holm "
        "over 12 tests makes 0.375, and it must be below 0.05. Use at least 8 seeds."
    )
    assert warning_for(1) == (
        "1 seed can never show a difference here: the smallest two-sided p-value of 1 pair is 1, and it must be below "
        "0.05. Use at least 6 seeds."
    )
    assert warning_for(8, tests=12, alternative="less") is None


def power_of(seeds, effect, tests, alternative, times=4000):
    """By another road: the exact tests of SciPy on fresh normal differences."""
    d = np.random.default_rng(1).normal(effect, 1, (times, seeds))
    p = reference.wilcoxon(d, axis=1, alternative=alternative, method="exact" if seeds <= 50 else "approx").pvalue
    return np.mean(p * tests < 0.05)


@pytest.mark.parametrize(
    ("effect", "tests", "alternative", "power"),
    [(0.5, 1, "two-sided", 0.8), (1.0, 6, "two-sided", 0.8), (1.5, 12, "greater", 0.9), (2.0, 6, "two-sided", 0.9)],
)
def test_the_plan_has_the_power_asked_for_and_two_seeds_fewer_have_not(effect, tests, alternative, power):
    seeds = plan_seeds(effect * 0.03, 0.03, tests=tests, alternative=alternative, power=power)
    assert power_of(seeds, effect, tests, alternative) > power - 0.02
    assert power_of(seeds - 2, effect, tests, alternative) < power


def test_a_plan_never_has_fewer_seeds_than_can_reject():
    assert plan_seeds(10.0, 0.001, tests=12, alternative="less") == 8
    assert plan_seeds(0.1, 0.0) == fewest_seeds()


def test_a_small_difference_needs_many_by_the_formula():
    assert plan_seeds(0.1, 1.0) == pytest.approx(np.pi / 3 * 100 * (1.959964 + 0.841621) ** 2 + 1.959964**2 / 2, abs=1)
    assert plan_seeds(-0.1, 1.0) == plan_seeds(0.1, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fewest_seeds(0), "tests must be at least 1, but it is 0"),
        (lambda: fewest_seeds(1, alpha=5), "alpha must lie between 0 and 1, but it is 5"),
        (lambda: fewest_seeds(1, "les"), "unknown alternative 'les'; did you mean 'less'"),
        (lambda: smallest_pvalue(0), "seeds must be at least 1"),
        (lambda: plan_seeds(0, 1), "difference must be a number other than 0"),
        (lambda: plan_seeds(1, -1), "sd must not be negative"),
        (lambda: plan_seeds(1, 1, power=1), "power must lie between 0 and 1"),
    ],
)
def test_bad_plans_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
