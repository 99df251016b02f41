import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from dissensus.metrics import brier, brier_decomposition, brier_reliability, brier_resolution, brier_uncertainty

rng = np.random.default_rng(0)


def test_brier_against_a_plain_loop(case):
    classes = range(case.probs.shape[1])
    expected = [
        sum((float(q[k]) - (y == k)) ** 2 for k in classes) for q, y in zip(case.probs, case.labels, strict=True)
    ]
    np.testing.assert_allclose(brier(case.probs, case.labels), expected, atol=1e-9)


@pytest.mark.parametrize("bins", [1, 4, 15, 1000])
def test_the_identity_is_exact(case, bins):
    terms = brier_decomposition(case.probs, case.labels, bins=bins)
    assert terms.brier == pytest.approx(brier(case.probs, case.labels).mean(), abs=1e-12)
    assert min(terms.reliability, terms.resolution, terms.within_variance) >= 0


def test_two_classes_are_twice_scikit_learns_score():
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    terms = brier_decomposition(np.stack([1 - p, p], 1), y)
    assert terms.brier == pytest.approx(2 * brier_score_loss(y, p))


def slow_terms(q, o, bins):
    runs = [run for run in np.array_split(np.argsort(q), bins) if len(run)]
    share = [len(run) / len(q) for run in runs]
    return {
        "reliability": sum(w * (q[r].mean() - o[r].mean()) ** 2 for w, r in zip(share, runs, strict=True)),
        "resolution": sum(w * (o[r].mean() - o.mean()) ** 2 for w, r in zip(share, runs, strict=True)),
        "uncertainty": o.mean() * (1 - o.mean()),
        "within_variance": sum(w * q[r].var() for w, r in zip(share, runs, strict=True)),
        "within_covariance": sum(2 * w * np.cov(q[r], o[r], bias=True)[0, 1] for w, r in zip(share, runs, strict=True)),
    }


def test_terms_against_a_plain_loop():
    probs, labels = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    terms = brier_decomposition(probs, labels)
    for name in ("reliability", "resolution", "uncertainty", "within_variance", "within_covariance"):
        expected = sum(slow_terms(probs[:, k], (labels == k) * 1.0, 15)[name] for k in range(3))
        assert getattr(terms, name) == pytest.approx(expected), name


def test_known_truths():
    labels = np.arange(40) % 4
    perfect = brier_decomposition(np.eye(4)[labels], labels)
    assert perfect.reliability == 0
    assert perfect.resolution == pytest.approx(perfect.uncertainty) == pytest.approx(0.75)
    clueless = brier_decomposition(np.full((40, 4), 0.25), labels)
    assert clueless.reliability == pytest.approx(0)
    assert clueless.resolution == pytest.approx(0)


def test_the_terms_as_metrics(ordinary):
    terms = brier_decomposition(ordinary.probs, ordinary.labels)
    assert brier_reliability(ordinary.probs, ordinary.labels) == terms.reliability
    assert brier_resolution(ordinary.probs, ordinary.labels) == terms.resolution
    assert brier_uncertainty(ordinary.probs, ordinary.labels) == terms.uncertainty
