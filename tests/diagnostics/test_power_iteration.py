import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian, power_iteration, top_eigenvalue
from dissensus.diagnostics.lanczos import start

CROWDED = np.linspace(1.0, 0.0, 200)  # many eigenvalues close below the first


def as_in_pyhessian(hessian, vector, tolerance, most):
    """The loop of ``pyhessian.hessian.eigenvalues``, with the Hessian in full: its value, and how many products."""
    eigenvalue, vector = None, vector / np.linalg.norm(vector)
    for products in range(1, most + 1):
        product = hessian @ vector
        found = vector @ product
        vector = product / (np.linalg.norm(product) + 1e-6)
        if eigenvalue is None:
            eigenvalue = found
        elif abs(eigenvalue - found) / (abs(eigenvalue) + 1e-6) < tolerance:
            return found, products
        else:
            eigenvalue = found
    return eigenvalue, most


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-5])
def test_it_is_pyhessians(batch_norm_net, tolerance):
    hessian = Hessian(*batch_norm_net.given)
    expected, products = as_in_pyhessian(batch_norm_net.hessian, start(hessian, 0).numpy(), tolerance, 100)
    told = power_iteration(*batch_norm_net.given, tolerance=tolerance)
    assert told.value == pytest.approx(expected, rel=1e-5)  # theirs divides by a little more than the norm
    assert told.products == products


def test_the_error_falls_by_the_square_of_the_ratio_of_eigenvalues_a_step(quadratic):
    known = quadratic([1.0, 0.9, 0.3, 0.2])
    errors = [
        1 - power_iteration(*known.given, tolerance=0.0, most=most, **known.options).value for most in (60, 61, 70)
    ]
    assert errors[1] / errors[0] == pytest.approx(0.9**2, rel=1e-2)
    assert errors[2] / errors[0] == pytest.approx(0.9**20, rel=5e-2)


def test_a_second_eigenvalue_of_99_percent_stops_it_early_and_the_residual_tells(quadratic):
    known = quadratic(np.concatenate([[1.0, 0.99], np.linspace(0.9, 0, 198)]))
    told = [power_iteration(*known.given, seed=seed, **known.options) for seed in range(5)]
    assert all(each.converged for each in told)
    assert max(abs(each.value - 1) for each in told) > 0.005
    assert all(abs(each.value - 1) <= 0.011 or each.residual > 0.01 for each in told)


def test_a_clear_first_eigenvalue_is_found(quadratic):
    known = quadratic([4.0, 1.0, 0.5, 0.1])
    assert power_iteration(*known.given, **known.options).value == pytest.approx(4.0, rel=1e-3)


def test_it_stops_too_early_where_eigenvalues_are_close_and_lanczos_does_not(quadratic):
    known = quadratic(CROWDED)
    power = power_iteration(*known.given, **known.options)
    assert power.converged  # by its own rule
    assert power.value < 0.99
    assert power.residual > 0.01
    assert top_eigenvalue(*known.given, **known.options).value == pytest.approx(1.0, rel=0.01)


def test_the_residual_is_that_of_an_eigenvalue(quadratic):
    known = quadratic(CROWDED)
    told = power_iteration(*known.given, **known.options)
    assert np.abs(CROWDED - told.value).min() <= told.residual


def test_the_largest_in_size_is_found(quadratic):
    known = quadratic([-5.0, 1.0, 0.7, 0.1])
    assert power_iteration(*known.given, **known.options).value == pytest.approx(-5.0, rel=1e-3)


def test_it_ends(quadratic):
    known = quadratic(CROWDED)
    told = power_iteration(*known.given, tolerance=0.0, most=7, **known.options)
    assert (told.products, told.converged) == (7, False)
    flat = quadratic(np.zeros(3))
    assert power_iteration(*flat.given, **flat.options).value == 0
    with pytest.raises(InputError, match="most must be a whole number of at least 1, but it is 0"):
        power_iteration(*known.given, most=0, **known.options)
