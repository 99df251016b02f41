import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics.similarity import cka_errors, debiased_cka, linear_cka, similarity_over_seeds


def hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Gretton et al. (2005): tr(KHLH), with the centring matrix written out."""
    h = np.eye(len(k)) - 1 / len(k)
    return np.trace(k @ h @ l @ h)


def unbiased_hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Song et al. (2012), equation 5, on matrices that nobody centred."""
    n, one = len(k), np.ones(len(k))
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))  # noqa: E741
    inside = np.trace(k @ l) + (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * one @ k @ l @ one
    return inside / (n * (n - 3))


def directly(estimator, x: np.ndarray, y: np.ndarray) -> float:
    k, l = x @ x.T, y @ y.T  # noqa: E741
    return estimator(k, l) / np.sqrt(estimator(k, k) * estimator(l, l))


@pytest.fixture(params=[(30, 4, 6), (12, 40, 50), (20, 3, 70), (4, 2, 2)], ids=str)
def pair(request):
    items, a, b = request.param
    rng = np.random.default_rng(items)
    x = rng.normal(size=(items, a)) + 3
    return x, x @ rng.normal(size=(a, b)) + 2 * rng.normal(size=(items, b)) - 1


def test_plain_equals_a_direct_computation_of_hsic(pair):
    assert linear_cka(*pair) == pytest.approx(directly(hsic, *pair), rel=1e-10)


def test_debiased_equals_a_direct_computation_of_unbiased_hsic(pair):
    assert debiased_cka(*pair) == pytest.approx(directly(unbiased_hsic, *pair), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("cka", [linear_cka, debiased_cka])
def test_rotation_scale_and_shift_of_the_features_change_nothing(cka, pair):
    x, y = pair
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(x.shape[1], x.shape[1])))
    expected = cka(x, y)
    assert cka(x @ rotation, y) == pytest.approx(expected, abs=1e-9)
    assert cka(1e-150 * x, 1e150 * y) == pytest.approx(expected, abs=1e-9)
    assert cka(x + 5, y) == pytest.approx(expected, abs=1e-9)
    assert cka(y, x) == pytest.approx(expected, abs=1e-12)
    assert cka(x, x) == pytest.approx(1)


def test_independent_features_with_more_dimensions_than_items():
    rng = np.random.default_rng(0)
    values = [
        (linear_cka(x, y), debiased_cka(x, y))
        for x, y in ((rng.normal(size=(50, 400)), rng.normal(size=(50, 300))) for _ in range(20))
    ]
    plain, debiased = np.mean(values, 0)
    assert plain > 0.8
    assert abs(debiased) < 3 * np.std(values, 0)[1] / np.sqrt(20)
    assert max(abs(value) for _, value in values) < 0.1


def test_standard_errors_are_those_of_leaving_out_each_item(pair):
    items = len(pair[0])
    for cka, error, least in zip((linear_cka, debiased_cka), cka_errors(*pair), (2, 4), strict=True):
        if items - 1 < least:
            assert np.isnan(error)
            continue
        left = np.array([cka(*(np.delete(features, item, 0) for features in pair)) for item in range(items)])
        assert error == pytest.approx(np.sqrt((items - 1) / items * ((left - left.mean()) ** 2).sum()), rel=1e-6)


def test_standard_errors_are_unknown_where_leaving_out_an_item_leaves_nothing():
    x = np.random.default_rng(0).normal(size=(9, 3))
    odd = np.zeros((9, 2))
    odd[4] = 1
    for other in (odd, np.ones((9, 2))):
        assert np.isnan(cka_errors(x, other)).all()
    assert np.isnan(cka_errors(x[:2], x[:2])).all()


def test_standard_errors_are_the_spread_over_other_items():
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(8, 12))
    values, errors = [], []
    for _ in range(150):
        x = rng.normal(size=(120, 8))
        y = x @ mixed + 3 * rng.normal(size=(120, 12))
        values.append((linear_cka(x, y), debiased_cka(x, y)))
        errors.append(cka_errors(x, y))
    np.testing.assert_allclose(np.mean(errors, 0), np.std(values, 0), rtol=0.2)


def test_the_plain_one_depends_on_the_number_of_items_and_the_debiased_one_does_not():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(2000, 20))
    x, y = (common @ rng.normal(size=(20, 200)) + 6 * rng.normal(size=(2000, 200)) for _ in range(2))
    few = [slice(start, start + 100) for start in range(0, 2000, 100)]
    whole = debiased_cka(x, y)
    assert np.mean([debiased_cka(x[s], y[s]) for s in few]) == pytest.approx(whole, abs=0.02)
    assert np.mean([linear_cka(x[s], y[s]) for s in few]) > linear_cka(x, y) + 0.1


def test_features_without_differences_have_no_similarity():
    x = np.random.default_rng(0).normal(size=(6, 2))
    alone = np.zeros((6, 2))
    alone[3] = 1
    assert np.isnan(linear_cka(np.full((6, 3), 0.1), x))
    assert np.isnan(debiased_cka(x, np.full((6, 3), 0.1)))
    assert np.isnan(debiased_cka(x, alone))
    assert 0 <= linear_cka(x, alone) <= 1


def test_the_callers_features_stay_as_they_are():
    x = np.random.default_rng(0).normal(size=(6, 2))
    before = x.copy()
    debiased_cka(x, x)
    np.testing.assert_array_equal(x, before)


def test_pairs_over_seeds_compare_shared_items_only():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 5))
    ids = np.array([f"item {i}" for i in range(60)])
    splits = [rng.permutation(60)[:30] for _ in range(3)]
    pairs = similarity_over_seeds([features[s] for s in splits], [ids[s] for s in splits])
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    for pair in pairs:
        assert pair.items == len(set(splits[pair.first]) & set(splits[pair.second]))
        assert pair.plain == pytest.approx(1)
        assert pair.debiased == pytest.approx(1)
        assert pair.plain_se == pytest.approx(0, abs=1e-6)
        assert pair.debiased_se == pytest.approx(0, abs=1e-6)


def test_what_cannot_be_compared_is_told():
    x = np.zeros((5, 2))
    with pytest.raises(InputError, match="x has 5, y has 4"):
        linear_cka(x, x[:4])
    with pytest.raises(InputError, match="at least 4 items here, but x and y have 3"):
        debiased_cka(x[:3], x[:3])
    with pytest.raises(InputError, match="y must be finite, but the features of item 2 are not"):
        linear_cka(x, np.where(np.arange(5)[:, None] == 2, np.nan, x))
    with pytest.raises(InputError, match=r"x has the shape \(5, 0\)"):
        linear_cka(x[:, :0], x)
