import numpy as np
import sklearn.metrics

from dissensus.metrics import accuracy, ece, risk_coverage, smooth_ece


def test_accuracy_against_scikit_learn(case):
    assert accuracy(case.probs, case.labels) == sklearn.metrics.accuracy_score(case.labels, case.probs.argmax(1))


def test_a_row_that_sums_to_a_little_more_than_one_is_not_surer_than_sure():
    probs = np.array([[1.0005, 0.0], [1.0, 0.0], [0.3, 0.7]], np.float32)
    assert ece(probs, [0, 0, 1], bins=2) == ece(probs.clip(0, 1), [0, 0, 1], bins=2)
    assert smooth_ece(probs, [0, 0, 1]) == smooth_ece(probs.clip(0, 1), [0, 0, 1])
    assert risk_coverage(probs, [1, 0, 1]).risk[0] == 0.5  # as sure as the second
