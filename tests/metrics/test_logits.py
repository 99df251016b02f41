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
    np.testing.assert_allclose(softmax([[1e300, -1e300]]), [[1, 0]], atol=1e-300)
    assert np.isfinite(log_softmax([[1e300, -1e300]])).all()


def test_soft_cross_entropy_against_torch():
    target = np.random.default_rng(1).dirichlet(np.ones(7), 50)
    expected = torch.nn.functional.cross_entropy(torch.tensor(LOGITS), torch.tensor(target), reduction="none")
    np.testing.assert_allclose(soft_cross_entropy(LOGITS, target), expected.numpy(), rtol=1e-12)
    np.testing.assert_allclose(soft_cross_entropy(LOGITS / 100, target), soft_nll(softmax(LOGITS / 100), target))


def test_soft_cross_entropy_goes_on_where_probabilities_end():
    logits, human = [[0.0, 2000.0]], [[0.5, 0.5]]
    assert soft_nll(softmax(logits), human)[0] == pytest.approx(708.4 / 2, abs=0.01)
    assert soft_cross_entropy(logits, human)[0] == 1000


def test_finite_logits_have_no_probability_of_exactly_zero():
    probs = softmax([[0.0, 8.0, -8.0]], temperature=0.01)
    assert (probs > 0).all()
    assert probs.sum() == 1


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf])
def test_a_temperature_is_positive(temperature):
    with pytest.raises(InputError, match="temperature must be a positive number"):
        softmax(LOGITS, temperature)


def test_logits_are_finite():
    with pytest.raises(InputError, match="logits must be finite, but row 1, column 0 holds -inf"):
        softmax([[0.0, 1.0], [-np.inf, 0.0]])
