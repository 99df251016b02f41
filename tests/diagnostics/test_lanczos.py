import warnings

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian, top_eigenvalue, top_eigenvalues
from dissensus.diagnostics.lanczos import krylov, start

CLOSE = np.concatenate([[1.0, 0.99], np.linspace(0.9, 0, 198)])  # lambda2 / lambda1 = 0.99
SADDLE = np.concatenate([[-5.0, 1.0, 0.7], np.linspace(-0.5, 0.5, 97)])


def test_the_first_eigenvalues_of_a_batch_norm_net_are_those_of_its_exact_hessian(batch_norm_net):
    told = top_eigenvalues(*batch_norm_net.given, 5, tolerance=1e-4)
    assert told.converged
    np.testing.assert_allclose(told.values, batch_norm_net.values[:5], rtol=1e-4)


def test_one_eigenvalue_is_the_first_of_several(batch_norm_net):
    told = top_eigenvalue(*batch_norm_net.given, tolerance=1e-4)
    assert told.value == pytest.approx(batch_norm_net.values[0], rel=1e-4)
    assert told.value == pytest.approx(top_eigenvalues(*batch_norm_net.given, 3, tolerance=1e-4).values[0], rel=1e-4)


def test_as_with_curvlinops_and_arpack(batch_norm_net):
    from scipy.sparse.linalg import eigsh

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from curvlinops import HessianLinearOperator

        model, inputs, targets = batch_norm_net.given
        model.eval()
        theirs = HessianLinearOperator(model, nn.CrossEntropyLoss(), list(model.parameters()), [(inputs, targets)])
        expected = eigsh(theirs.to_scipy(), 2, which="LA", return_eigenvectors=False)[::-1]
        model.train()
    np.testing.assert_allclose(top_eigenvalues(*batch_norm_net.given, 2, tolerance=1e-4).values, expected, rtol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_close_second_eigenvalue_does_not_mislead(quadratic, seed):
    known = quadratic(CLOSE)
    told = top_eigenvalue(*known.given, seed=seed, **known.options)
    assert told.converged
    assert told.value == pytest.approx(1.0, rel=0.01)
    finer = top_eigenvalues(*known.given, 2, tolerance=1e-3, seed=seed, **known.options)
    np.testing.assert_allclose(finer.values, [1.0, 0.99], rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_is_found_beside_a_dominant_negative_eigenvalue(quadratic, seed):
    known = quadratic(SADDLE)
    told = top_eigenvalues(*known.given, 2, seed=seed, **known.options)
    np.testing.assert_allclose(told.values, [1.0, 0.7], rtol=1e-3)


def test_an_eigenvalue_lies_within_the_residual(quadratic):
    known = quadratic(CLOSE)
    hessian = Hessian(*known.given, **known.options)
    for most in range(1, 25):
        told = krylov(hessian, start(hessian, 0), 3, 0.0, most).eigenvalues(3, 0.0)
        assert told.products == most
        for value, residual in zip(told.values, told.residuals, strict=True):
            assert np.abs(CLOSE - value).min() <= residual + 1e-12


def test_the_error_is_at_most_the_square_of_the_residual_over_the_gap(quadratic):
    known = quadratic(CLOSE)
    hessian = Hessian(*known.given, **known.options)
    near = 0
    for most in range(10, 60, 3):
        told = krylov(hessian, start(hessian, 0), 1, 0.0, most).eigenvalues(1, 0.0)
        value, residual = told.values[0], told.residuals[0]
        if residual < value - 0.99:  # nearer to the first than to the second
            near += 1
            assert 1 - value <= residual**2 / (value - 0.99) + 1e-12
    assert near > 3


def test_the_basis_stays_orthogonal_in_single_precision():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 3))
    hessian = Hessian(model, 5 * torch.randn(50, 4), torch.randint(3, (50,)))
    basis = torch.stack(krylov(hessian, start(hessian, 0), 1, 0.0, 40).basis)
    assert len(basis) >= 30  # rounding decides when the residual is exactly 0
    torch.testing.assert_close(basis @ basis.T, torch.eye(len(basis)), rtol=0, atol=1e-5)


def test_few_products_are_enough_for_a_per_cent(batch_norm_net):
    assert top_eigenvalue(*batch_norm_net.given).products <= 25


def test_a_space_that_closes_is_left_for_the_next_eigenvalue(quadratic):
    known = quadratic([3.0, 3.0, 3.0, 1.0, 0.0])  # only three different ones: every Krylov space has three dimensions
    told = top_eigenvalues(*known.given, 5, **known.options)
    np.testing.assert_allclose(told.values, [3, 3, 3, 1, 0], atol=1e-10)


def test_no_curvature_at_all(quadratic):
    known = quadratic(np.zeros(4))
    told = top_eigenvalue(*known.given, **known.options)
    assert (told.value, told.residual, told.converged) == (0.0, 0.0, True)


def test_what_has_not_converged_says_so(quadratic):
    known = quadratic(CLOSE)
    told = top_eigenvalue(*known.given, most=3, **known.options)
    assert not told.converged
    assert told.products == 3
    assert told.residual > 0.01 * told.value


def test_the_seed_decides(batch_norm_net):
    assert top_eigenvalue(*batch_norm_net.given, seed=1) == top_eigenvalue(*batch_norm_net.given, seed=1)
    assert top_eigenvalue(*batch_norm_net.given, seed=1) != top_eigenvalue(*batch_norm_net.given, seed=2)


@pytest.mark.parametrize("k", [0, 3])
def test_as_many_eigenvalues_as_parameters_at_most(quadratic, k):
    known = quadratic([1.0, 2.0])
    with pytest.raises(InputError, match=f"k must lie in 1 to 2, the number of parameters, but is {k}"):
        top_eigenvalues(*known.given, k, **known.options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 0}, "most must be at least k.*but 0 is below 1"),
        ({"most": 2.5}, "most must be a whole number of at least 1, but it is 2.5"),
        ({"tolerance": float("nan")}, "tolerance must be 0 or a positive number, but is nan"),
        ({"k": 4, "most": 3}, "most must be at least k, since every eigenvalue takes a product, but 3 is below 4"),
        ({"k": 1.5}, "k must be a whole number"),
    ],
)
def test_limits_are_checked(batch_norm_net, options, message):
    with pytest.raises(InputError, match=message):
        top_eigenvalues(*batch_norm_net.given, **options)


def test_a_misspelt_option_is_an_error(batch_norm_net):
    with pytest.raises(TypeError, match="chunks"):
        top_eigenvalue(*batch_norm_net.given, chunks=3)
