import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import dissensus.diagnostics as room


def test_names_of_functions_are_not_hidden_by_their_files():
    program = (
        "import dissensus.diagnostics.curvature, dissensus.diagnostics.hvp\n"
        "from dissensus.diagnostics import curvature, hvp\n"
        "from dissensus.diagnostics.hvp import Hessian\n"
        "assert callable(curvature) and callable(hvp)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'curvatura'"):
        room.curvatura  # noqa: B018


@pytest.mark.parametrize("name", room.__all__)
def test_every_name_has_its_home(name):
    assert not isinstance(getattr(room, name), ModuleType)


FUNCTIONS = [name for name in room.__all__ if inspect.isfunction(getattr(room, name))]


@pytest.mark.parametrize("name", [*FUNCTIONS, "Hessian"])
def test_every_function_tells_its_formula_its_source_and_shows_it(name):
    told = inspect.getdoc(getattr(room, name))
    words = "\n".join(line for line in told.splitlines() if not line.startswith((">>>", "...")))
    assert ":math:" in words or ".. math::" in words
    assert re.search(r"\b(19|20)\d\d\b|arXiv", words)
    assert ">>>" in told


def test_the_room_opens_without_torch():
    program = "import sys, dissensus.diagnostics; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_that_need_torch_say_so_where_it_is_missing():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import dissensus.diagnostics as room\n"
        "from dissensus.base.errors import MissingExtra\n"
        "try:\n    room.hvp\nexcept MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert 'pip install "dissensus[train]"' in done.stdout
