import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics.cam_stability import cam_stability


def test_stability_is_pearsons_over_the_places():
    rng = np.random.default_rng(0)
    a, b = rng.random((7, 4, 5)), rng.random((7, 4, 5))
    found = cam_stability(a, b)
    expected = [np.corrcoef(x.ravel(), y.ravel())[0, 1] for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(found.per_item, expected)
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.standard_error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(7))
    assert found.dropped == 0
    assert cam_stability(a, a).mean == pytest.approx(1)
    assert cam_stability(a, 1e-30 * a).mean == pytest.approx(1)


def test_constant_maps_are_dropped_and_counted():
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 3, 3)), rng.random((5, 3, 3))
    a[1], b[1], b[3] = 0, 0, 0.1 + 1e-9 * rng.random((3, 3))  # the last is float32's rounding
    found = cam_stability(a, b)
    assert found.dropped == 2
    np.testing.assert_array_equal(np.isnan(found.per_item), [False, True, False, True, False])
    assert found.mean == pytest.approx(cam_stability(a[[0, 2, 4]], b[[0, 2, 4]]).mean)
    nothing = cam_stability(np.zeros((2, 3, 3)), a[:2])
    assert np.isnan(nothing.mean)
    assert nothing.dropped == 2


def test_maps_that_do_not_fit_are_told():
    with pytest.raises(InputError, match=r"maps_a has the shape \(2, 3, 3\), but maps_b \(2, 3, 4\)"):
        cam_stability(np.zeros((2, 3, 3)), np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match=r"maps_b must have the shape \(items, height, width\)"):
        cam_stability(np.zeros((2, 3, 3)), np.zeros((2, 9)))
    with pytest.raises(InputError, match="maps_a must be finite, but the map of item 1 is not"):
        cam_stability(np.array([[[0.0]], [[np.nan]]]), np.zeros((2, 1, 1)))
