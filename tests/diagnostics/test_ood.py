"""Scores against their plain formulas, neighbours against brute force, areas against scikit-learn, ties included."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors

from dissensus.base.errors import InputError
from dissensus.diagnostics import ood

SCORES = (ood.energy, ood.msp, ood.entropy_score, ood.margin)


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(scale=3, size=(50, 7))


def test_scores_are_their_formulas(logits):
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    ordered = np.sort(logits, 1)
    np.testing.assert_allclose(ood.energy(logits), np.log(np.exp(logits).sum(1)))
    np.testing.assert_allclose(ood.energy(logits, temperature=4), 4 * np.log(np.exp(logits / 4).sum(1)))
    np.testing.assert_allclose(ood.msp(logits), probs.max(1))
    np.testing.assert_allclose(ood.entropy_score(logits), (probs * np.log(probs)).sum(1))
    np.testing.assert_allclose(ood.margin(logits), ordered[:, -1] - ordered[:, -2])


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
def test_a_surer_prediction_scores_higher_however_large_the_logits(score):
    unsure, sure = score([[1.0, 1.0, 1.0], [900.0, 1.0, 1.0]])
    assert np.isfinite([unsure, sure]).all()
    assert sure > unsure


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
def test_logits_must_be_finite_rows(score):
    with pytest.raises(InputError, match="row 0, column 1 holds nan"):
        score([[0.0, np.nan]])
    with pytest.raises(InputError, match=r"\(items, classes\)"):
        score([0.0, 1.0])


@pytest.mark.parametrize("k", [1, 5, 40])
def test_neighbours_are_those_of_brute_force(monkeypatch, k):
    monkeypatch.setattr(ood, "_BLOCK", 100)  # blocks of two items
    chance = np.random.default_rng(0)
    features, bank = chance.normal(size=(25, 6)), chance.normal(size=(40, 6))
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (features, bank)]
    every = np.sqrt(((unit[0][:, None] - unit[1][None]) ** 2).sum(2))
    np.testing.assert_allclose(ood.knn(features, bank, k), -np.sort(every, 1)[:, k - 1])
    theirs, _ = NearestNeighbors(n_neighbors=k).fit(unit[1]).kneighbors(unit[0])
    np.testing.assert_allclose(ood.knn(features, bank, k), -theirs[:, -1])


def test_neighbours_do_not_mind_lengths_and_bear_dead_features():
    assert ood.knn([[5.0, 0.0]], [[0.1, 0.0]], k=1) == pytest.approx(0)
    assert ood.knn([[0.0, 0.0]], [[1.0, 0.0]], k=1) == pytest.approx(-1)


def test_neighbours_need_a_bank():
    with pytest.raises(InputError, match="1 to 2, the items of the bank, but it is 50"):
        ood.knn([[1.0]], [[1.0], [2.0]])
    with pytest.raises(InputError, match="features have 1 columns, but those of the bank have 2"):
        ood.knn([[1.0]], [[1.0, 2.0]], k=1)
    with pytest.raises(InputError, match="row 0 is not"):
        ood.knn([[np.inf]], [[1.0]], k=1)


@pytest.fixture(params=["continuous", "ties", "one value"])
def sides(request):
    chance = np.random.default_rng(0)
    inside, outside = chance.normal(1, 1, 130), chance.normal(0, 1, 70)
    if request.param == "ties":
        inside, outside = inside.round(), outside.round()
    if request.param == "one value":
        inside, outside = np.ones(130), np.ones(70)
    return inside, outside


def test_areas_are_those_of_scikit_learn(sides):
    inside, outside = sides
    truth = np.r_[np.ones(len(inside)), np.zeros(len(outside))]
    scores = np.concatenate(sides)
    assert ood.auroc(*sides) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    assert ood.aupr(*sides) == pytest.approx(average_precision_score(truth, scores), abs=1e-12)
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    assert ood.fpr_at_95(*sides) == pytest.approx(false[(true >= 0.95).argmax()], abs=1e-12)
    found = ood.separation(*sides)
    assert (found.auroc, found.inside, found.outside) == (ood.auroc(*sides), 130, 70)


def test_95_of_100_is_enough():
    assert ood.fpr_at_95(range(20), [0.5]) == 0  # 19 of 20
    assert ood.fpr_at_95(range(20), [1.0]) == 1
    assert ood.fpr_at_95(range(100), [4.5]) == 0


@pytest.mark.parametrize("measure", ["auroc", "aupr", "fpr_at_95"])
def test_the_standard_error_is_the_spread_of_repeated_draws(many_separations, measure):
    spread = np.std([getattr(one, measure) for one in many_separations])
    errors = [getattr(one, f"{measure}_se") for one in many_separations]
    assert np.mean(errors) == pytest.approx(spread, rel=0.15 if measure == "fpr_at_95" else 0.08)


@pytest.fixture(scope="module")
def many_separations():
    chance = np.random.default_rng(0)
    return [ood.separation(chance.normal(1.5, 1, 150), chance.normal(0, 1, 100)) for _ in range(400)]


def test_scores_that_are_all_one_have_errors_of_0_and_a_single_item_none():
    same = ood.separation(np.ones(9), np.ones(5))
    assert (same.auroc_se, same.aupr_se, same.fpr_at_95_se) == pytest.approx((0, 0, 0), abs=1e-12)
    for sides in (([1.0], [0.0, 2.0]), ([0.0, 2.0], [1.0])):
        found = ood.separation(*sides)
        assert np.isnan([found.auroc_se, found.aupr_se, found.fpr_at_95_se]).all()


@pytest.mark.parametrize("measure", [ood.auroc, ood.aupr, ood.fpr_at_95, ood.separation])
def test_scores_must_be_there(measure):
    with pytest.raises(InputError, match="outside must be one score an item"):
        measure([1.0], [])
    with pytest.raises(InputError, match="the score of item 1 is NaN"):
        measure([1.0, np.nan], [1.0])
