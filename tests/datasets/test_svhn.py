from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from dissensus.base.errors import InputError
from dissensus.datasets import load_images, svhn
from dissensus.datasets.svhn import read_svhn


@pytest.fixture
def images(rng, monkeypatch):
    monkeypatch.setattr(svhn, "ITEMS", 12)
    return rng.integers(0, 256, (32, 32, 3, 12), dtype=np.uint8)


@pytest.fixture
def write(folder):
    def to(**variables):
        (folder / "svhn").mkdir(parents=True, exist_ok=True)
        savemat(folder / svhn.TEST, variables, do_compression=True)  # as published: version 5, compressed
        return folder / svhn.TEST

    return to


def test_images_come_items_first(write, images):
    write(X=images, y=np.full((12, 1), 10, np.uint8))
    found = load_images("svhn")
    assert (found.dtype, found.shape) == (np.uint8, (12, 3, 32, 32))
    assert found.flags.c_contiguous
    assert found[7, 1, 20, 30] == images[20, 30, 1, 7]
    np.testing.assert_array_equal(found[3, 2], images[:, :, 2, 3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: {"images": x}, r"'X' in .*test_32x32.mat must be uint8 \(32, 32, 3, 12\), but is not there"),
        (lambda x: {"X": x[..., :-1]}, r"but is uint8 \(32, 32, 3, 11\)"),
        (lambda x: {"X": x / 255}, r"but is float64 \(32, 32, 3, 12\)"),
        (lambda x: {"X": "text"}, r"but is <U4"),
    ],
)
def test_another_structure_is_named(write, images, change, message):
    with pytest.raises(InputError, match=message):
        read_svhn(write(**change(images)))


@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 0.99])
def test_a_cut_off_file(write, images, share):
    path = write(X=images)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"test_32x32.mat"):
        read_svhn(path)


def test_damage_anywhere_is_an_error_that_names_the_file(write, images, rng):
    path = write(X=images)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for start in rng.integers(128, len(whole) - 8, 20):
        bad = whole.copy()
        bad[start : start + 8] ^= 0xFF
        path.write_bytes(bad.tobytes())
        with pytest.raises(InputError, match=r"test_32x32.mat is damaged"):
            read_svhn(path)


def test_no_mat_file_at_all(write, images):
    path = write(X=images)
    path.write_bytes(b"<html>moved</html>" * 100)
    with pytest.raises(InputError, match=r"test_32x32.mat is damaged or no .mat file"):
        read_svhn(path)
