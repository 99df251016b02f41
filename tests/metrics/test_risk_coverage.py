import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.metrics import accuracy, aurc, excess_aurc, risk_coverage, soft_aurc, soft_risk_coverage

rng = np.random.default_rng(0)


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


def test_soft_risk_against_a_plain_loop():
    probs, human = rng.dirichlet(np.ones(4), 150), rng.dirichlet(np.ones(4), 150)
    curve = soft_risk_coverage(probs, human)
    contradicted = [1 - human[item, probs[item].argmax()] for item in range(150)]
    np.testing.assert_allclose(curve.risk, slow_risks(probs.max(1), contradicted))
    assert soft_aurc(probs, human) == curve.area


def test_people_who_agree_make_soft_risk_the_error_rate(case):
    human = np.eye(case.probs.shape[1])[case.labels]
    np.testing.assert_allclose(soft_risk_coverage(case.probs, human).risk, risk_coverage(case.probs, case.labels).risk)


def test_soft_risk_is_what_annotators_drawn_at_random_say():
    probs, human = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(3), 40)
    drawn = [[rng.choice(3, p=row) for row in human] for _ in range(2000)]
    expected = np.mean([risk_coverage(probs, labels).risk for labels in drawn], axis=0)
    np.testing.assert_allclose(soft_risk_coverage(probs, human).risk, expected, atol=0.05)


def test_excess_area_is_that_beyond_the_best_order():
    probs, labels = rng.dirichlet(np.ones(3), 100), rng.integers(0, 3, 100)
    wrong = np.sort(probs.argmax(1) != labels)
    assert excess_aurc(probs, labels) == pytest.approx(aurc(probs, labels) - np.mean(slow_risks(1.0 - wrong, wrong)))
    sure = np.where(wrong, 0.6, 0.9)
    assert excess_aurc(np.stack([sure, 1 - sure], 1), wrong.astype(int)) == pytest.approx(0)


def test_the_risk_at_a_coverage_is_that_of_the_items_which_reach_it():
    probs, labels = rng.dirichlet(np.ones(3), 10), rng.integers(0, 3, 10)
    curve = risk_coverage(probs, labels)
    assert [curve.at(share) for share in (0.001, 0.1, 0.3, 0.31, 1.0)] == curve.risk[[0, 0, 2, 3, 9]].tolist()


def test_the_risk_at_a_share_that_no_float_is_exactly():
    curve = risk_coverage(rng.dirichlet(np.ones(3), 100), rng.integers(0, 3, 100))
    assert [curve.at(items / 100) for items in range(1, 101)] == curve.risk.tolist()  # .07 times 100 is above 7


def test_soft_risk_needs_the_same_classes():
    with pytest.raises(InputError, match="probs has 2 classes, but human has 3"):
        soft_risk_coverage([[0.5, 0.5]], [[0.2, 0.3, 0.5]])
