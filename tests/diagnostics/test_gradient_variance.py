import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch.nn import functional as F

from dissensus.base.errors import InputError
from dissensus.diagnostics.gradient_variance import (
    against_entropy,
    gradient_variance,
    logit_variance,
    sampled_gradient_variance,
)
from dissensus.metrics import entropy


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def items(rng, n=40, features=6, classes=4):
    return (
        rng.normal(size=(n, features)),
        rng.dirichlet(np.ones(classes), size=n),
        rng.dirichlet(np.full(classes, 0.3), size=n),
    )


def covariance_by_autograd(layer: torch.nn.Linear, h: torch.Tensor, p: np.ndarray) -> np.ndarray:
    """Of the gradient of all the layer's parameters, over every label with its probability."""
    gradients = []
    for label in range(len(p)):
        loss = F.cross_entropy(layer(h)[None], torch.tensor([label]))
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(layer.parameters()))]).numpy())
    g = np.array(gradients)
    mean = p @ g
    return np.einsum("k,ki,kj->ij", p, g - mean, g - mean)


@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_trace_of_the_covariance_that_autograd_finds(rng, bias):
    features, _, human = items(rng, n=8)
    layer = torch.nn.Linear(6, 4, bias=bias, dtype=torch.float64)
    expected = [
        np.trace(covariance_by_autograd(layer, torch.from_numpy(h), p)) for h, p in zip(features, human, strict=True)
    ]
    np.testing.assert_allclose(gradient_variance(features, human, bias=bias), expected, rtol=1e-12)


def test_the_covariance_in_all_parameters_is_that_of_the_proposition(rng):
    """J'(diag(p) - pp')J with the logit Jacobian of a net with a hidden layer, against autograd."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 4)).double()
    x, p = torch.from_numpy(rng.normal(size=3)), rng.dirichlet(np.ones(4))
    parameters = list(net.parameters())
    jacobian = np.array(
        [torch.cat([g.flatten() for g in torch.autograd.grad(net(x)[k], parameters)]).numpy() for k in range(4)]
    )
    expected = jacobian.T @ (np.diag(p) - np.outer(p, p)) @ jacobian
    np.testing.assert_allclose(covariance_by_autograd(net, x, p), expected, atol=1e-14)


def test_sampling_converges_to_the_exact_one_at_its_rate(rng):
    features, probs, human = items(rng)
    exact = gradient_variance(features, human)

    def error(draws):
        found = [sampled_gradient_variance(features, probs, human, draws=draws, seed=seed) for seed in range(6)]
        return np.sqrt(np.mean(((np.array(found) - exact) / exact.mean()) ** 2))

    assert error(1600) < 0.03
    assert error(100) / error(1600) == pytest.approx(4, rel=0.3)


def test_sampling_is_unbiased_even_with_two_draws(rng):
    features, probs, human = items(rng, n=3)
    found = np.array([sampled_gradient_variance(features, probs, human, draws=2, seed=seed) for seed in range(3000)])
    error = found.std(0) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) - gradient_variance(features, human)) < 4 * error).all()


def test_drawn_labels_come_from_the_seed_alone(rng):
    args = items(rng)
    np.testing.assert_array_equal(sampled_gradient_variance(*args), sampled_gradient_variance(*args))
    assert (sampled_gradient_variance(*args) != sampled_gradient_variance(*args, seed=1)).any()


def test_one_hot_targets_have_no_variance(rng):
    features, _, _ = items(rng, n=10, classes=10)
    probs, human = rng.dirichlet(np.ones(10), size=10), np.eye(10)
    assert (gradient_variance(features, human) == 0).all()
    np.testing.assert_allclose(sampled_gradient_variance(features, probs, human), 0, atol=1e-24)


def test_a_class_that_nobody_chose_is_never_drawn():
    human = np.tile(np.append(np.full(10, 0.1), 0.0), (5, 1))
    probs = np.full((5, 11), 1 / 11)
    assert human.cumsum(1)[0, -1] < 1  # so a careless draw could end there
    found = sampled_gradient_variance(np.zeros((5, 1)), probs, human, draws=500)
    np.testing.assert_allclose(found, logit_variance(human), rtol=0.02)


def test_the_correlation_with_entropy_is_spearmans(rng):
    features, probs, human = items(rng, n=300)
    features *= rng.lognormal(size=(300, 1))
    found = against_entropy(features, probs, human)
    expected = spearmanr(gradient_variance(features, human), entropy(human)).statistic
    assert found.correlation.value == pytest.approx(expected)
    assert found.correlation.items == 300
    assert found.by_construction.value == pytest.approx(spearmanr(1 - (human**2).sum(1), entropy(human)).statistic)
    assert found.correlation.value < found.by_construction.value
    assert found.sampled_correlation.value == pytest.approx(found.correlation.value, abs=0.05)
    np.testing.assert_array_equal(found.exact, gradient_variance(features, human))


def test_what_the_partial_correlation_leaves_is_what_the_features_add(rng):
    _, probs, human = items(rng, n=500)
    chance = against_entropy(rng.lognormal(size=(500, 1)), probs, human)
    grows = against_entropy(np.exp(entropy(human))[:, None], probs, human)
    assert chance.partial.low < 0 < chance.partial.high
    assert grows.correlation.value > chance.correlation.value


def test_what_does_not_fit_is_told(rng):
    features, probs, human = items(rng)
    with pytest.raises(InputError, match="features has 39, human has 40"):
        gradient_variance(features[1:], human)
    with pytest.raises(InputError, match="probs has 4 classes, but human has 3"):
        sampled_gradient_variance(features, probs, np.full((40, 3), 1 / 3))
    with pytest.raises(InputError, match="draws must be a whole number of at least 2, but it is 1"):
        sampled_gradient_variance(features, probs, human, draws=1)
    with pytest.raises(InputError, match="human must have rows that sum to 1"):
        gradient_variance(features, 2 * human)
    features[7, 2] = np.inf
    with pytest.raises(InputError, match="those of item 7 are not"):
        gradient_variance(features, human)
