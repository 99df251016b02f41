import numpy as np
import pytest
import scipy.special
import torch

from dissensus.base.errors import InputError
from dissensus.metrics import log_softmax, soft_cross_entropy, soft_nll, softmax

LOGITS = np.random.default_rng(0).normal(size=(50, 7)) * np.geomspace(1e-3, 1e3, 50)[:, None]


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_softmax_against_scipy(temperature):
    np.testing.assert_allclose(
        softmax(LOGITS, temperature), scipy.special.softmax(LOGITS / temperature, axis=1), atol=1e-15
    )
    np.testing.assert_allclose(
        log_softmax(LOGITS, temperature), scipy.special.log_softmax(LOGITS / temperature, axis=1)
    )


def test_float32_logits_are_worked_on_in_float64():
    assert softmax(LOGITS.astype(np.float32)).dtype == np.float64
    assert softmax(np.array([[0, 700]], np.float32))[0, 0] > 0


def test_huge_logits_do_not_overflow():
    np.testing.assert_array_equal(softmax([[1e300, -1e300]]), [[1, 0]])
    assert np.isfinite(log_softmax([[1e300, -1e300]])).all()


def test_soft_cross_entropy_against_torch():
    target = np.random.default_rng(1).dirichlet(np.ones(7), 50)
    expected = torch.nn.functional.cross_entropy(torch.tensor(LOGITS), torch.tensor(target), reduction="none")
    np.testing.assert_allclose(soft_cross_entropy(LOGITS, target), expected.numpy(), rtol=1e-12)
    np.testing.assert_allclose(soft_cross_entropy(LOGITS / 100, target), soft_nll(softmax(LOGITS / 100), target))


def test_soft_cross_entropy_is_finite_where_rounded_probabilities_are_not():
    logits, human = [[0.0, 2000.0]], [[0.5, 0.5]]
    assert soft_nll(softmax(logits), human)[0] == np.inf
    assert soft_cross_entropy(logits, human)[0] == 1000


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf])
def test_a_temperature_is_positive(temperature):
    with pytest.raises(InputError, match="temperature must be a positive number"):
        softmax(LOGITS, temperature)


def test_logits_are_finite():
    with pytest.raises(InputError, match="logits must be finite, but row 1, column 0 holds -inf"):
        softmax([[0.0, 1.0], [-np.inf, 0.0]])
