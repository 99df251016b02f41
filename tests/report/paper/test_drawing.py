"""Lines averaged over seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.report.paper.drawing import band, told_mean
from dissensus.report.paper.measured import BySeed


def test_a_band_is_the_t_interval_at_every_point():
    random = np.random.default_rng(0)
    lines = random.normal(size=(6, 4))
    found = band((np.arange(4), line) for line in lines)
    low, high = scipy_stats.t.interval(0.95, 5, lines.mean(0), scipy_stats.sem(lines))
    np.testing.assert_allclose(found.low, low)
    np.testing.assert_allclose(found.high, high)
    assert found.seeds == 6


def test_lines_of_other_lengths_meet_where_they_share_x():
    found = band([([0, 1, 2], [0, 1, 2]), ([0.5, 2.5], [0.5, 2.5])])
    np.testing.assert_allclose(found.x, [0.5, 2.0])
    np.testing.assert_allclose(found.mean, found.x)


def test_one_line_has_no_band_and_none_is_none():
    found = band([([0, 1], [2, 3])])
    assert np.isnan(found.low).all()
    assert band([]) is None
    assert band([([0, 1], [np.nan, 1])]) is None  # a diverged run


@pytest.mark.parametrize(
    ("values", "words"), [({}, "not measured"), ({0: 0.5}, "0.500"), ({0: 0.5, 1: 0.5}, "0.500 (0.500 to 0.500)")]
)
def test_means_in_words(values, words):
    assert told_mean(BySeed(values)) == words


def test_two_seeds_have_no_band():
    found = band([([0, 1], [1, 3]), ([0, 1], [3, 5])])
    assert np.isnan([found.low, found.high]).all()
    assert found.mean.tolist() == [2.0, 4.0]
