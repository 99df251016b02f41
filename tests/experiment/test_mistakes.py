from __future__ import annotations

import pytest

from dissensus.experiment.mistakes import Mistake, PlanMistakes, line_of

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
    mistakes = [Mistake(("methods",), "one."), Mistake(("seeds",), "two.")]
    error = PlanMistakes("a.toml", mistakes, lambda path: line_of(TEXT, path))
    assert str(error) == "a.toml has 2 mistakes:\n  line 2: one.\n  two."
