from __future__ import annotations

import subprocess
import sys

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import DATASETS, Dataset, load


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_can_be_loaded_by_name(name):
    data = load(name)
    assert isinstance(data, Dataset)
    assert data.name == name


def test_an_unknown_name():
    with pytest.raises(InputError, match="unknown data set 'glyfs'; did you mean 'glyphs'"):
        load("glyfs")


def test_an_unknown_option():
    with pytest.raises(InputError, match="unknown option of glyphs 'item'; did you mean 'items'"):
        load("glyphs", item=5)


def test_importing_the_room_is_light():
    heavy = "torch", "matplotlib", "PIL", "scipy", "pandas"
    code = f"import sys, dissensus.datasets; print([name for name in {heavy} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
