from __future__ import annotations

import numpy as np
import pytest

from dissensus.targets.counting import counts_at, in_blocks, tally_at
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


@pytest.mark.parametrize("n_items", [0, 3, 100])
def test_a_tally_is_the_rows_without_their_zeros(votes, n_items):
    at = np.random.default_rng(1).integers(0, votes.n_items, n_items)
    rows = votes.counts()[at].reshape(-1)
    cells, times = tally_at(votes, at)
    np.testing.assert_array_equal(cells, np.flatnonzero(rows))
    np.testing.assert_array_equal(times, rows[cells])


@pytest.mark.parametrize("n_classes", [2, 300])  # more votes than cells, and fewer
def test_a_tally_is_the_same_however_many_classes_there_are(n_classes):
    counts = np.zeros((60, n_classes), int)
    counts[:, [0, -1]] = np.random.default_rng(0).integers(0, 9, (60, 2))
    cells, times = tally_at(Votes.from_counts(counts), np.arange(60))
    rebuilt = np.zeros(counts.size, int)
    rebuilt[cells] = times
    np.testing.assert_array_equal(rebuilt.reshape(counts.shape), counts)
    assert (np.diff(cells) > 0).all()
    assert (times > 0).all()


@pytest.mark.parametrize(("n_items", "n_classes"), [(0, 3), (1, 1), (3_000_000, 2), (5000, 1000), (3, 1 << 22)])
def test_blocks_are_a_partition_of_bounded_parts(n_items, n_classes):
    blocks = list(in_blocks(n_items, n_classes))
    assert [i for block in blocks for i in (block.start, block.stop)][1:-1:2] == [b.start for b in blocks[1:]]
    assert sum(block.stop - block.start for block in blocks) == n_items
    assert all((block.stop - block.start) * n_classes <= max(1 << 20, n_classes) for block in blocks)
