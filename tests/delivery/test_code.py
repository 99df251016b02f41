"""A delivery's code is what can change its labels: what it names, and nothing else of its file."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from dissensus import Multipass
from dissensus.delivery import code_of

MINE = """
import numpy as np
from elsewhere import chance as draw

SWITCH, STEP = 15, 2
UNUSED = 1

def halved(rows):
    return rows / STEP

class Base:
    switch = SWITCH

class Mine(Base):
    def __call__(self, epoch, index=None):
        if epoch < self.switch:
            return halved(np.ones(3))
        return draw(epoch)

REGISTRY = {}
REGISTRY["mine"] = Mine
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The class Mine of a module that is written so."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "elsewhere.py").write_text("chance = luck = max")
    written = []

    def mine(source):
        written.append(f"mine{len(written)}")
        (tmp_path / f"{written[-1]}.py").write_text(source)
        return import_module(written[-1]).Mine

    yield mine
    for name in (*written, "elsewhere"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("15, 2", "16, 2"),
        ("15, 2", "15, 3"),
        ("epoch <", "epoch <="),
        ("rows / STEP", "rows * STEP"),
        ("switch = SWITCH", "switch = 7"),
        ("chance as draw", "luck as draw"),
        ("class Mine(Base):", "class Mine(Base):\n    hard = True"),
        ("REGISTRY = {}", "Base.switch = 7\nREGISTRY = {}"),
        ("REGISTRY = {}", "vars(halved)['late'] = 7\nREGISTRY = {}"),
    ],
)
def test_what_may_change_its_labels_changes_the_code(mine, what, other):
    assert what in MINE
    assert code_of(mine(MINE)) != code_of(mine(MINE.replace(what, other)))


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("", ""),
        ("UNUSED = 1", "UNUSED = 2"),
        ("REGISTRY = {}", "REGISTRY = dict()"),
        ("SWITCH, STEP = 15, 2", "SWITCH, STEP = (15,\n  2)  # after half of the epochs"),
        ("class Mine(Base):", 'class Mine(Base):\n    """Shares first."""'),
        ("def halved(rows):", "def halved(rows):\n    'Half of them.'"),
    ],
)
def test_what_cannot_does_not(mine, what, other):
    assert what in MINE
    assert code_of(mine(MINE)) == code_of(mine(MINE.replace(what, other)))


def test_the_code_is_that_of_the_class_in_use(mine, tmp_path):
    delivery = mine(MINE)
    before = code_of(delivery)
    (tmp_path / "mine0.py").write_text(MINE.replace("15", "16"))  # while it is in use
    assert code_of(delivery) == before


def test_what_was_typed_in_has_no_code():
    typed = {"__name__": "nowhere"}
    exec("class Mine: ...", typed)
    assert code_of(typed["Mine"]) is None
    exec("class Mine: ...", typed := {"__name__": "math"})
    assert code_of(typed["Mine"]) is None
    exec("class Mine: ...", typed := {"__name__": code_of.__module__})
    assert code_of(typed["Mine"]) is None
    assert len(code_of(Multipass)) == 16
