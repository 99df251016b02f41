from __future__ import annotations

import pytest

from dissensus.experiment.mistakes import Mistake, line_of, plan_error

TEXT = """\
# recipe.epochs = 5
methods = ["soft"]
recipe.lr = 0.1
[data]
name = "glyphs"
options = {items = 5}

[ model . options ]
width = 8
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("methods",), 2),
        (("recipe", "lr"), 3),
        (("data", "name"), 5),
        (("data", "options", "items"), 6),
        (("model", "options", "width"), 9),
        (("model", "options"), 8),
        (("data", "votes"), 4),
        (("seeds",), None),
        (("recipe", "epochs"), None),
        ((), None),
    ],
)
def test_the_line_of_a_key(path, line):
    assert line_of(TEXT, path) == line


def test_lines_stand_before_their_mistakes():
    mistakes = [Mistake(("recipe", "lr"), "one."), Mistake(("methods",), "two."), Mistake(("seeds",), "three.")]
    error = plan_error("a.toml", mistakes, lambda path: line_of(TEXT, path))
    assert str(error) == "a.toml has 3 mistakes:\n  three.\n  line 2: two.\n  line 3: one."
