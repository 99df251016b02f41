import importlib
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian, deflated_trace, hessian_trace
from dissensus.diagnostics.lanczos import krylov, start
from dissensus.diagnostics.trace import estimate, probed, probed_by_item, signs

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


def test_both_estimators_are_exact_where_no_randomness_is_left(batch_norm_net, monkeypatch):
    """To 1e-4: Hutchinson's with the rows of a Hadamard matrix for signs, the deflated one with a space that is all."""
    from scipy.linalg import hadamard

    size = len(batch_norm_net.hessian)
    assert deflated_trace(*batch_norm_net.given, 2, rank=size).value == pytest.approx(batch_norm_net.trace, rel=1e-4)
    rows = torch.from_numpy(hadamard(512)[:, :size]).double()
    monkeypatch.setattr(
        importlib.import_module("dissensus.diagnostics.trace"), "signs", lambda _, __, probe: rows[probe]
    )
    assert hessian_trace(*batch_norm_net.given, 512).value == pytest.approx(batch_norm_net.trace, rel=1e-4)


def test_as_with_curvlinops(batch_norm_net):
    """Their operator and our products have one trace, from the same probes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from curvlinops import HessianLinearOperator

        model, inputs, targets = batch_norm_net.given
        model.eval()
        operator = HessianLinearOperator(model, nn.CrossEntropyLoss(), list(model.parameters()), [(inputs, targets)])
        theirs = operator.to_scipy()
        probes = [signs(Hessian(*batch_norm_net.given), 0, probe).numpy() for probe in range(20)]
        values = np.array([z @ (theirs @ z) for z in probes])
        model.train()
    told = hessian_trace(*batch_norm_net.given, 20)
    assert told.value == pytest.approx(values.mean(), rel=1e-6)
    assert told.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(20), rel=1e-6)


@pytest.mark.parametrize("probes", [2, 5, 20])
def test_the_error_of_the_deflated_one_falls_with_the_root_of_the_probes_and_what_is_outside(quadratic, probes):
    known = quadratic(EVEN)
    hessian = Hessian(*known.given, **known.options)
    space = krylov(hessian, start(hessian, 0), 10, 0.0, 10)
    basis = torch.stack(space.basis).numpy()
    outside = np.eye(hessian.size) - basis.T @ basis
    left = outside @ known.hessian @ outside
    promised = 2 * ((left**2).sum() - (np.diag(left) ** 2).sum()) / probes
    values = probed(hessian, 1000, 0, space).rest + space.diagonal.sum()
    errors = values.reshape(-1, probes).mean(1) - known.trace
    assert (errors**2).mean() == pytest.approx(promised, rel=0.35)


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


def test_probes_of_a_set_are_the_means_of_those_of_its_items():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    hessian = Hessian(model, torch.randn(30, 4), torch.arange(30) % 3, chunk=13)
    some = np.array([2, 29, 7, 11])
    by_item = probed_by_item(hessian, 12, seed=1)
    of = hessian.on(some)
    space = krylov(of, start(of, 0), 3, 0.0, 3)
    known = probed(of, 12, 1, space, by_item[:, some].mean(1))
    alone = probed(of, 12, 1, space)
    np.testing.assert_allclose(known.plain, alone.plain, atol=1e-10)
    np.testing.assert_allclose(known.rest, alone.rest, atol=1e-10)
    assert (
        probed_by_item(Hessian(nn.Sequential(model, nn.Tanh()), torch.randn(5, 4), torch.arange(5) % 3), 2, 0) is None
    )
