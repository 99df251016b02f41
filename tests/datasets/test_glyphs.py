from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import stats

from dissensus.base.errors import InputError
from dissensus.datasets import load
from dissensus.datasets.glyphs import CLASSES, LOOKALIKES, _look, _pool, _scene
from dissensus.votes.synthetic import expected

# The set as it was published. If this changes, so has the data: raise its version, and old runs no longer compare.
GOLDEN = {
    "inputs": "618a36a6ea2a23bbc5ed7c6b2cf49ff0769064dc68fa01590c25575adbcc9c4f",
    "votes": "e4e71f9f509b83bea0e16506d79326cc1341b6af3fb0735ccb1383f81562c4e7",
    "truth": "5c006b72fe7979da73c076c4341b4bcb4e0fc668afd35c275c150dadecaa506a",
}
PRINT_DIGESTS = """
import hashlib, json
from dissensus.datasets import load
data = load("glyphs")
print(json.dumps({**data.digest(), "truth": hashlib.sha256(data.truth.astype("<f8").tobytes()).hexdigest()}))
"""


@pytest.fixture(scope="module")
def data():
    return load("glyphs")


def test_golden(data):
    assert {**data.digest(), "truth": hashlib.sha256(data.truth.astype("<f8").tobytes()).hexdigest()} == GOLDEN
    assert data.version == 1


def test_golden_in_another_process_with_another_hash_seed_and_plain_instructions():
    # NumPy picks its loops by what the processor can do; without AVX the bytes must be the same.
    multiarray = pytest.importorskip("numpy._core._multiarray_umath")
    fast = [name for name in multiarray.__cpu_dispatch__ if multiarray.__cpu_features__.get(name)]
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "NPY_DISABLE_CPU_FEATURES": " ".join(fast)}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_DIGESTS], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(GOLDEN).replace("'", '"')


def test_drawn_in_two_seconds():
    def seconds():
        began = time.process_time()
        load("glyphs")
        return time.process_time() - began

    assert any(seconds() < 2 for _ in range(3))  # 0.4 alone on a core; a crowded machine may need a second try


def test_what_is_there(data):
    assert data.inputs.shape == (3000, 3, 20, 20)
    assert data.inputs.dtype == np.uint8
    assert data.votes.classes == CLASSES
    assert data.votes.items[[0, 42]].tolist() == ["glyph-00000", "glyph-00042"]
    assert (data.votes.votes_per_item.min(), data.votes.votes_per_item.max()) == (10, 20)
    assert np.bincount(data.labels, minlength=10).min() > 250


def test_an_annotator_votes_once_on_an_item(data):
    item = np.repeat(np.arange(3000), data.votes.votes_per_item)
    pairs = set(zip(item.tolist(), data.votes.annotators.tolist(), strict=True))
    assert len(pairs) == data.votes.n_votes


def test_a_larger_set_begins_with_the_smaller_one(data):
    small = load("glyphs", items=300)
    np.testing.assert_array_equal(small.inputs, data.inputs[:300])
    np.testing.assert_array_equal(small.truth, data.truth[:300])
    assert small.votes == data.votes.take(slice(300))


def test_another_seed_is_another_set(data):
    other = load("glyphs", items=300, seed=1)
    assert other.digest() != load("glyphs", items=300).digest()
    assert (other.labels != data.labels[:300]).any()


def test_lookalikes_are_mutual():
    for name, others in LOOKALIKES.items():
        assert len(set(others)) == 4
        assert name not in others
        assert all(name in LOOKALIKES[other] for other in others)


def test_truth_is_a_distribution_and_is_what_the_annotators_say_on_average(data):
    np.testing.assert_allclose(data.truth.sum(1), 1, atol=1e-14)
    assert data.truth.min() > 0
    np.testing.assert_allclose(data.truth, expected(_look(_scene(0, 3000)), _pool()), atol=1e-12)


def test_an_even_blend_divides_its_annotators():
    scene = _scene(0, 3000)
    even = np.flatnonzero((np.abs(scene.weight - 0.5) < 0.01) & (scene.haze == 0))
    look = _look(scene)[even]
    assert len(even) > 10
    np.testing.assert_allclose(look[np.arange(len(even)), scene.first[even]], 0.5, atol=0.03)
    np.testing.assert_allclose(look[np.arange(len(even)), scene.second[even]], 0.5, atol=0.03)


def test_items_as_real_sets_have_them(data):
    scene = _scene(0, 3000)
    assert np.mean(scene.weight > 0) == pytest.approx(0.45, abs=0.03)
    assert np.mean(scene.haze > 0) == pytest.approx(0.35, abs=0.03)
    assert 0.4 < np.mean(data.truth.max(1) >= 0.9) < 0.5  # nearly unanimous
    np.testing.assert_array_equal(data.labels, data.truth.argmax(1))


def chi_square(counts, truth):
    """Pearson's statistic and its degrees of freedom over all items; classes expected below 5 times count as one."""
    statistic = freedom = 0.0
    for row, p in zip(counts, truth, strict=True):
        often = p * row.sum() >= 5
        observed = np.append(row[often], row[~often].sum())
        wanted = np.append(p[often], p[~often].sum()) * row.sum()
        if wanted[-1] < 5:  # too little left over for a cell of its own: joins the rarest of the others
            rarest = wanted[:-1].argmin()
            observed[rarest] += observed[-1]
            wanted[rarest] += wanted[-1]
            observed, wanted = observed[:-1], wanted[:-1]
        statistic += ((observed - wanted) ** 2 / wanted).sum()
        freedom += len(wanted) - 1
    return statistic, freedom


def test_votes_follow_the_truth():
    data = load("glyphs", items=1500, votes=75)
    assert data.votes.n_votes > 100_000
    statistic, freedom = chi_square(data.votes.counts(), data.truth)
    assert freedom > 1000
    assert 0.001 < stats.chi2.sf(statistic, freedom) < 0.999
    # and the test can tell: the same votes do not follow a truth that is off by 5 points
    off = 0.95 * data.truth + 0.005
    assert stats.chi2.sf(chi_square(data.votes.counts(), off)[0], freedom) < 1e-6


def test_annotators_err_as_often_as_they_should(data):
    plain = data.truth.max(1) > 0.98  # neither blended nor hazy: whoever says something else has erred
    item = np.repeat(np.arange(3000), data.votes.votes_per_item)
    wrong = data.votes.codes != data.labels[item]
    kind = np.array([str(name).partition("-")[0] for name in data.votes.annotator_names])[data.votes.annotators]
    for name, rate in {"careful": 0.005, "hasty": 0.05, "careless": 0.3}.items():
        own = wrong[plain[item] & (kind == name)]
        assert own.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / len(own)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": 0}, "items of glyphs must be a whole number from 1 to 1000000, but is 0"),
        ({"items": 2.5}, "whole number from 1 to 1000000, but is 2.5"),
        ({"votes": 76}, "votes of glyphs must be a whole number from 1 to 75, but is 76"),
        ({"votes": True}, "but is True"),
        ({"seed": "a"}, "seed of glyphs must be a whole number, but is 'a'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        load("glyphs", **options)


def test_one_item_and_one_vote():
    data = load("glyphs", items=1, votes=1)
    assert data.votes.votes_per_item.tolist() == [1]
