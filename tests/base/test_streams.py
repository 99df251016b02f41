import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dissensus.base import streams
from dissensus.base.streams import bits, key, permutation, stream, uniform

MASK = (1 << 64) - 1
GOLDEN_KEY = 16764279652862563805
GOLDEN_BITS = [5785571808713955151, 5202807895417582154, 8557356140632867709]
GOLDEN_PERMUTATION = [7, 5, 1, 0, 3, 6, 2, 4]
GOLDEN_STREAM = [336, 369, 159, 70]


def splitmix64(state: int) -> int:
    """The published generator, one step, in whole numbers of Python (Steele, Lea & Flood, 2014)."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_the_reference_is_the_published_splitmix64():
    state, out = 1234567, []
    for _ in range(3):
        out.append(splitmix64(state))
        state = (state + 0x9E3779B97F4A7C15) & MASK
    assert out == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_bits_are_splitmix64_started_at_the_key():
    start = key(3, "sls", 7)
    expected = [splitmix64((start + i * 0x9E3779B97F4A7C15) & MASK) for i in range(100)]
    assert bits(3, "sls", 7, at=100).tolist() == expected


def test_golden_values():
    """These decide which label every past run has seen. They must never change."""
    assert key(0, "sls", 1) == GOLDEN_KEY
    assert bits(0, "golden", at=3).tolist() == GOLDEN_BITS
    assert uniform(0, "golden", at=3).tolist() == [b / 2**53 for b in (b >> 11 for b in GOLDEN_BITS)]
    assert permutation(8, 0, "golden").tolist() == GOLDEN_PERMUTATION
    assert stream(0, "golden").integers(0, 1000, 4).tolist() == GOLDEN_STREAM


def test_another_process_gives_the_same():
    code = (
        "from dissensus.base.streams import bits, stream; print(bits(1, 'a', at=2).tolist(), stream(1, 'a').random())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert told == f"{bits(1, 'a', at=2).tolist()} {stream(1, 'a').random()}"


@given(st.lists(st.integers(0, 2**40), max_size=50), st.integers(-(2**70), 2**70))
def test_any_positions_in_any_order_give_what_they_give_alone(positions, seed):
    together = uniform(seed, "x", at=np.array(positions, np.int64))
    assert together.tolist() == [uniform(seed, "x", at=[p])[0] for p in positions]


def test_blocks_leave_no_seam():
    n = 2 * streams._BLOCK + 5
    whole = bits(0, "seam", at=n)
    np.testing.assert_array_equal(whole, bits(0, "seam", at=np.arange(n)))
    np.testing.assert_array_equal(whole[[streams._BLOCK, n - 1]], bits(0, "seam", at=[streams._BLOCK, n - 1]))


def test_nothing_is_asked_for():
    assert bits(0, at=0).shape == bits(0, at=[]).shape == uniform(0, at=0).shape == (0,)


def test_names_and_numbers_do_not_run_together():
    keys = [
        key(*path)
        for path in [(0,), (1,), (0, "a"), (0, "a", 1), (0, "a1"), (0, 1, "a"), (0, "1"), (0, 1), (0, "a", "1")]
    ]
    assert len(set(keys)) == len(keys)
    assert key(np.int64(5), "a", np.int32(2)) == key(5, "a", 2)


def test_uniform_is_uniform():
    u = uniform(0, "test", at=200_000)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 0.001
    for low_bits in (bits(0, "test", at=200_000) & np.uint64(0xFF), bits(0, "test", at=200_000) >> np.uint64(56)):
        assert stats.chisquare(np.bincount(low_bits.astype(np.int64), minlength=256)).pvalue > 0.001


@pytest.mark.parametrize("other", [(0, "sls", 2), (1, "sls", 1), (0, "order", 1)], ids=["epoch", "seed", "name"])
def test_streams_of_another_epoch_seed_or_name_are_independent(other):
    a, b = uniform(0, "sls", 1, at=100_000), uniform(*other, at=100_000)
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(100_000)
    table = np.histogram2d(a, b, bins=16)[0]
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_neighbours_are_independent():
    u = uniform(0, "test", at=100_001)
    assert stats.chi2_contingency(np.histogram2d(u[:-1], u[1:], bins=16)[0]).pvalue > 0.001


def test_epochs_of_one_item_are_uniform():
    u = np.array([uniform(0, "sls", epoch, at=[17])[0] for epoch in range(5000)])
    assert stats.kstest(u, "uniform").pvalue > 0.001


def test_all_orders_are_equally_likely():
    orders = [tuple(permutation(4, seed, "test").tolist()) for seed in range(12_000)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 0.001


def test_a_stream_is_its_own():
    assert stream(0, "init").random(5).tolist() == stream(0, "init").random(5).tolist()
    assert stream(0, "init").random() != stream(0, "order").random()
