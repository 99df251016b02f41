"""Proposition 1 of the Basins paper, statement by statement, by exact enumeration over classes and by autograd.

For an item with the target p, logits z, q = softmax(z) and a label y drawn from p, with the loss l = -log q_y:
E l = H(p, q); E grad_z l = q - p; Cov grad_z l = diag(p) - pp'; Cov grad_theta l = J'(diag(p) - pp')J;
E |q - e_y|^2 = |q - p|^2 + 1 - |p|^2.
"""

from __future__ import annotations

import numpy as np
import pytest

from dissensus import Multipass, Soft, StochasticLabelSampling, Votes

torch = pytest.importorskip("torch")

N_CLASSES = 5
COUNTS = np.array([[3, 1, 0, 2, 1], [7, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 4, 3, 0, 0]])


@pytest.fixture(params=range(len(COUNTS)))
def p(request):
    return torch.from_numpy(COUNTS[request.param] / COUNTS[request.param].sum())


@pytest.fixture
def z():
    return torch.from_numpy(np.random.default_rng(0).standard_normal(N_CLASSES)).requires_grad_()


def loss(z, y):
    return torch.nn.functional.cross_entropy(z, y)


def gradients(z, at):
    """grad l for each label, (classes, parameters)."""
    return torch.stack(
        [torch.autograd.grad(loss(z, torch.tensor(y)), at, retain_graph=True)[0] for y in range(N_CLASSES)]
    )


def mean_and_covariance(p, values):
    mean = p @ values
    return mean, (values - mean).T @ (p[:, None] * (values - mean))


def assert_close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_the_mean_loss_is_the_cross_entropy_of_the_soft_label(p, z):
    assert_close(sum(p[y] * loss(z, torch.tensor(y)) for y in range(N_CLASSES)), loss(z, p))


def test_the_mean_gradient_is_that_of_the_soft_label(p, z):
    mean, _ = mean_and_covariance(p, gradients(z, z))
    assert_close(mean, torch.softmax(z, 0).detach() - p)
    assert_close(mean, torch.autograd.grad(loss(z, p), z)[0])


def test_the_covariance_of_the_gradient(p, z):
    _, covariance = mean_and_covariance(p, gradients(z, z))
    assert_close(covariance, torch.diag(p) - torch.outer(p, p))


def test_the_covariance_of_the_parameters_gradient(p):
    torch.manual_seed(0)  # weights of a net that any seed would do for
    x = torch.linspace(-1, 1, 3, dtype=torch.float64)
    theta = torch.randn(4 * 3 + N_CLASSES * 4, dtype=torch.float64, requires_grad=True)

    def logits(theta):
        return theta[12:].reshape(N_CLASSES, 4) @ torch.tanh(theta[:12].reshape(4, 3) @ x)

    jacobian = torch.autograd.functional.jacobian(logits, theta)
    mean, covariance = mean_and_covariance(p, gradients(logits(theta), theta))
    assert_close(mean, torch.autograd.grad(loss(logits(theta), p), theta)[0])
    assert_close(covariance, jacobian.T @ (torch.diag(p) - torch.outer(p, p)) @ jacobian)


def test_the_decomposition_of_the_squared_error(p, z):
    q = torch.softmax(z, 0).detach()
    squared = ((q - torch.eye(N_CLASSES, dtype=torch.float64)) ** 2).sum(1)
    assert_close(p @ squared, ((q - p) ** 2).sum() + 1 - (p**2).sum())


def test_a_one_hot_target_has_no_extra_variance(z):
    p = torch.eye(N_CLASSES, dtype=torch.float64)[2]
    mean, covariance = mean_and_covariance(p, gradients(z, z))
    assert (covariance == 0).all()
    assert 1 - (p**2).sum() == 0
    assert_close(mean, gradients(z, z)[2])


def test_the_extra_variance_grows_with_disagreement():
    towards_uniform = [(1 - t) * np.eye(N_CLASSES)[0] + t / N_CLASSES for t in np.linspace(0, 1, 11)]
    trace = [np.trace(np.diag(p) - np.outer(p, p)) for p in towards_uniform]
    np.testing.assert_allclose(trace, [1 - (p**2).sum() for p in towards_uniform], atol=1e-15)
    assert (np.diff(trace) > 0).all()


def test_labels_that_multipass_delivers_fulfil_it_over_a_cycle():
    """Each vote once: mean loss, mean gradient and covariance over the epochs of a cycle, without any expectation."""
    votes = Votes.from_counts(COUNTS)
    soft = torch.from_numpy(votes.frequencies())
    deliver = Multipass(votes, seed=0)
    z = torch.from_numpy(np.random.default_rng(1).standard_normal(COUNTS.shape)).requires_grad_()
    for i, n in enumerate(votes.votes_per_item.tolist()):
        labels = [torch.from_numpy(deliver(epoch, [i])) for epoch in range(n)]
        losses = torch.stack([loss(z[[i]], y) for y in labels])
        slopes = torch.stack([torch.autograd.grad(each, z, retain_graph=True)[0][i] for each in losses])
        assert_close(losses.mean(), loss(z[i], soft[i]))
        assert_close(slopes.mean(0), torch.softmax(z[i], 0).detach() - soft[i])
        spread = slopes - slopes.mean(0)
        assert_close(spread.T @ spread / n, torch.diag(soft[i]) - torch.outer(soft[i], soft[i]))


def test_labels_that_sls_delivers_fulfil_it_on_average():
    """The mean gradient over many epochs is within five standard errors, which the proposition itself gives."""
    epochs = 2000
    votes = Votes.from_counts(COUNTS)
    p, deliver = votes.frequencies(), StochasticLabelSampling(votes, seed=0)
    z = np.random.default_rng(1).standard_normal(COUNTS.shape)
    q = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    mean = sum(q - np.eye(N_CLASSES)[deliver(epoch)] for epoch in range(epochs)) / epochs
    error = np.sqrt(p * (1 - p) / epochs)
    assert (np.abs(mean - (q - p)) <= 5 * error + 1e-12).all()


def test_the_soft_label_is_the_target_itself():
    np.testing.assert_allclose(Soft(Votes.from_counts(COUNTS))(0), COUNTS / COUNTS.sum(1, keepdims=True), rtol=1e-7)
