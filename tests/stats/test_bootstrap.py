import sys
from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from dissensus.base.errors import InputError
from dissensus.stats import Interval, bootstrap, paired_bootstrap


def covered(make, truth=0.0, times=600, draws=1000):
    """How often intervals of fresh data hold the truth."""
    rng = np.random.default_rng(0)
    intervals = [bootstrap(make(rng), draws=draws, seed=i) for i in range(times)]
    return np.mean([interval.low <= truth <= interval.high for interval in intervals])


@pytest.mark.parametrize(("seeds", "least"), [(2, 0.92), (3, 0.92), (4, 0.92), (5, 0.89), (10, 0.92), (30, 0.925)])
def test_intervals_of_few_seeds_hold_the_truth(seeds, least):
    assert least < covered(lambda rng: rng.normal(size=seeds)) < 0.98


def test_intervals_over_seeds_and_items_hold_the_truth():
    """Effects of seeds and of items, as large as each other: leaving either out would cover far less."""

    def make(rng):
        return rng.normal(0, 0.3, (10, 1)) + rng.normal(0, 1, (1, 100)) + rng.normal(0, 0.5, (10, 100))

    assert 0.91 < covered(make, times=300, draws=400) < 0.995


def test_the_quantiles_are_those_of_all_resamples():
    """With five values all 3,125 resamples can be listed; the level is chosen so that the tail is 10 %."""
    values = np.array([0.1, 0.5, 0.7, 1.1, 2.0])
    means = np.array([np.mean(pick) for pick in product(values, repeat=5)])
    level = 1 - 2 * student.cdf(norm.ppf(0.1) / np.sqrt(5 / 4), 4)
    interval = bootstrap(values, level=level, draws=40_000)
    assert interval.low == pytest.approx(np.quantile(means, 0.1), abs=0.03)
    assert interval.high == pytest.approx(np.quantile(means, 0.9), abs=0.03)


def test_five_seeds_are_covered_as_often_as_is_told():
    """All 126 ways in which five can be drawn, with their chances, instead of draws: 20,000 cases take a second."""
    ways = np.array([way for way in product(range(6), repeat=5) if sum(way) == 5])
    chance = np.array([factorial(5) / np.prod([factorial(times) for times in way]) for way in ways]) / 5**5
    means = np.random.default_rng(0).normal(size=(20_000, 5)) @ ways.T / 5
    order = means.argsort(1)
    below = chance[order].cumsum(1)
    tail = norm.cdf(np.sqrt(5 / 4) * student.ppf(0.025, 4))
    at = np.arange(len(means))
    low, high = (means[at, order[at, (below < level).sum(1)]] for level in (tail, 1 - tail))
    told = 100 * ((low <= 0) & (high >= 0)).mean()
    assert f"the truth in {told:.1f} % of cases with five seeds" in sys.modules[bootstrap.__module__].__doc__


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.3, 0.1, 0.7], [4.0, 1.0, 2.0, 2.0]])
def test_fewer_than_five_have_students_interval(values):
    found = bootstrap(values, level=0.9)
    low, high = student.interval(0.9, len(values) - 1, np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)))
    assert (found.low, found.high, found.level) == (pytest.approx(low), pytest.approx(high), 0.9)


def test_five_are_resampled():
    values = [0.3, 0.1, 0.7, 0.2, 0.9]
    low, _ = student.interval(0.95, 4, np.mean(values), np.std(values, ddof=1) / np.sqrt(5))
    assert bootstrap(values).low > low
    assert bootstrap(values[:4]).low < min(values[:4])


