import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dissensus.base.errors import InputError
from dissensus.metrics import accuracy, fit_temperature, soft_cross_entropy, softmax

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(400, 5)) * 3
SHARES = rng.multinomial(10, softmax(LOGITS, 2.0)) / 10


@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 3.7, 60.0])
def test_a_known_temperature_is_found(temperature):
    assert fit_temperature(LOGITS, softmax(LOGITS, temperature)) == pytest.approx(temperature, rel=1e-6)


def test_it_is_the_minimum_that_a_general_optimiser_finds():
    found = minimize_scalar(
        lambda log_t: soft_cross_entropy(LOGITS, SHARES, np.exp(log_t)).mean(), bounds=(-4, 4), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    assert fit_temperature(LOGITS, SHARES) == pytest.approx(np.exp(found.x), rel=1e-5)


def test_scaled_logits_scale_the_temperature():
    assert fit_temperature(LOGITS * 10, SHARES) == pytest.approx(10 * fit_temperature(LOGITS, SHARES), rel=1e-8)


def test_shifted_logits_and_accuracy_stay():
    shifted = LOGITS + rng.normal(size=(400, 1)) * 100
    fitted = fit_temperature(LOGITS, SHARES)
    assert fit_temperature(shifted, SHARES) == pytest.approx(fitted, rel=1e-8)
    labels = SHARES.argmax(1)
    assert accuracy(softmax(LOGITS, fitted), labels) == accuracy(softmax(LOGITS), labels)


def test_the_ends_of_the_range():
    top = np.eye(5)[LOGITS.argmax(1)]
    least = np.eye(5)[LOGITS.argmin(1)]
    assert fit_temperature(LOGITS, top) == 0.01
    assert fit_temperature(LOGITS, least) == 100.0


def test_constant_logits_have_no_temperature_to_fit():
    assert fit_temperature(np.full((4, 5), 3.0), SHARES[:4]) == 1.0


def test_extreme_logits():
    assert 0.01 <= fit_temperature(LOGITS * 1e6, SHARES) <= 100
    assert 0.01 <= fit_temperature(LOGITS * 1e-9, SHARES) <= 100


def test_bad_input_is_named():
    with pytest.raises(InputError, match="logits has 5 classes, but target has 4"):
        fit_temperature(LOGITS, np.full((400, 4), 0.25))
    with pytest.raises(InputError, match="target must have rows that sum to 1"):
        fit_temperature(LOGITS, LOGITS.clip(0))
