from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from dissensus.base.errors import InputError
from dissensus.datasets import own_data
from dissensus.votes import Votes

NAMES = ["b", "a", "c"]


def votes_on(items):
    return Votes.from_counts([[2, 1], [0, 3], [1, 1]], items=items)


def colour(value, height=6, width=8):
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0], pixels[0, 1, 2] = value, 200
    return pixels


@pytest.fixture
def folder(tmp_path):
    for value, name in enumerate(NAMES):
        Image.fromarray(colour(10 * value)).save(tmp_path / f"{name}.png")
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / ".hidden.png").write_text("no image either")
    return tmp_path


@pytest.mark.parametrize("ending", ["", ".png"])
def test_file_names_are_ids_with_or_without_the_ending(folder, ending):
    data = own_data(votes_on([name + ending for name in NAMES]), folder)
    assert data.inputs.shape == (3, 3, 6, 8)
    assert data.inputs[:, 0, 3, 3].tolist() == [0, 10, 20]  # by id: in the folder a comes first
    assert data.inputs[1, :, 0, 1].tolist() == [10, 0, 200]


def test_numbers_as_names(tmp_path):
    for number in (12, 7, 100):
        Image.fromarray(colour(number)).save(tmp_path / f"{number}.png")
    assert own_data(votes_on([100, 7, 12]), tmp_path).inputs[:, 0, 3, 3].tolist() == [100, 7, 12]


def test_grey_images_keep_one_channel_unless_some_are_coloured(tmp_path):
    grey = np.arange(48, dtype=np.uint8).reshape(6, 8)
    for name in NAMES:
        Image.fromarray(grey).save(tmp_path / f"{name}.png")
    np.testing.assert_array_equal(own_data(votes_on(NAMES), tmp_path).inputs[2, 0], grey)

    Image.fromarray(colour(5)).save(tmp_path / "a.png")
    data = own_data(votes_on(NAMES), tmp_path)
    assert data.inputs.shape == (3, 3, 6, 8)
    np.testing.assert_array_equal(data.inputs[2], np.stack([grey] * 3))


def test_palettes_and_full_alpha_lose_nothing(folder):
    image = Image.fromarray(colour(10))
    image.convert("RGBA").save(folder / "a.png")
    image.quantize(4).save(folder / "b.png")
    data = own_data(votes_on(NAMES), folder)
    np.testing.assert_array_equal(data.inputs[1], colour(10).transpose(2, 0, 1))
    np.testing.assert_array_equal(data.inputs[0], colour(10).transpose(2, 0, 1))


def test_images_are_turned_upright(folder):
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    Image.fromarray(colour(10, 8, 6)).save(folder / "a.png", exif=exif)
    assert own_data(votes_on(NAMES), folder).inputs.shape == (3, 3, 6, 8)


def test_an_odd_size_is_named_and_mended_by_size(folder):
    Image.fromarray(colour(10, 12, 16)).save(folder / "a.png")
    with pytest.raises(
        InputError, match=r"a.png is 12 x 16 and .*b.png is 6 x 8. .* height and width in pixels, .* size=\.\.\."
    ):
        own_data(votes_on(NAMES), folder)
    assert own_data(votes_on(NAMES), folder, size=(5, 4)).inputs.shape == (3, 3, 5, 4)


@pytest.mark.parametrize("size", [(0, 4), (4,), (4.5, 4)])
def test_a_bad_size(folder, size):
    with pytest.raises(InputError, match=r"size must be \(height, width\) in pixels"):
        own_data(votes_on(NAMES), folder, size=size)


def test_two_files_of_one_name(folder):
    Image.fromarray(colour(10)).save(folder / "a.bmp")
    with pytest.raises(InputError, match="id 'a' occurs more than once"):
        own_data(votes_on(NAMES), folder)


def test_missing_and_spare_files(folder):
    (folder / "a.png").rename(folder / "d.png")
    with pytest.raises(InputError, match=r"item 'a' has votes but no input in .* input 'd' has no votes"):
        own_data(votes_on(NAMES), folder)


def test_a_folder_without_images(tmp_path):
    (tmp_path / "cats").mkdir()
    with pytest.raises(InputError, match=r"holds no images .* Folders inside of it are not searched"):
        own_data(votes_on(NAMES), tmp_path)


def test_a_broken_file_is_named(folder):
    (folder / "a.png").write_bytes((folder / "a.png").read_bytes()[:60])
    with pytest.raises(InputError, match=r"a.png cannot be read as an image"):
        own_data(votes_on(NAMES), folder)


def test_what_cannot_be_shown_in_eight_bits_is_refused(folder):
    Image.fromarray(np.full((6, 8), 40_000, np.uint16)).save(folder / "a.png")
    with pytest.raises(InputError, match=r"a.png has the mode 'I;16', but images need eight bits"):
        own_data(votes_on(NAMES), folder)


def test_transparency_is_refused(folder):
    Image.fromarray(np.zeros((6, 8, 4), np.uint8)).save(folder / "a.png")
    with pytest.raises(InputError, match=r"a.png is transparent in places"):
        own_data(votes_on(NAMES), folder)
