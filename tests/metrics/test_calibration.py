import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from dissensus.base.errors import InputError
from dissensus.metrics import debiased_ece, ece, reliability
from dissensus.metrics.calibration import equal_mass

rng = np.random.default_rng(0)


def binary(confidence, right):
    """Two-class predictions with these confidences, of which these are right."""
    return np.stack([confidence, 1 - confidence], 1), np.where(right, 0, 1)


def calibrated(items, seed):
    random = np.random.default_rng(seed)
    confidence = random.uniform(0.5, 1, items)
    return binary(confidence, random.random(items) < confidence)


@pytest.mark.parametrize("items", [1, 7, 15, 100, 2000, 2003])
@pytest.mark.parametrize("bins", [1, 10, 15])
def test_ece_against_a_plain_loop(items, bins):
    probs, labels = rng.dirichlet(np.ones(4), items), rng.integers(0, 4, items)
    confidence, right = probs.max(1), probs.argmax(1) == labels
    runs = [run for run in np.array_split(np.argsort(confidence), bins) if len(run)]
    expected = sum(len(run) / items * abs(right[run].mean() - confidence[run].mean()) for run in runs)
    assert ece(probs, labels, bins=bins) == pytest.approx(expected)


def test_reliability_against_scikit_learn():
    probs, labels = calibrated(1500, 1)
    right, said = calibration_curve(labels == 0, probs[:, 0], n_bins=15, strategy="quantile")
    curve = reliability(probs, labels)
    np.testing.assert_allclose(curve.accuracy, right)
    np.testing.assert_allclose(curve.confidence, said)
    np.testing.assert_array_equal(curve.items, 100)


def test_equal_mass_bins():
    assert np.bincount(equal_mass(rng.random(2000), 15)).tolist() == [134] * 5 + [133] * 10
    assert equal_mass(np.full(20, 0.5), 15).tolist() == [0] * 20
    assert equal_mass(np.array([0.2, 0.1]), 15).tolist() == [1, 0]


def test_a_few_high_values_are_not_drowned_by_many_equal_low_ones():
    values = np.r_[np.zeros(285), np.ones(15)]  # the last of 15 runs would start among the zeros
    assert equal_mass(values, 15).tolist() == values.tolist()


def test_equal_confidences_share_a_bin_in_any_order():
    confidence = rng.choice([0.6, 0.9, 1.0], 500)
    right = rng.random(500) < 0.8
    order = rng.permutation(500)
    assert ece(*binary(confidence, right)) == pytest.approx(ece(*binary(confidence[order], right[order])))
    expected = sum((confidence == c).mean() * abs(right[confidence == c].mean() - c) for c in (0.6, 0.9, 1.0))
    assert ece(*binary(confidence, right)) == pytest.approx(expected)


def test_extremes():
    one_hot = np.eye(3)[[0, 1, 2, 0]]
    assert ece(one_hot, [0, 1, 2, 0]) == 0
    assert ece(one_hot, [1, 2, 0, 1]) == 1
    assert debiased_ece(one_hot, [1, 2, 0, 1]) == 1
    assert ece(np.full((30, 3), 1 / 3), np.arange(30) % 3) == pytest.approx(0)


@pytest.mark.parametrize(("items", "least", "right"), [(600, 0.5, 1.0), (150, 0.9, 0.85)])  # as it says, less often
def test_debiasing_against_drawing_the_bins_anew(items, least, right):
    random = np.random.default_rng(2)
    confidence = random.uniform(least, 1, items)
    probs, labels = binary(confidence, random.random(items) < right * confidence)
    curve = reliability(probs, labels)
    spread = np.sqrt(curve.accuracy * (1 - curve.accuracy) / curve.items)
    redrawn = np.abs(rng.normal(curve.gap, spread, (200_000, len(spread)))) @ curve.weight
    plain = ece(probs, labels)
    assert debiased_ece(probs, labels) == pytest.approx(plain - (redrawn.mean() - plain), abs=2e-4)


def test_debiasing_takes_off_two_fifths_of_the_noise_of_a_calibrated_model():
    scores = np.array([(ece(*calibrated(2000, s)), debiased_ece(*calibrated(2000, s))) for s in range(200)])
    plain, debiased = scores.mean(0)
    assert debiased / plain == pytest.approx(2 - np.sqrt(2), abs=0.05)  # 0.59


def test_a_large_error_is_hardly_touched_by_debiasing():
    probs, labels = binary(np.full(5000, 0.9), rng.random(5000) < 0.6)
    assert debiased_ece(probs, labels) == pytest.approx(ece(probs, labels), abs=1e-6)


@pytest.mark.parametrize("bins", [0, -1, 1.5, True])
def test_bins_are_counted(bins):
    with pytest.raises(InputError, match="bins must be a whole number of at least 1"):
        ece([[0.5, 0.5]], [0], bins=bins)
