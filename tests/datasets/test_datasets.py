from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import DATASETS, IMAGES, OFFICIAL, Dataset, load, load_images


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_can_be_loaded_by_name(name):
    if not OFFICIAL[name].there:
        pytest.skip(f"DISSENSUS_DATA names no folder with {name}")
    data = load(name)
    assert isinstance(data, Dataset)
    assert data.name == name
    assert len(data) == OFFICIAL[name].items


@pytest.mark.parametrize("name", IMAGES)
def test_every_set_of_images_can_be_loaded_by_name(name):
    if not OFFICIAL[name].there:
        pytest.skip(f"DISSENSUS_DATA names no folder with {name}")
    images = load_images(name)
    assert (images.dtype, images.shape) == (np.uint8, (OFFICIAL[name].items, 3, 32, 32))


@pytest.mark.parametrize("name", [name for name in DATASETS | IMAGES if name != "glyphs"])
def test_a_set_that_is_not_there_says_how_to_get_it(name, folder):
    with pytest.raises(
        InputError, match=rf"{name} needs .* Run: dissensus data get {name}, .*, or point DISSENSUS_DATA"
    ):
        load(name) if name in DATASETS else load_images(name)


def test_an_unknown_name():
    with pytest.raises(InputError, match="unknown data set 'glyfs'; did you mean 'glyphs'"):
        load("glyfs")


def test_an_unknown_set_of_images():
    with pytest.raises(InputError, match="unknown set of images 'shvn'; did you mean 'svhn'"):
        load_images("shvn")


def test_an_unknown_option():
    with pytest.raises(InputError, match="unknown option of glyphs 'item'; did you mean 'items'"):
        load("glyphs", item=5)


def test_importing_the_room_is_light():
    heavy = "torch", "matplotlib", "PIL", "scipy", "pandas", "rich", "urllib.request"
    code = f"import sys, dissensus.datasets; print([name for name in {heavy} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
