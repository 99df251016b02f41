import importlib

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian, deflated_trace, hessian_trace
from dissensus.diagnostics.lanczos import krylov, start
from dissensus.diagnostics.trace import estimate, probed, signs

DECAYING = 1.0 / np.arange(1, 101) ** 2
EVEN = np.linspace(0, 1, 100)
ESTIMATORS = {"hutchinson": hessian_trace, "deflated": deflated_trace}


@pytest.fixture(scope="module")
def thousand_probes(quadratic):
    """A quadratic, and a thousand probes of it."""
    known = quadratic(EVEN)
    return known, probed(Hessian(*known.given, **known.options), 1000, seed=0).plain


def variance_of_a_probe(known):
    return 2 * ((known.hessian**2).sum() - (np.diag(known.hessian) ** 2).sum())


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_the_estimate_is_the_exact_trace_within_its_error(batch_norm_net, estimator):
    told = estimator(*batch_norm_net.given, 100)
    assert abs(told.value - batch_norm_net.trace) < 4 * told.standard_error
    assert told.standard_error < 0.15 * batch_norm_net.trace


def test_probes_for_every_sign_give_the_exact_trace_of_a_batch_norm_net(batch_norm_net):
    """The rows of a Hadamard matrix are signs whose outer products add up to the identity: no randomness is left."""
    from scipy.linalg import hadamard

    hessian = Hessian(*batch_norm_net.given)
    rows = torch.from_numpy(hadamard(512)[:, : hessian.size]).double()
    values = torch.cat([torch.linalg.vecdot(z, hessian(z)) for z in rows.split(64)])
    assert float(values.mean()) == pytest.approx(batch_norm_net.trace, rel=1e-4)


def test_hutchinson_has_the_promised_variance(thousand_probes):
    known, values = thousand_probes
    promised = variance_of_a_probe(known)
    assert values.var() == pytest.approx(promised, rel=0.15)
    assert values.mean() == pytest.approx(known.trace, abs=4 * np.sqrt(promised / len(values)))


@pytest.mark.parametrize("probes", [2, 5, 20])
def test_the_error_falls_with_the_root_of_the_probes(thousand_probes, probes):
    known, values = thousand_probes
    errors = values.reshape(-1, probes).mean(1) - known.trace
    assert (errors**2).mean() == pytest.approx(variance_of_a_probe(known) / probes, rel=0.35)


def test_the_standard_error_says_how_far_off_the_estimate_is(thousand_probes):
    known, values = thousand_probes
    told = [estimate(numbers) for numbers in values.reshape(-1, 20)]
    scores = np.array([(each.value - known.trace) / each.standard_error for each in told])
    assert 0.75 < scores.std() < 1.3
    assert (np.abs(scores) < 2.1).mean() > 0.88


def test_what_is_left_outside_of_a_space_is_what_a_projected_probe_gives(quadratic):
    known = quadratic(DECAYING)
    hessian = Hessian(*known.given, **known.options)
    space = krylov(hessian, start(hessian, 0), 6, 0.0, 6)
    basis = torch.stack(space.basis).numpy()
    outside = np.eye(hessian.size) - basis.T @ basis
    projected = outside @ known.hessian @ outside
    z = torch.stack([signs(hessian, 3, probe) for probe in range(8)]).numpy()
    np.testing.assert_allclose(probed(hessian, 8, 3, space).rest, ((z @ projected) * z).sum(1), atol=1e-12)


def test_deflation_pays(quadratic):
    known = quadratic(DECAYING)
    plain, deflated = (
        np.array([estimator(*known.given, 10, seed=seed, **known.options).value for seed in range(20)]) - known.trace
        for estimator in (hessian_trace, deflated_trace)
    )
    assert np.sqrt((deflated**2).mean()) < 0.1 * np.sqrt((plain**2).mean())
    assert abs(deflated.mean()) < 4 * deflated.std() / np.sqrt(20)


def test_products_are_counted_and_do_not_depend_on_how_probes_are_grouped(batch_norm_net, monkeypatch):
    together = hessian_trace(*batch_norm_net.given, 7)
    assert together.products == together.probes == 7
    assert deflated_trace(*batch_norm_net.given, 7, rank=4).products == 11
    monkeypatch.setattr(importlib.import_module("dissensus.diagnostics.trace"), "TOGETHER", 1)
    one_by_one = hessian_trace(*batch_norm_net.given, 7)
    assert one_by_one.value == pytest.approx(together.value, rel=1e-12)


def test_signs_are_fair_and_belong_to_the_seed_and_the_probe(batch_norm_net):
    hessian = Hessian(*batch_norm_net.given)
    rows = torch.stack([signs(hessian, 0, probe) for probe in range(200)])
    assert rows.shape == (200, hessian.size)
    assert set(rows.unique().tolist()) == {-1.0, 1.0}
    assert float(rows.mean().abs()) < 4 / np.sqrt(rows.numel())
    off = (rows.T @ rows / 200).fill_diagonal_(0)
    assert float(off.abs().max()) < 6 / np.sqrt(200)
    assert not torch.equal(rows[0], signs(hessian, 1, 0))


@pytest.mark.parametrize("probes", [0, 1, 2.5])
def test_a_standard_error_needs_two_probes(batch_norm_net, probes):
    with pytest.raises(InputError, match=f"probes must be a whole number of at least 2, but it is {probes}"):
        hessian_trace(*batch_norm_net.given, probes)


def test_the_rank_is_that_of_a_space_that_exists(quadratic):
    known = quadratic([1.0, 2.0])
    with pytest.raises(InputError, match="rank must lie in 1 to 2, the number of parameters, but is 3"):
        deflated_trace(*known.given, rank=3, **known.options)
