import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics import power_iteration, top_eigenvalue

CROWDED = np.linspace(1.0, 0.0, 200)  # many eigenvalues close below the first


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
