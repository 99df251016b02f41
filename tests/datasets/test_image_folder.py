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
    with pytest.raises(InputError, match=r"^id 'a' is that of a.bmp and a.png in .* ids as paths, such as 'a.bmp'"):
        own_data(votes_on(NAMES), folder)
    assert len(own_data(votes_on(["a.bmp", "b.png", "c.png"]), folder)) == 3


@pytest.fixture
def nested(tmp_path):
    """Four images: pictures/a, pictures/cats/a, pictures/cats/b and pictures/eels/old/c."""
    folder = tmp_path / "pictures"
    for value, name in enumerate(["a", "cats/a", "cats/b", "eels/old/c"]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(colour(10 * value)).save(folder / f"{name}.png")
    (folder / ".thumbnails").mkdir()
    Image.fromarray(colour(99)).save(folder / ".thumbnails" / "b.png")
    return folder


@pytest.mark.parametrize("ending", ["", ".png"])
@pytest.mark.parametrize("above", ["", "pictures/", "{}/pictures/", "s3://mine/", "/data/upload/7/"])
def test_images_in_folders_inside_are_known_by_their_paths(nested, above, ending):
    above = above.format(nested.parent)
    paths = [f"{above}{name}{ending}" for name in ("eels/old/c", "a", "cats/a")]
    data = own_data(votes_on(paths), nested)
    assert data.inputs[:, 0, 3, 3].tolist() == [30, 0, 10]
    assert data.votes.notes == (f"Inputs without votes are left out: 1 of 4 (first: '{above}cats/b{ending}').",)


@pytest.mark.parametrize("above", ["", "pictures\\", "C:\\mine\\"])
def test_paths_of_windows_are_paths(nested, above):
    paths = [above + name for name in ("eels\\old\\c.png", "a.png", "cats\\a.png")]
    data = own_data(votes_on(paths), nested)
    assert data.inputs[:, 0, 3, 3].tolist() == [30, 0, 10]
    assert data.votes.items.tolist() == paths


def test_a_folder_beside_the_one_that_was_given_is_not_taken_for_it(nested):
    votes = Votes.from_counts([[2, 1], [0, 3]], items=["dogs/a.png", "dogs/b.png"])
    with pytest.raises(InputError, match="No id is in both"):
        own_data(votes, nested / "cats")


@pytest.mark.parametrize("ending", ["", ".png"])
def test_a_name_alone_is_enough_where_one_file_has_it(nested, ending):
    (nested / "a.png").unlink()
    data = own_data(votes_on([f"{name}{ending}" for name in "cab"]), nested)
    assert data.inputs[:, 0, 3, 3].tolist() == [30, 10, 20]


def test_a_name_that_two_files_have_is_refused(nested):
    with pytest.raises(InputError, match=r"^id 'a' is that of a.png and cats/a.png in .*pictures\. Write ids as paths"):
        own_data(votes_on(["a", "b", "c"]), nested)


def test_a_path_goes_before_a_name(nested):
    for name in "bc":
        Image.fromarray(colour(50)).save(nested / f"{name}.png")
    data = own_data(votes_on(["a", "b", "c"]), nested)  # and not those of the same names in the folders inside
    assert data.inputs[:, 0, 3, 3].tolist() == [0, 50, 50]
    (nested / "b.png").unlink()
    with pytest.raises(
        InputError, match=r"^item 'b' has votes but no input .* \('cats/a', 'cats/b', .*\) have no votes"
    ):
        own_data(votes_on(["a", "b", "c"]), nested)


def test_folders_that_are_links_are_searched_once(nested, tmp_path):
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "inside").symlink_to(nested / "cats")
    (nested / "cats" / "back").symlink_to(nested)
    votes = Votes.from_counts([[2, 1], [0, 3]], items=["inside/b", "inside/a"])
    data = own_data(votes, tmp_path / "linked")
    assert not data.votes.notes  # nothing was found twice by the link that leads back
    assert data.inputs[:, 0, 3, 3].tolist() == [20, 10]


def test_missing_and_spare_files(folder):
    (folder / "a.png").rename(folder / "d.png")
    with pytest.raises(InputError, match=r"item 'a' has votes but no input in .* input 'd' has no votes"):
        own_data(votes_on(NAMES), folder)


def test_a_folder_without_images(tmp_path):
    (tmp_path / "cats").mkdir()
    with pytest.raises(InputError, match=r"holds no images .* and neither do the folders inside of it"):
        own_data(votes_on(NAMES), tmp_path)


def test_more_images_than_memory_holds_are_refused_and_not_read(folder, monkeypatch):
    (folder / "c.png").write_text("which is not come to")
    monkeypatch.setattr("dissensus.datasets.image_folder.memory", lambda: 800)
    with pytest.raises(InputError, match=r"^3 images of 6 x 8 need .* memory, .* such as \[64, 64\], with size="):
        own_data(votes_on(NAMES), folder)
    Image.fromarray(colour(9)).save(folder / "c.png")
    assert len(own_data(votes_on(NAMES), folder, size=(4, 4))) == 3


def test_large_images_are_told_of(folder):
    for name in NAMES:
        Image.fromarray(colour(10, 10, 300)).save(folder / f"{name}.png")
    (note,) = own_data(votes_on(NAMES), folder).votes.notes
    assert note.startswith("Images of 10 x 300 pixels train slowly; the option size=[64, 64]")
    assert not own_data(votes_on(NAMES), folder, size=(10, 299)).votes.notes


def test_a_broken_file_is_named(folder):
    (folder / "a.png").write_bytes((folder / "a.png").read_bytes()[:60])
    with pytest.raises(InputError, match=r"a.png cannot be read as an image \(.*\)\. Replace or remove it"):
        own_data(votes_on(NAMES), folder)


def test_what_cannot_be_shown_in_eight_bits_is_refused(folder):
    Image.fromarray(np.full((6, 8), 40_000, np.uint16)).save(folder / "a.png")
    with pytest.raises(InputError, match=r"a.png has the mode 'I;16', but images need eight bits"):
        own_data(votes_on(NAMES), folder)


def test_transparency_is_refused(folder):
    Image.fromarray(np.zeros((6, 8, 4), np.uint8)).save(folder / "a.png")
    with pytest.raises(InputError, match=r"a.png is transparent in places"):
        own_data(votes_on(NAMES), folder)
