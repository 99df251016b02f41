from __future__ import annotations

import numpy as np
import pytest

from dissensus.experiment.claims import proposition
from dissensus.experiment.claims.proposition import proposition_errors


def test_all_five_hold_to_rounding() -> None:
    errors = proposition_errors()
    assert set(errors) == {"mean loss", "mean gradient", "covariance", "covariance in weights", "squared error"}
    assert max(errors.values()) < 1e-14


def test_they_would_not_hold_of_other_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the softmax is another one than the loss's, every statement that has a q in it is off."""
    softmax = proposition.softmax
    monkeypatch.setattr(proposition, "softmax", lambda z: softmax(z, 2.0))
    errors = proposition_errors(items=50)
    assert errors["mean loss"] > 0.01
    assert errors["covariance"] < 1e-12  # has none


def test_distributions_are_as_the_docstring_says() -> None:
    p, z, jacobian = proposition._items(1000, seed=0)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (p.max(1) == 1).sum() >= 250
    assert p.max(1).min() < 0.2
    assert z.shape == p.shape
    assert jacobian.shape == (1000, 10, 7)
