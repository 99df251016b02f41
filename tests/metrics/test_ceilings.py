import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from dissensus.base.errors import InputError
from dissensus.metrics import METRICS, Estimate, ceiling, corrected_ceiling, entropy, halves, js_distance

rng = np.random.default_rng(0)
COUNTS = rng.multinomial(20, rng.dirichlet(np.full(4, 0.5), 200))


def test_halves_share_out_every_vote_once():
    counts = rng.integers(0, 9, (300, 6)) + 1
    first, second = halves(counts)
    np.testing.assert_array_equal(first + second, counts)
    np.testing.assert_array_equal(first.sum(1), counts.sum(1) // 2)
    assert min(first.min(), second.min()) >= 0


def test_halves_follow_the_hypergeometric_law():
    counts = np.tile([5, 3, 4], (100_000, 1))
    drawn = halves(counts)[0]
    law = scipy.stats.multivariate_hypergeom([5, 3, 4], 6)
    np.testing.assert_allclose(drawn.mean(0), law.mean(), atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), law.cov(), atol=0.02)


def test_halves_are_a_function_of_seed_and_draw():
    np.testing.assert_array_equal(halves(COUNTS, draw=3, seed=1)[0], halves(COUNTS, draw=3, seed=1)[0])
    assert (halves(COUNTS, draw=3, seed=1)[0] != halves(COUNTS, draw=4, seed=1)[0]).any()
    assert (halves(COUNTS, draw=3, seed=1)[0] != halves(COUNTS, draw=3, seed=2)[0]).any()


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_finite_ceiling_or_none(name):
    got = ceiling(name, COUNTS, draws=4)
    if METRICS[name].has_ceiling:
        assert np.isfinite([got.mean, got.sd]).all()
        assert got == ceiling(name, COUNTS, draws=4)
    else:
        assert got is None


def test_the_ceiling_of_a_linear_metric_is_known():
    """Halves of n votes: E sum (a/m - b/m)^2 = sum_k Var[(2a_k - n_k) / m] for the hypergeometric a, m = n / 2."""
    expected = np.mean([
        4 * np.trace(scipy.stats.multivariate_hypergeom(row, 10).cov()) / 100 for row in COUNTS
    ])  # fmt: skip
    assert ceiling("soft_brier", COUNTS, draws=200).mean == pytest.approx(expected, rel=0.02)


def test_unanimous_votes_have_a_perfect_ceiling_but_for_smoothing():
    counts = np.eye(3, dtype=int)[np.arange(30) % 3] * 10
    assert ceiling("js_distance", counts) == Estimate(0.0, 0.0)
    assert ceiling("accuracy", counts) == Estimate(1.0, 0.0)
    # the prior is a third for each class here: five votes of one class become (5 + 1/3) / 6
    assert ceiling("kl", counts).mean == pytest.approx(-np.log((5 + 1 / 3) / 6))


def test_a_class_that_only_one_half_has_seen_stays_finite():
    counts = np.array([[2, 0, 0], [0, 2, 0], [1, 0, 1]])
    assert np.isfinite(ceiling("soft_nll", counts, draws=20).mean)


def test_ties_between_the_most_frequent_are_drawn():
    counts = np.tile([10, 10], (4000, 1))
    assert ceiling("accuracy", counts, draws=2).mean < 0.4  # what one half has more of, the other has less of


def test_corrected_ceiling_is_spearman_brown_for_correlations_only():
    for name, metric in METRICS.items():
        corrected = corrected_ceiling(name, COUNTS, draws=4)
        assert (corrected is not None) == metric.correlation
    r = ceiling("entropy_correlation", COUNTS)
    assert corrected_ceiling("entropy_correlation", COUNTS).mean == pytest.approx(2 * r.mean / (1 + r.mean), abs=2e-3)


def test_the_correction_foretells_twice_as_many_votes():
    truth = rng.dirichlet(np.full(3, 1.0), 4000)
    predicted = corrected_ceiling("entropy_correlation_pearson", rng.multinomial(100, truth)).mean
    measured = ceiling("entropy_correlation_pearson", rng.multinomial(200, truth)).mean
    assert predicted == pytest.approx(measured, abs=0.01)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="at least two votes an item to be halved, but item 1 has 1"):
        ceiling("kl", [[3, 2], [1, 0]])
    with pytest.raises(InputError, match="at least two votes an item to be halved, but there are no items"):
        ceiling("kl", np.empty((0, 3), int))
    with pytest.raises(InputError, match="Shares cannot be turned back into votes"):
        ceiling("kl", [[0.5, 0.5]])
    with pytest.raises(InputError, match="draws must be a whole number of at least 2, but it is 1"):
        ceiling("kl", [[3, 2]], draws=1)
    with pytest.raises(InputError, match="unknown metric 'lk'"):
        ceiling("lk", [[3, 2]])


def real(*path):
    """A file of the real data, where there is any."""
    root = os.environ.get("DISSENSUS_DATA")
    if not root or not (file := Path(root, *path)).exists():
        pytest.skip(f"needs {'/'.join(path)} under DISSENSUS_DATA")
    return file


def test_cifar10h_halves_correlate_at_54():
    counts = np.load(real("cifar-10h", "cifar10h-counts.npy"))
    assert ceiling("entropy_correlation", counts, draws=5).mean == pytest.approx(0.54, abs=0.005)
    assert corrected_ceiling("entropy_correlation", counts, draws=5).mean == pytest.approx(0.70, abs=0.005)
    disagreement = entropy(counts / counts.sum(1, keepdims=True))
    assert disagreement.mean() == pytest.approx(0.1545, abs=5e-5)
    np.testing.assert_allclose(
        np.quantile(disagreement, [0.75, 0.8, 0.9, 0.95]), [0.193, 0.257, 0.464, 0.677], atol=6e-4
    )


@pytest.mark.parametrize(("part", "uniform", "half"), [("snli", 0.383, 0.084), ("mnli_m", 0.302, 0.091),
                                                       ("alphanli", 0.321, 0.057)])  # fmt: skip
def test_chaosnli_js_distances(part, uniform, half):
    lines = real("chaosNLI_v1.0", f"chaosNLI_{part}.jsonl").read_text(encoding="utf-8").splitlines()
    counts = np.array([json.loads(line)["label_count"] for line in lines])
    human = counts / counts.sum(1, keepdims=True)
    assert js_distance(np.full(human.shape, 1 / human.shape[1]), human).mean() == pytest.approx(uniform, abs=6e-4)
    assert ceiling("js_distance", counts).mean == pytest.approx(half, abs=1.5e-3)
