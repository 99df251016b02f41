from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import cifar, load_images
from dissensus.datasets.cifar import read_batch, read_batch_100


@pytest.fixture
def batch(rng, batch_of):
    return batch_of(rng)


@pytest.fixture
def write(folder, put, python2_pickle):
    return lambda value, file=cifar.TEST: put(folder / file, python2_pickle(value))


def test_a_batch(write, batch):
    found = read_batch(write(batch))
    assert (found.images.dtype, found.images.shape) == (np.uint8, (len(batch["labels"]), 3, 32, 32))
    assert found.labels.tolist() == batch["labels"]
    assert found.labels.dtype == np.int64


def test_pixels_lie_as_published_red_plane_first_row_by_row(write, batch):
    row = np.zeros(3072, np.uint8)
    row[1024 + 2 * 32 + 5] = 99  # green, third line, sixth from the left
    batch["data"][3] = row
    image = read_batch(write(batch)).images[3]
    assert np.argwhere(image).tolist() == [[1, 2, 5]]
    assert image[1, 2, 5] == 99


def test_without_the_keys_that_are_not_needed(write, batch):
    del batch["filenames"], batch["batch_label"]
    assert len(read_batch(write(batch)).labels) == len(batch["labels"])


def test_cifar100(write, rng, batch_of, folder):
    batch = batch_of(rng, classes=100, key="fine_labels") | {"coarse_labels": [0] * 30}
    path = write(batch, cifar.TEST_100)
    assert read_batch_100(path).labels.tolist() == batch["fine_labels"]
    np.testing.assert_array_equal(load_images("cifar100").reshape(30, -1), batch["data"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda b: b.pop("labels"),
            r"test_batch must hold 'data' and 'labels', but holds 'batch_label', 'data', 'filen",
        ),
        (lambda b: b.pop("data"), "Is it another file of that name"),
        (
            lambda b: b.update(data=b["data"][:-1]),
            r"'data' in .*test_batch must be uint8 \(30, 3072\), but is uint8 \(29",
        ),
        (lambda b: b.update(data=b["data"].astype(np.int64)), r"but is int64 \(30, 3072\)"),
        (lambda b: b.update(data=[1]), r"'data' in .*test_batch must be .* but is a list"),
        (lambda b: b["labels"].pop(), r"'labels' in .*test_batch must be a list of 30 labels, but is 29"),
        (lambda b: b.update(labels="x"), "must be a list of 30 labels, but is a bytes"),
        (lambda b: b["labels"].__setitem__(4, 10), r"'labels' in .*test_batch must be 0 to 9, but image 4 has '10'"),
        (lambda b: b["labels"].__setitem__(7, -1), "image 7 has '-1'"),
        (lambda b: b["labels"].__setitem__(7, [3]), r"image 7 has '\[3\]'"),
    ],
)
def test_another_structure_is_named(write, batch, change, message):
    change(batch)
    with pytest.raises(InputError, match=message):
        read_batch(write(batch))


def test_a_batch_of_cifar10_in_place_of_cifar100(write, batch):
    with pytest.raises(InputError, match="must hold 'data' and 'fine_labels'"):
        read_batch_100(write(batch, cifar.TEST_100))


def test_a_cut_off_batch(write, batch):
    path = write(batch)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match="test_batch is damaged or cut off"):
        read_batch(path)


def content(batch):
    return hashlib.sha256(batch["data"].tobytes() + bytes(batch["labels"])).hexdigest()


@pytest.mark.parametrize("change", [lambda b: b["data"].__setitem__((29, 3071), 7), lambda b: b["labels"].reverse()])
def test_a_pixel_or_label_that_is_not_as_published_is_damage(write, batch, monkeypatch, change):
    batch["data"][29, 3071] = 6
    monkeypatch.setattr(cifar, "CONTENT", {"test_batch": content(batch)})
    read_batch(write(batch))
    change(batch)
    with pytest.raises(InputError, match=r"test_batch is damaged: its images or labels are not as published. Remove"):
        read_batch(write(batch))


def test_another_batch_under_the_name_of_one_is_told(write, rng, batch, batch_of, monkeypatch):
    other = batch_of(rng)
    monkeypatch.setattr(cifar, "CONTENT", {"test_batch": content(batch), "data_batch_4": content(other)})
    with pytest.raises(InputError, match=r"test_batch holds the content of data_batch_4. Remove it"):
        read_batch(write(other))


def test_zeros_in_the_real_images_are_damage(real, tmp_path):
    damaged = bytearray(real(cifar.TEST).read_bytes())
    damaged[15_000_000:15_004_096] = bytes(4096)
    (tmp_path / "test_batch").write_bytes(damaged)
    with pytest.raises(InputError, match="test_batch is damaged"):
        read_batch(tmp_path / "test_batch")


def test_the_real_test_images(real):
    batch = read_batch(real(cifar.TEST))
    assert batch.images.shape == (10_000, 3, 32, 32)
    assert np.bincount(batch.labels).tolist() == [1000] * 10
    assert batch.labels[:5].tolist() == [3, 8, 8, 0, 6]  # a cat, two ships, an airplane, a frog
    # mean and deviation as everyone has them for the test images
    np.testing.assert_allclose(batch.images.mean((0, 2, 3)) / 255, [0.4942, 0.4851, 0.4504], atol=1e-4)
    np.testing.assert_allclose(batch.images.std((0, 2, 3)) / 255, [0.2467, 0.2429, 0.2616], atol=1e-4)
