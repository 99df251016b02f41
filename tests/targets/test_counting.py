from __future__ import annotations

import numpy as np
import pytest

from dissensus.targets.counting import counts_at, in_blocks
from dissensus.votes import Votes


@pytest.fixture(params=["one label", "several labels"])
def votes(request):
    rng = np.random.default_rng(0)
    items = rng.integers(0, 40, 300)
    if request.param == "one label":
        return Votes.from_records(items=items, labels=rng.integers(0, 5, 300))
    return Votes.from_records(
        items=items, labels=[set(rng.choice(5, rng.integers(1, 4), replace=False)) for _ in items]
    )


def test_rows_are_those_of_the_whole_table(votes):
    at = np.random.default_rng(1).integers(0, votes.n_items, 100)
    np.testing.assert_array_equal(counts_at(votes, at), votes.counts()[at])


def test_no_rows_are_no_rows(votes):
    assert counts_at(votes, np.empty(0, np.int64)).shape == (0, votes.n_classes)


@pytest.mark.parametrize(("n_items", "n_classes"), [(0, 3), (1, 1), (3_000_000, 2), (5000, 1000), (3, 1 << 22)])
def test_blocks_are_a_partition_of_bounded_parts(n_items, n_classes):
    blocks = list(in_blocks(n_items, n_classes))
    assert [i for block in blocks for i in (block.start, block.stop)][1:-1:2] == [b.start for b in blocks[1:]]
    assert sum(block.stop - block.start for block in blocks) == n_items
    assert all((block.stop - block.start) * n_classes <= max(1 << 20, n_classes) for block in blocks)
