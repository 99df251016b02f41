import numpy as np
import pytest
import sklearn.metrics

from dissensus.metrics import accuracy, aurc, ece, risk_coverage, smooth_ece

rng = np.random.default_rng(0)


def test_accuracy_against_scikit_learn(case):
    assert accuracy(case.probs, case.labels) == sklearn.metrics.accuracy_score(case.labels, case.probs.argmax(1))


def slow_risks(confidence, wrong):
    order = sorted(range(len(wrong)), key=lambda i: -confidence[i])
    return [sum(wrong[i] for i in order[: k + 1]) / (k + 1) for k in range(len(order))]


def test_risk_coverage_against_a_plain_loop():
    probs, labels = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
    curve = risk_coverage(probs, labels)
    np.testing.assert_allclose(curve.risk, slow_risks(probs.max(1), probs.argmax(1) != labels))
    np.testing.assert_allclose(curve.coverage, np.arange(1, 201) / 200)
    assert curve.area == pytest.approx(np.mean(curve.risk))
    assert aurc(probs, labels) == curve.area


def test_ties_are_taken_in_the_mean_over_all_orders():
    confidence = rng.choice([0.6, 0.7, 0.8], 60)
    wrong = rng.random(60) < 0.3
    probs = np.stack([confidence, 1 - confidence], 1)
    orders = [rng.permutation(60) for _ in range(1000)]
    expected = np.mean([slow_risks(confidence[o], wrong[o]) for o in orders], axis=0)
    np.testing.assert_allclose(
        risk_coverage(probs, wrong.astype(int)).risk, expected, atol=0.06
    )  # four standard errors


def test_full_coverage_is_the_error_rate(case):
    assert risk_coverage(case.probs, case.labels).risk[-1] == pytest.approx(1 - accuracy(case.probs, case.labels))


def test_knowing_when_one_is_wrong_lowers_the_area():
    wrong = np.arange(100) < 20
    sure = np.where(wrong, 0.6, 0.9)
    knows = np.stack([sure, 1 - sure], 1)
    sure = np.where(wrong, 0.9, 0.6)
    errs = np.stack([sure, 1 - sure], 1)
    assert aurc(knows, wrong.astype(int)) < 0.03 < aurc(np.tile([0.7, 0.3], (100, 1)), wrong.astype(int))
    assert aurc(errs, wrong.astype(int)) > 0.5


def test_a_row_that_sums_to_a_little_more_than_one_is_not_surer_than_sure():
    probs = np.array([[1.0005, 0.0], [1.0, 0.0], [0.3, 0.7]], np.float32)
    assert ece(probs, [0, 0, 1], bins=2) == ece(probs.clip(0, 1), [0, 0, 1], bins=2)
    assert smooth_ece(probs, [0, 0, 1]) == smooth_ece(probs.clip(0, 1), [0, 0, 1])
    assert risk_coverage(probs, [1, 0, 1]).risk[0] == 0.5  # as sure as the second
