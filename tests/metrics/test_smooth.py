import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.metrics import smooth_ece, smooth_reliability

relplot = pytest.importorskip("relplot")


def binary(confidence, right):
    return np.stack([confidence, 1 - confidence], 1), np.where(right, 0, 1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cases(items):
    rng = np.random.default_rng(items)
    spread = rng.uniform(0.5, 1, items)
    peaked = sigmoid(np.abs(rng.normal(7, 4, items)))  # most within a thousandth of 1, as those of image classifiers
    half = np.where(np.arange(items) % 2, 1.0, 0.5)
    return {
        "calibrated": (spread, rng.random(items) < spread),
        "overconfident": (spread, rng.random(items) < spread**2),
        "the wrong way round": (spread, rng.random(items) < 1.5 - spread),
        "peaked": (peaked, rng.random(items) < peaked),
        "peaked and overconfident": (peaked, rng.random(items) < 0.87 * peaked),
        "certain or clueless": (half, half == 1),
        "certain and wrong": (np.ones(items), np.zeros(items)),
        "certain and right": (np.ones(items), np.ones(items)),
        "constant": (np.full(items, 0.5), rng.random(items) < 0.9),
    }


@pytest.mark.parametrize("items", [1, 30, 2000, 20_000])
@pytest.mark.parametrize("name", cases(1))
def test_the_same_value_as_relplot(name, items):
    confidence, right = cases(items)[name]
    near = 1e-3 if items == 1 else 1e-4  # relplot adds 1e-4 to every density, which shows for one item
    assert smooth_ece(*binary(confidence, right)) == pytest.approx(relplot.smECE(confidence, right * 1.0), abs=near)


def test_many_classes_are_judged_by_their_top_one():
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.full(10, 0.3), 3000), rng.integers(0, 10, 3000)
    confidence, right = relplot.multiclass_logits_to_confidences(probs, labels, probs=True)
    assert smooth_ece(probs, labels) == pytest.approx(relplot.smECE(confidence, right), abs=1e-4)


@pytest.mark.parametrize("name", ["calibrated", "overconfident", "peaked and overconfident"])
def test_the_curve_is_relplots(name):
    confidence, right = cases(5000)[name]
    theirs = relplot.prepare_rel_diagram(confidence, right * 1.0, plot_confidence_band=False, report_CE_std=False)
    ours = smooth_reliability(*binary(confidence, right), points=200)
    assert ours.width == theirs["sigma"]
    np.testing.assert_allclose(ours.confidence, theirs["mesh"])
    seen = ours.density > 0.05  # where items are: relplot's density has a small constant added
    np.testing.assert_allclose(ours.accuracy[seen], theirs["mu"][seen], atol=2e-3)


def test_the_curve_of_a_known_truth():
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.5, 1, 200_000)
    probs, labels = binary(confidence, rng.random(200_000) < confidence**2)
    curve = smooth_reliability(probs, labels)
    f, t = np.linspace(0.5, 1, 2001), curve.confidence[:, None]
    kernel = sum(np.exp(-(((t - image) / curve.width) ** 2) / 2) for image in (f, -f, 2 - f))
    seen = curve.density > 0.05
    np.testing.assert_allclose(curve.accuracy[seen], ((kernel * f**2).sum(1) / kernel.sum(1))[seen], atol=0.01)
    np.testing.assert_allclose(curve.density, kernel.mean(1) / (curve.width * np.sqrt(2 * np.pi)), atol=0.02)
    assert np.trapezoid(curve.density, curve.confidence) == pytest.approx(
        1, abs=5e-3
    )  # the kernel ends at 3 widths here
    assert curve.error == smooth_ece(probs, labels)


def test_no_accuracy_is_made_up_where_no_item_is():
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.9, 0.95, 20_000)
    curve = smooth_reliability(*binary(confidence, rng.random(20_000) < confidence))
    assert np.isnan(curve.accuracy[:50]).all()
    assert np.nanmin(curve.accuracy) >= 0


def test_points_are_counted():
    with pytest.raises(InputError, match="points must be a whole number of at least 2, but it is 1"):
        smooth_reliability([[0.5, 0.5]], [0], points=1)
