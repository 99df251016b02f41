from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.stats.student import p_above_zero


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.3])
def test_it_agrees_with_scipy(shift: float) -> None:
    values = np.random.default_rng(0).normal(shift, 1, 12)
    error = values.std(ddof=1) / np.sqrt(12)
    expected = scipy_stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert p_above_zero(values.mean(), error, 12) == pytest.approx(expected)


def test_what_does_not_vary_is_sure() -> None:
    assert [p_above_zero(mean, 0.0, 10) for mean in (-1.0, 0.0, 1.0)] == [1, 1, 0]


def test_an_unknown_error_gives_no_p_value() -> None:
    assert np.isnan(p_above_zero(1.0, np.nan, 2))