@pytest.mark.parametrize("seeds", [2, 3, 4])
def test_few_seeds_with_many_items_hold_the_truth(seeds):
    """As long as it is the seeds that differ: they are as few as without the items."""

    def make(rng):
        return rng.normal(0, 1, (seeds, 1)) + rng.normal(0, 1, (1, 40)) * 0.3 + rng.normal(0, 0.5, (seeds, 40))

    assert covered(make, times=300) > 0.90
    scores = make(np.random.default_rng(1))
    alone = bootstrap(scores.mean(1))
    for found in (bootstrap(scores), bootstrap(scores.T)):
        assert (found.low, found.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_many_values_approach_the_normal_interval():
    values = np.random.default_rng(0).normal(size=2000)
    interval = bootstrap(values)
    reach = 1.96 * values.std() / np.sqrt(2000)
    assert interval.low == pytest.approx(values.mean() - reach, abs=0.1 * reach)
    assert interval.high == pytest.approx(values.mean() + reach, abs=0.1 * reach)


def test_a_higher_level_is_wider():
    values = np.random.default_rng(0).normal(size=20)
    narrow, wide = bootstrap(values, level=0.5), bootstrap(values, level=0.99)
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high
    assert wide.level == 0.99


def test_pairs_are_resampled_together():
    """What both share cancels: a large spread over seeds does not widen the interval of the difference."""
    common = np.random.default_rng(0).normal(0, 100, 10)
    interval = paired_bootstrap(common + 1, common)
    assert (interval.low, interval.high) == pytest.approx((1, 1))


@pytest.mark.parametrize("shape", [(10,), (6, 40)])
def test_pairs_are_their_differences(shape):
    a, b = np.random.default_rng(0).normal(size=(2, *shape))
    interval = paired_bootstrap(a, b, draws=500)
    assert interval == bootstrap(a - b, draws=500)
    assert interval.mean == pytest.approx((a - b).mean())
    flipped = paired_bootstrap(b, a, draws=500)
    assert (-flipped.high, -flipped.low) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("shape", [(12,), (5, 30)])
def test_it_depends_on_the_seed_and_on_nothing_else(shape, monkeypatch):
    values = np.random.default_rng(0).normal(size=shape)
    once = bootstrap(values, draws=300)
    assert bootstrap(values, draws=300) == once
    assert bootstrap(values, draws=300, seed=1) != once
    module = sys.modules["dissensus.stats.bootstrap"]  # the function of that name hides it
    monkeypatch.setattr(module, "_BLOCK", 100)  # blocks are a matter of memory, not of the result
    cut = bootstrap(values, draws=300)
    assert (cut.low, cut.high) == pytest.approx((once.low, once.high), rel=1e-12)


def test_one_value_says_nothing_of_the_spread():
    for values in ([0.5], [[0.4, 0.6]]):
        interval = bootstrap(values)
        assert interval.mean == 0.5
        assert np.isnan([interval.low, interval.high]).all()


def test_an_interval_reads_well():
    assert str(Interval(0.02534, -0.00112, 0.05)) == "0.02534 [-0.00112, 0.05]"


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "values is empty"),
        ([[[1.0]]], {}, r"shape \(seeds,\) or \(seeds, items\)"),
        ([1.0, np.inf], {}, "seed 1 has inf"),
        ([[1.0, 2.0], [1.0, np.nan]], {}, "seed 1 has nan"),
        ([1.0, 2.0], {"level": 95}, "level must lie between 0 and 1, but it is 95"),
        ([1.0, 2.0], {"draws": 0}, "draws must be at least 1"),
    ],
)
def test_bad_input_is_named(values, options, message):
    with pytest.raises(InputError, match=message):
        bootstrap(values, **options)


def test_pairs_of_different_shape_are_named():
    with pytest.raises(InputError, match=r"a has \(2, 3\) and b has \(2, 4\)"):
        paired_bootstrap(np.ones((2, 3)), np.ones((2, 4)))


def test_few_items_widen_the_interval_as_few_seeds_do():
    scores = np.random.default_rng(0).normal(size=(10, 200))
    few_seeds, few_items = bootstrap(scores), bootstrap(scores.T)
    assert few_items.high - few_items.low == pytest.approx(few_seeds.high - few_seeds.low, rel=0.05)


def test_seeds_and_items_are_drawn_apart():
    """If item i were drawn whenever seed i is, this product of two means would be a square and never below 0."""
    a = np.random.default_rng(0).normal(size=12)
    a -= a.mean()
    interval = bootstrap(np.outer(a, a))
    assert interval.low == pytest.approx(-interval.high, rel=0.1)
