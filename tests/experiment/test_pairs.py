"""What two runs give, where it is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.experiment.pairs import maps_alike


def test_maps_of_the_most_disputed_items_are_told_by_themselves() -> None:
    chance = np.random.default_rng(0)
    maps, others = chance.random((2, 20, 4, 4))
    human = np.tile([1.0, 0.0], (20, 1))
    human[[3, 17]] = 0.5  # a tenth of the items, on which people are divided
    others[[3, 17]] = maps[[3, 17]]
    rows = {row.slice: row for row in maps_alike(maps, others, human, "last", "another")}
    assert {(row.weights, row.other) for row in rows.values()} == {("last", "another")}
    assert rows["disputed"].value == pytest.approx(1)
    assert rows["all"].value < 0.9
    assert (rows["all"].items, rows["disputed"].items) == (20, 2)
