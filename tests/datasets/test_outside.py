"""Sets of images that lie in the data folder under their names."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import data_folder, load_images


@pytest.fixture
def lay(folder):
    def at(name, **arrays):
        path = folder / "ood" / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)
        return path

    return at


def test_images_come_channels_first(lay, rng):
    images = rng.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    lay("streetview", images=images)
    found = load_images("streetview")
    assert (found.shape, found.flags.c_contiguous) == ((5, 3, 32, 32), True)
    assert found[4, 2, 10, 20] == images[4, 10, 20, 2]


def test_grey_images_have_one_channel(lay, rng):
    lay("digits", images=rng.integers(0, 256, (5, 8, 8, 1), dtype=np.uint8))
    assert load_images("digits").shape == (5, 1, 8, 8)


def test_a_part_of_an_official_set_stands_in_for_it(lay, rng):
    lay("cifar100", images=rng.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8))
    assert len(load_images("cifar100")) == 5


def test_what_lies_there_is_named_where_a_name_is_unknown(lay):
    lay("textures", images=np.zeros((1, 4, 4, 3), np.uint8))
    with pytest.raises(
        InputError, match=r"unknown set of images 'texture'; did you mean 'textures'\? .* svhn, textures"
    ):
        load_images("texture")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": np.zeros((2, 4, 4, 3), np.uint8)}, r"odd\.npz must hold an array 'images', but holds pictures"),
        ({"images": np.zeros((2, 4, 4, 3))}, r"must be uint8 \(items, height, width, 1 or 3\), but is float64"),
        ({"images": np.zeros((2, 3, 4, 4), np.uint8)}, r"but is uint8 \(2, 3, 4, 4\)"),
        ({"images": np.zeros((0, 4, 4, 3), np.uint8)}, r"but is uint8 \(0, 4, 4, 3\)"),
    ],
)
def test_another_structure_is_named(lay, arrays, message):
    lay("odd", **arrays)
    with pytest.raises(InputError, match=message):
        load_images("odd")


@pytest.mark.parametrize("share", [0, 0.1, 0.9])
def test_a_damaged_file_is_named(lay, share):
    path = lay("odd", images=np.zeros((2, 4, 4, 3), np.uint8))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"odd\.npz is damaged"):
        load_images("odd")


@pytest.mark.parametrize("name", ["streetview", "dtd", "cifar100"])
def test_the_real_ones(name):
    if not (data_folder() / "ood" / f"{name}.npz").is_file():
        pytest.skip(f"DISSENSUS_DATA names no folder with ood/{name}.npz")
    assert load_images(name).shape[1:] == (3, 32, 32)


def test_a_folder_of_images_is_a_set(tmp_path):
    from PIL import Image

    wide = np.zeros((8, 16, 3), np.uint8)
    wide[:, :8] = 200
    Image.fromarray(wide).save(tmp_path / "b.png")
    Image.fromarray(np.full((10, 10, 3), 7, np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("not an image")
    found = load_images(str(tmp_path))
    assert found.shape == (2, 3, 10, 10)  # the size of the first
    assert (found[0] == 7).all()
    assert load_images(str(tmp_path), size=(2, 4))[1, 0, :, [0, 3]].tolist() == [[200, 200], [0, 0]]


def test_a_file_of_ones_own_is_a_set(tmp_path):
    images = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    np.savez(tmp_path / "own.npz", images=images)
    np.testing.assert_array_equal(load_images(str(tmp_path / "own.npz")), images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("place", ["not/there", "missing.npz"])
def test_a_place_that_is_not_there_is_named(place):
    with pytest.raises(InputError, match=f"there is no folder and no file {place}"):
        load_images(place)
