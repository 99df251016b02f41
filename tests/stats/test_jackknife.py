from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.base.errors import InputError
from dissensus.stats.jackknife import over_pairs


def pairs(seeds: np.ndarray) -> dict[tuple[int, int], float]:
    """Numbers of two seeds that are the mean of something of each."""
    return {(i, j): (seeds[i] + seeds[j]) / 2 for i, j in combinations(range(len(seeds)), 2)}


def test_of_means_it_is_the_t_test() -> None:
    """Where a pair is the mean of its two seeds, the mean over pairs is that of the seeds, and so is its error."""
    seeds = np.random.default_rng(0).normal(0.2, 1, 9)
    found = over_pairs(pairs(seeds))
    assert found.mean == pytest.approx(seeds.mean())
    assert found.standard_error == pytest.approx(seeds.std(ddof=1) / 3)
    assert found.p_above() == pytest.approx(scipy_stats.ttest_1samp(seeds, 0, alternative="greater").pvalue)
    assert found.p_below(0.5) == pytest.approx(scipy_stats.ttest_1samp(seeds, 0.5, alternative="less").pvalue)
    low, high = scipy_stats.ttest_1samp(seeds, 0).confidence_interval()
    assert (found.interval().low, found.interval().high) == pytest.approx((low, high))


def test_pairs_as_if_independent_would_be_too_sure() -> None:
    chance = np.random.default_rng(1)
    wrong, naive = 0, 0
    for _ in range(500):
        values = pairs(chance.normal(0, 1, 10))
        values = {pair: value + 0.3 * chance.normal() for pair, value in values.items()}
        wrong += over_pairs(values).p_above() < 0.05
        naive += scipy_stats.ttest_1samp(list(values.values()), 0, alternative="greater").pvalue < 0.05
    assert wrong < 45  # 25 expected
    assert naive > 60


def test_few_seeds_and_no_spread() -> None:
    assert np.isnan(over_pairs({(0, 1): 0.5}).standard_error)
    assert np.isnan(over_pairs({(0, 1): 0.5}).p_above())
    alike = over_pairs(dict.fromkeys(combinations(range(4), 2), 0.5))
    assert (alike.p_above(), alike.p_above(0.5), alike.p_below(0.7)) == (0.0, 1.0, 0.0)
    with pytest.raises(InputError, match="values is empty"):
        over_pairs({})
