from __future__ import annotations

import re
import time

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import cifar, load
from dissensus.datasets.cifar10h import COUNTS, read_counts
from dissensus.votes import entropy


@pytest.fixture
def counts(small, folder):
    return np.load(folder / COUNTS)


def test_images_votes_and_labels_of_one_order(small, counts):
    data = load("cifar10h")
    batch = small[cifar.TEST]
    np.testing.assert_array_equal(data.inputs.reshape(30, -1), batch["data"])
    np.testing.assert_array_equal(data.votes.counts(), counts)
    assert data.labels.tolist() == batch["labels"]
    assert data.votes.items[[0, 29]].tolist() == ["cifar10-test-00000", "cifar10-test-00029"]
    assert data.votes.classes == cifar.CLASSES
    assert data.votes.annotators is None
    assert data.truth is None


def test_ties_go_to_the_label(small, counts, folder):
    counts[:, 0] = counts.max(1)
    np.save(folder / COUNTS, counts)
    assert load("cifar10h").votes.counts()[:, 0].tolist() == counts[:, 0].tolist()


def test_votes_in_another_order_are_refused(small, counts, folder):
    np.save(folder / COUNTS, np.roll(counts, 1, 0))
    with pytest.raises(InputError) as error:
        load("cifar10h")
    message = str(error.value)
    assert str(folder / COUNTS) in message
    assert str(folder / cifar.TEST) in message
    assert "one of the two is in another order" in message
    assert "dissensus data get cifar10h" in message


def test_another_batch_in_place_of_the_test_images_is_refused(small, folder, put):
    put(folder / cifar.TEST, (folder / cifar.TRAIN[2]).read_bytes())
    with pytest.raises(InputError, match=r"for \d+.\d% of the images, but for 99.2% in the published files"):
        load("cifar10h")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c / c.sum(1, keepdims=True),
            r"holds float64 \(30, 10\). Shares are not enough: cifar10h-counts.npy",
        ),
        (lambda c: c[:-1], r"whole numbers \(30, 10\), but holds int64 \(29, 10\)"),
        (lambda c: c.T, r"but holds int64 \(10, 30\)"),
        (lambda c: c * (np.arange(30) != 4)[:, None], r"row 4 is \[0, 0, 0, 0, 0, 0, 0, 0, 0, 0\]"),
        (lambda c: c - (np.arange(30) == 4)[:, None] * 9, r"row 4 is \[.*-"),
    ],
)
def test_another_structure_is_named(counts, folder, change, message):
    np.save(folder / COUNTS, change(counts))
    with pytest.raises(InputError, match=rf"cifar10h-counts.npy must hold .*{message}"):
        load("cifar10h")


@pytest.mark.parametrize("size", [3, 40, 127, 128, 1000])
def test_a_cut_off_file(counts, folder, size):
    (folder / COUNTS).write_bytes((folder / COUNTS).read_bytes()[:size])
    with pytest.raises(InputError, match=r"cifar10h-counts.npy is damaged or no .npy file"):
        read_counts(folder / COUNTS)


@pytest.mark.parametrize("shape", ["(30, 90000000000)", "(-1, 10)", "(30, 11)", "(3, 10"])
def test_a_damaged_head(counts, folder, shape):
    whole = (folder / COUNTS).read_bytes()
    damaged = re.sub(rb"\(30, 10\), } *", lambda old: f"{shape}, }}".encode().ljust(len(old[0])), whole, count=1)
    assert damaged != whole
    (folder / COUNTS).write_bytes(damaged)
    with pytest.raises(InputError, match=r"cifar10h-counts.npy (is damaged|must hold)"):
        read_counts(folder / COUNTS)


def test_a_single_vote_that_is_not_as_published_is_damage(real, tmp_path):
    counts = np.load(real(COUNTS))
    np.save(tmp_path / "cifar10h-counts.npy", counts.astype(np.int16))
    np.testing.assert_array_equal(read_counts(tmp_path / "cifar10h-counts.npy"), counts)  # as small numbers, too
    counts[4321, 3] += 1
    np.save(tmp_path / "cifar10h-counts.npy", counts)
    with pytest.raises(InputError, match=r"counts.npy is damaged: its votes are not those that were published"):
        read_counts(tmp_path / "cifar10h-counts.npy")


def test_objects_are_not_unpickled(counts, folder):
    np.save(folder / COUNTS, counts.astype(object), allow_pickle=True)
    with pytest.raises(InputError, match=r"cifar10h-counts.npy is damaged or no .npy file \(Object arrays cannot"):
        read_counts(folder / COUNTS)


def test_the_real_votes(real, monkeypatch):
    monkeypatch.setenv("DISSENSUS_DATA", str(real(COUNTS).parents[1]))
    real(cifar.TEST)
    data = load("cifar10h")
    counts = data.votes.counts()
    assert (data.votes.n_items, data.votes.n_votes) == (10_000, 511_000)
    assert (data.votes.votes_per_item.min(), data.votes.votes_per_item.max()) == (47, 63)
    assert (counts.argmax(1) == data.labels).mean() == pytest.approx(0.9921, abs=1e-4)
    assert (counts.max(1) == counts.sum(1)).mean() == pytest.approx(0.439, abs=5e-4)  # unanimous
    assert entropy(data.votes).mean() == pytest.approx(0.1545, abs=1e-4)
    assert ((counts == counts.max(1, keepdims=True)).sum(1) > 1).sum() == 3  # ties


def test_loading_takes_less_than_a_second(real, monkeypatch):
    monkeypatch.setenv("DISSENSUS_DATA", str(real(COUNTS).parents[1]))
    real(cifar.TEST)

    def seconds():
        began = time.process_time()
        load("cifar10h").digest()
        return time.process_time() - began

    assert any(seconds() < 1 for _ in range(3))  # 0.15 measured
