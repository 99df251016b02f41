import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
import torch
from torchmetrics.functional import kl_divergence

from dissensus.metrics import entropy, js_distance, kl, soft_nll


def slow_nll(q, p):
    if any(p[k] > 0 and q[k] == 0 for k in range(len(p))):
        return np.inf
    return sum(-float(p[k]) * np.log(float(q[k])) for k in range(len(p)) if p[k] > 0)


def test_soft_nll_against_a_plain_loop(case):
    expected = [slow_nll(q, p) for q, p in zip(case.probs, case.human, strict=True)]
    np.testing.assert_allclose(soft_nll(case.probs, case.human), expected, rtol=1e-6, atol=1e-12)


def test_kl_against_scipy(case):
    q, p = case.probs.astype(float), case.human.astype(float)
    np.testing.assert_allclose(kl(q, p), scipy.stats.entropy(p, q, axis=1), rtol=1e-6, atol=1e-6)


def test_kl_against_torchmetrics(ordinary):
    expected = kl_divergence(torch.tensor(ordinary.human), torch.tensor(ordinary.probs), reduction=None)
    np.testing.assert_allclose(kl(ordinary.probs, ordinary.human), expected.numpy(), rtol=1e-9)


def test_kl_is_soft_nll_less_entropy(case):
    nll = soft_nll(case.probs, case.human)
    np.testing.assert_allclose(kl(case.probs, case.human), nll - entropy(case.human), rtol=1e-6, atol=1e-6)


def test_js_distance_against_scipy(case):
    q, p = case.probs.astype(float), case.human.astype(float)
    expected = scipy.spatial.distance.jensenshannon(q, p, axis=1)
    np.testing.assert_allclose(js_distance(q, p), np.nan_to_num(expected), atol=1e-7)


def test_a_vote_for_the_impossible_is_infinitely_surprising():
    probs, human = [[1.0, 0.0], [1.0, 0.0]], [[0.98, 0.02], [1.0, 0.0]]
    np.testing.assert_array_equal(soft_nll(probs, human), [np.inf, 0])
    np.testing.assert_array_equal(kl(probs, human), [np.inf, 0])
    assert js_distance(probs, human)[0] < 0.1


def test_no_negative_zero():
    assert not np.signbit(soft_nll([[1.0, 0.0]], [[1.0, 0.0]])).any()


def test_tiny_probabilities_are_not_zero():
    assert soft_nll([[1e-300, 1.0]], [[1.0, 0.0]])[0] == pytest.approx(300 * np.log(10))


def test_never_below_zero_by_rounding():
    probs = np.random.default_rng(0).dirichlet(np.ones(10), 10_000).astype(np.float32)
    assert kl(probs, probs).min() >= 0
    assert (js_distance(probs, probs) == 0).all()


def test_rounding_makes_no_divergence_negative():
    human = np.array([[0.5, 0.5]])
    assert kl(human * 1.0005, human)[0] == 0  # within what rows of low precision may sum to
