from __future__ import annotations

import numpy as np

from dissensus.experiment.claims import proposition
from dissensus.experiment.claims.proposition import proposition_errors


def test_all_holds_to_rounding() -> None:
    errors = proposition_errors()
    assert set(errors) == {"in logits", "in weights"}
    assert max(errors.values()) < 1e-12


def test_it_would_not_hold_of_labels_from_another_distribution() -> None:
    p, z, jacobian = proposition._items(50, seed=0)
    q = proposition.softmax(z)
    assert proposition._in_weights(q, p, jacobian) < 1e-12
    labels = np.eye(proposition.CLASSES)
    drawn = np.einsum("nyk,nkw->nyw", q[:, None, :] - labels, jacobian)
    wrong = np.stack([np.cov(one.T, aweights=weights, ddof=0) for one, weights in zip(drawn, p[::-1], strict=True)])
    right = np.stack([np.cov(one.T, aweights=weights, ddof=0) for one, weights in zip(drawn, p, strict=True)])
    in_logits = labels * p[:, None, :] - p[:, :, None] * p[:, None, :]
    stated = np.einsum("nkv,nkl,nlw->nvw", jacobian, in_logits, jacobian)
    np.testing.assert_allclose(right, stated, atol=1e-10)  # NumPy's covariance, by weights
    assert np.abs(wrong - stated).max() > 0.1


def test_distributions_are_as_the_docstring_says() -> None:
    p, z, jacobian = proposition._items(1000, seed=0)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (p.max(1) == 1).sum() >= 250
    assert p.max(1).min() < 0.2
    assert z.shape == p.shape
    assert jacobian.shape == (1000, 10, 7)
