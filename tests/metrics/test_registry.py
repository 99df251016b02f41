"""What every metric promises, over the whole family."""

import subprocess
import sys

import numpy as np
import pytest

from dissensus import metrics
from dissensus.base.errors import InputError
from dissensus.metrics import METRICS
from dissensus.metrics.registry import metric as by_name

BEST = {True: 1.0, False: 0.0}
RANGES = {
    "soft_nll": (0, np.inf), "kl": (0, np.inf), "soft_brier": (0, 2), "js_distance": (0, np.sqrt(np.log(2))),
    "total_variation": (0, 1), "manhattan": (0, 2), "wasserstein": (0, 9), "soft_accuracy": (0, 1),
    "soft_micro_f1": (0, 1), "entropy_correlation": (-1, 1), "entropy_correlation_pearson": (-1, 1),
    "entropy_gap": (-np.log(10), np.log(10)), "accuracy": (0, 1), "ece": (0, 1), "debiased_ece": (-1, 1),
    "smooth_ece": (0, 1), "brier": (0, 2), "brier_reliability": (0, 2), "brier_resolution": (0, 1),
    "brier_uncertainty": (0, 1), "aurc": (0, 1),
}  # fmt: skip


@pytest.fixture(params=METRICS)
def metric(request):
    return METRICS[request.param]


def equal(a, b):
    return (np.isnan(a) and np.isnan(b)) or a == pytest.approx(b, rel=1e-9, abs=1e-9)


def test_a_metric_is_listed_under_its_own_name(metric):
    assert METRICS[metric.name] is metric
    assert getattr(metrics, metric.name) is metric.function
    assert metric.title


def test_titles_are_distinct():
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)


def test_the_range_is_kept(metric, case):
    low, high = RANGES[metric.name]
    value = metric(case.probs, case.human, case.labels)
    assert isinstance(value, float)
    assert np.isnan(value) or low - 1e-6 <= value <= high + 1e-6


def test_only_marked_metrics_become_infinite_or_undefined(metric, case):
    value = metric(case.probs, case.human, case.labels)
    assert metric.can_be_infinite or not np.isinf(value)
    assert metric.correlation or not np.isnan(value)


def test_per_item_metrics_give_one_number_an_item(metric, case):
    against = case.human if metric.needs == "human" else case.labels
    value = metric.function(case.probs, against)
    if metric.per_item:
        assert value.shape == (len(case.probs),)
        assert value.dtype == np.float64
        assert equal(metric(case.probs, case.human, case.labels), value.mean())
    else:
        assert isinstance(value, float)


def test_an_item_is_scored_by_itself(metric, ordinary):
    if metric.per_item:
        against = ordinary.human if metric.needs == "human" else ordinary.labels
        alone = [metric.function(ordinary.probs[[i]], against[[i]])[0] for i in range(5)]
        np.testing.assert_allclose(metric.function(ordinary.probs, against)[:5], alone, rtol=1e-12)


def test_the_order_of_the_items_does_not_matter(metric, case):
    order = np.random.default_rng(0).permutation(len(case.probs))
    before = metric(case.probs, case.human, case.labels)
    assert equal(before, metric(case.probs[order], case.human[order], case.labels[order]))


def test_the_order_of_the_classes_does_not_matter(metric, ordinary):
    if metric.ordered_only:
        pytest.skip("ordered classes have an order")
    order = np.random.default_rng(0).permutation(10)
    before = metric(ordinary.probs, ordinary.human, ordinary.labels)
    after = metric(ordinary.probs[:, order], ordinary.human[:, order], np.argsort(order)[ordinary.labels])
    assert equal(before, after)


def test_a_perfect_prediction_is_the_best(metric, ordinary):
    """With disagreement, soft NLL keeps the entropy and labels keep their uncertainty: those get one-hot votes."""
    if metric.higher_is_better is None:
        pytest.skip("neither way is better")
    human = ordinary.human
    if metric.needs == "labels" or metric.name == "soft_nll":
        human = np.eye(10)[ordinary.labels]
    best = metric(human, human, ordinary.labels)
    if metric.name == "brier_resolution":
        assert best == pytest.approx(METRICS["brier_uncertainty"](human, human, ordinary.labels))
    else:
        assert best == pytest.approx(BEST[metric.higher_is_better], abs=1e-9)
    worse = metric(0.5 * human + 0.05, human, ordinary.labels), metric(human[::-1], human, ordinary.labels)
    sign = 1 if metric.higher_is_better else -1
    assert all(sign * score <= sign * best + 1e-9 for score in worse)


def test_moving_towards_the_annotators_is_better(metric, ordinary):
    if metric.needs == "labels" or metric.higher_is_better is None:
        pytest.skip("judged against labels, or neither way is better")
    steps = [(1 - t) * ordinary.probs + t * ordinary.human for t in (0, 0.25, 0.5, 0.75, 1)]
    scores = [metric(step, ordinary.human) for step in steps]
    assert (np.diff(scores) > 0).all() if metric.higher_is_better else (np.diff(scores) < 0).all()


def test_the_needed_argument_is_asked_for(metric, ordinary):
    with pytest.raises(InputError, match=f"{metric.name} needs {metric.needs}, but none were given"):
        metric(ordinary.probs)


def test_only_the_needed_argument_is_looked_at(metric, ordinary):
    given = {"human": ordinary.human, "labels": ordinary.labels}
    nonsense = {name: value if name == metric.needs else "nonsense" for name, value in given.items()}
    np.testing.assert_equal(metric(ordinary.probs, **nonsense), metric(ordinary.probs, **given))


def test_an_unknown_metric_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="unknown metric 'soft_nl'; did you mean 'soft_nll'"):
        by_name("soft_nl")


def test_importing_metrics_is_cheap():
    code = "import sys, dissensus.metrics; print([m for m in ('scipy', 'torch', 'pandas') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
