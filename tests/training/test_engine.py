from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from dissensus.base.errors import InputError
from dissensus.training import Engine


def test_what_is_on_by_default() -> None:
    assert dataclasses.asdict(Engine()) == {
        "resident": True,
        "channels_last": True,
        "graph": True,
        "compile": False,
        "kernels": True,
    }


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Engine)])
def test_a_switch_is_on_or_off(name: str) -> None:
    assert getattr(Engine(**{name: False}), name) is False
    with pytest.raises(InputError, match=f"{name} must be True or False, but is 'yes'"):
        Engine(**{name: "yes"})


def test_an_engine_needs_no_torch() -> None:
    code = "import sys; from dissensus.training import Engine; Engine(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
