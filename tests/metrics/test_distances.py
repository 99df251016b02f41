import numpy as np
import pytest
import scipy.stats
from scipy.spatial.distance import cdist
from sklearn.metrics import f1_score

from dissensus.base.errors import InputError
from dissensus.metrics import manhattan, soft_accuracy, soft_brier, soft_micro_f1, total_variation, wasserstein


def test_soft_brier_and_manhattan_against_scipy(case):
    q, p = case.probs.astype(float), case.human.astype(float)
    np.testing.assert_allclose(soft_brier(q, p), np.diag(cdist(q, p, "sqeuclidean")), atol=1e-12)
    np.testing.assert_allclose(manhattan(q, p), np.diag(cdist(q, p, "cityblock")), atol=1e-12)


def test_total_variation_and_soft_accuracy_by_their_other_definitions(case):
    q, p = case.probs.astype(float), case.human.astype(float)
    overlap = np.array([sum(min(a, b) for a, b in zip(x, y, strict=True)) for x, y in zip(q, p, strict=True)])
    np.testing.assert_allclose(soft_accuracy(q, p), overlap, atol=1e-6)
    np.testing.assert_allclose(total_variation(q, p), 1 - overlap, atol=1e-6)


def test_wasserstein_against_scipy(case):
    steps = np.arange(case.probs.shape[1])
    expected = [
        scipy.stats.wasserstein_distance(steps, steps, q, p) for q, p in zip(case.probs, case.human, strict=True)
    ]
    np.testing.assert_allclose(wasserstein(case.probs, case.human), expected, atol=1e-6)


def test_wasserstein_counts_steps_on_the_scale():
    first, last = np.eye(5)[[0]], np.eye(5)[[4]]
    assert wasserstein(first, last)[0] == 4
    assert wasserstein(first, first)[0] == 0


def test_soft_micro_f1_on_a_simplex_is_mean_soft_accuracy(case):
    assert soft_micro_f1(case.probs, case.human) == pytest.approx(
        soft_accuracy(case.probs, case.human).mean(), abs=1e-6
    )


def test_soft_micro_f1_of_hard_label_sets_is_micro_f1():
    rng = np.random.default_rng(0)
    said, seen = rng.random((100, 6)) < 0.3, rng.random((100, 6)) < 0.4
    assert soft_micro_f1(said, seen) == pytest.approx(f1_score(seen, said, average="micro"))


def test_soft_micro_f1_of_nothing():
    assert soft_micro_f1([[0.0, 0.0]], [[0.0, 0.0]]) == 1.0
    assert soft_micro_f1([[0.0, 0.5]], [[0.0, 0.0]]) == 0.0


def test_soft_micro_f1_refuses_what_is_no_share():
    with pytest.raises(InputError, match=r"probs must hold shares in 0 to 1, but row 0, column 1 holds 2\.5"):
        soft_micro_f1([[0.5, 2.5]], [[0.5, 0.5]])
