"""The identities hold to rounding whatever the model says, and a wrong one would be seen."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics import proposition
from dissensus.diagnostics.proposition import proposition_deviation


@pytest.mark.parametrize("concentration", [0.05, 1.0, 20.0])
def test_it_holds_to_rounding(concentration):
    chance = np.random.default_rng(0)
    probs = chance.dirichlet([concentration] * 10, size=500) * (1 - 1e-6) + 1e-7
    human = chance.multinomial(50, [0.1] * 10, size=500) / 50
    human[:20] = np.eye(10)[chance.integers(0, 10, 20)]
    assert 0 < proposition_deviation(probs, human) < 1e-13


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("soft_nll", lambda q, p: np.full(len(q), 0.3)), ("soft_nll", lambda q, p: -(np.log(p) * p).sum(1))],
)
def test_a_formula_that_does_not_hold_is_seen(monkeypatch, name, wrong):
    monkeypatch.setattr(proposition, name, wrong)
    assert proposition_deviation([[0.7, 0.2, 0.1]], [[0.5, 0.3, 0.2]]) > 0.01


def test_an_infinite_loss_says_nothing():
    assert np.isnan(proposition_deviation([[1.0, 0.0]], [[0.5, 0.5]]))
    assert proposition_deviation([[1.0, 0.0]], [[1.0, 0.0]]) == 0


def test_classes_must_be_alike():
    with pytest.raises(InputError, match="probs has 2 classes, but human has 3"):
        proposition_deviation([[0.5, 0.5]], [[0.5, 0.5, 0.0]])
