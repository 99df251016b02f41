"""Boxes and files of tables."""

from __future__ import annotations

import numpy as np

from dissensus.diagnostics.registry import DIAGNOSTICS
from dissensus.metrics import METRICS
from dissensus.report.paper.grid import box, digits_of, title_of, to_csv
from dissensus.report.paper.measured import BySeed
from dissensus.report.tables import Box


def test_a_box_says_its_seeds_where_the_line_has_others():
    found = BySeed({0: 0.5, 1: 0.5})
    assert box(found, 3, expected=2) == Box("0.500", "[0.500, 0.500]")
    assert box(found, 3, expected=10) == Box("0.500", "[0.500, 0.500] 2 seeds")
    assert box(BySeed({0: 0.5}), 3, expected=10) == Box("0.500", "1 seed")
    assert box(BySeed({}), 3) == Box("–")


def test_every_metric_and_diagnostic_has_a_title_and_digits(basins):
    for name in (*METRICS, *DIAGNOSTICS):
        assert title_of(name)
        assert digits_of(name) >= 0
    for address, told in basins.published.numbers.items():
        assert title_of(address.metric)
        assert digits_of(address.metric, told.unit) <= 4


def test_unknown_numbers_are_empty_in_files():
    assert to_csv([{"a": np.nan, "b": np.float64(1 / 3)}]) == "a,b\n,0.3333333\n"
