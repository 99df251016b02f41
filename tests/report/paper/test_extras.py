"""Tables that the paper does not have."""

from __future__ import annotations

import numpy as np

from dissensus.report.paper.extras import extra_tables, temperature
from dissensus.report.paper.measured import Sought, measured
from dissensus.report.tables import number


def test_after_a_temperature_the_gain_over_soft_stands_seed_by_seed(whole):
    table = temperature(whole, "soft_nll", "published", "best")
    assert table.head[2:] == ("5 votes", "10 votes", "25 votes", "50 votes", "all votes")
    lines = {(line.group, line.name): line for line in table.lines}
    soft, own = (measured(whole, Sought("soft_nll", m, 5, tempered=True)) for m in ("soft", "multipass"))
    gains = np.array([soft.values[seed] - own.values[seed] for seed in soft.values])
    assert lines["multipass", "gain over soft, tempered"].boxes[0].text == number(gains.mean(), 4)
    assert ("soft", "gain over soft, tempered") not in lines
    assert "over two halves of the evaluation items" in table.notes[0]
    audited = temperature(whole, "kl", "audited", "last")
    assert audited.head[2:] == ("5 votes", "10 votes", "25 votes", "all votes")
    assert "on the selection items" in audited.notes[0]


def test_tables_beyond_the_paper(whole, basins):
    found = {grid.name: grid for grid in extra_tables(whole, basins)}
    assert len([name for name in found if name.startswith("temperature")]) == 8
    assert {"barriers", "curvature-free-of-scale", "gain-by-distance", "gradient-variance"} <= set(found)
    barriers = {line.group for line in found["barriers"].lines}
    assert barriers == {"sls to soft", "sls to sls again", "soft to soft again"}
    for grid in found.values():
        assert {len(line.boxes) for line in grid.lines} == {len(grid.head) - 2}, grid.name
        assert grid.csv().count("\n") > 1
