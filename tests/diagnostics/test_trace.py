import importlib

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian, deflated_trace, hessian_trace
from dissensus.diagnostics.lanczos import krylov, start
from dissensus.diagnostics.trace import probed, signs

DECAYING = 1.0 / np.arange(1, 101) ** 2
EVEN = np.linspace(0, 1, 100)
ESTIMATORS = {"hutchinson": hessian_trace, "deflated": deflated_trace}


@pytest.fixture
def many_a_pass(monkeypatch):
    """Thousands of probes of tiny models: 200 a pass, which changes no number."""
    monkeypatch.setattr(importlib.import_module("dissensus.diagnostics.trace"), "TOGETHER", 200)
    return {"chunk": 10**6}


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_the_estimate_is_the_exact_trace_within_its_error(batch_norm_net, estimator):
    told = estimator(*batch_norm_net.given, 200)
    assert abs(told.value - batch_norm_net.trace) < 4 * told.standard_error
    assert told.standard_error < 0.1 * batch_norm_net.trace


def test_probes_for_every_sign_give_the_exact_trace_of_a_batch_norm_net(batch_norm_net):
    """The rows of a Hadamard matrix are signs whose outer products add up to the identity: no randomness is left."""
    from scipy.linalg import hadamard

    hessian = Hessian(*batch_norm_net.given)
    rows = torch.from_numpy(hadamard(512)[:, : hessian.size]).double()
    values = torch.cat([torch.linalg.vecdot(z, hessian(z)) for z in rows.split(64)])
    assert float(values.mean()) == pytest.approx(batch_norm_net.trace, rel=1e-4)


def test_hutchinson_has_the_promised_variance(quadratic, many_a_pass):
    known = quadratic(DECAYING)
    values = probed(Hessian(*known.given, **known.options, **many_a_pass), 2000, seed=0).plain
    promised = 2 * ((known.hessian**2).sum() - (np.diag(known.hessian) ** 2).sum())
    assert values.var() == pytest.approx(promised, rel=0.15)
    assert values.mean() == pytest.approx(known.trace, abs=4 * np.sqrt(promised / 2000))


def test_the_error_falls_with_the_root_of_the_probes(quadratic, many_a_pass):
    known = quadratic(DECAYING)
    values = probed(Hessian(*known.given, **known.options, **many_a_pass), 2048, seed=1).plain
    for probes in (4, 16, 64):
        errors = values.reshape(-1, probes).mean(1) - known.trace
        promised = 2 * ((known.hessian**2).sum() - (np.diag(known.hessian) ** 2).sum()) / probes
        assert (errors**2).mean() == pytest.approx(promised, rel=0.5)


def test_the_standard_error_says_how_far_off_the_estimate_is(quadratic, many_a_pass):
    known = quadratic(EVEN)
    told = [hessian_trace(*known.given, 20, seed=seed, **known.options, **many_a_pass) for seed in range(60)]
    scores = np.array([(estimate.value - known.trace) / estimate.standard_error for estimate in told])
    assert 0.75 < scores.std() < 1.4
    assert (np.abs(scores) < 2.1).mean() > 0.85


def test_what_is_left_outside_of_a_space_is_what_a_projected_probe_gives(quadratic):
    known = quadratic(DECAYING)
    hessian = Hessian(*known.given, **known.options)
    space = krylov(hessian, start(hessian, 0), 6, 0.0, 6)
    basis = torch.stack(space.basis).numpy()
    outside = np.eye(hessian.size) - basis.T @ basis
    projected = outside @ known.hessian @ outside
    z = torch.stack([signs(hessian, 3, probe) for probe in range(8)]).numpy()
    np.testing.assert_allclose(probed(hessian, 8, 3, space).rest, ((z @ projected) * z).sum(1), atol=1e-12)


def test_deflation_pays(quadratic, many_a_pass):
    known = quadratic(DECAYING)
    options = known.options | many_a_pass
    plain, deflated = (
        np.array([estimator(*known.given, 10, seed=seed, **options).value for seed in range(30)]) - known.trace
        for estimator in (hessian_trace, deflated_trace)
    )
    assert np.sqrt((deflated**2).mean()) < 0.1 * np.sqrt((plain**2).mean())
    assert abs(deflated.mean()) < 4 * deflated.std() / np.sqrt(30)


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
    with pytest.raises(InputError, match=f"probes must be a whole number of at least 2.*but is {probes}"):
        hessian_trace(*batch_norm_net.given, probes)


def test_the_rank_is_that_of_a_space_that_exists(quadratic):
    known = quadratic([1.0, 2.0])
    with pytest.raises(InputError, match="rank must lie in 1 to 2, the number of parameters, but is 3"):
        deflated_trace(*known.given, rank=3, **known.options)
