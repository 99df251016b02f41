"""The promises: every public name, used as the design and the README write it."""

import numpy as np
import pytest

from dissensus import (
    DELIVERIES,
    METHODS,
    METRICS,
    Multipass,
    Plan,
    Recipe,
    Soft,
    Votes,
    fit,
    fit_many,
    load,
    metrics,
    read_votes,
    stats,
)


@pytest.fixture
def votes():
    counts = np.random.default_rng(0).multinomial(12, [0.6, 0.3, 0.1], size=40)
    return Votes.from_counts(counts, classes=["cat", "dog", "eel"])


def test_votes_in(tmp_path, votes):
    file = tmp_path / "labels.csv"
    file.write_text("item,annotator,label\na,ann,2\na,bob,10\nb,ann,2\n")
    read = read_votes(file)
    assert list(read.classes) == [2, 10]  # numeric order, not "10" before "2"
    assert list(read.items) == ["a", "b"]
    ordered = read_votes(file, classes=[2, 5, 10], ordered=True)
    assert ordered.ordered
    assert ordered.n_classes == 3
    made = Votes.from_records(items=["x", "x", "y"], labels=["cat", "dog", "cat"], annotators=["p", "q", "p"])
    assert (made.n_items, made.n_classes, made.n_votes) == (2, 2, 3)
    assert Votes.from_records(items=["x", "y"], labels=["cat", "dog"]).annotators is None


def test_votes_are_arrays(tmp_path, votes):
    assert votes.counts().shape == (40, 3)
    assert votes.frequencies().dtype == np.float64
    np.testing.assert_allclose(votes.frequencies().sum(1), 1)
    ids = votes.items[::-1]
    np.testing.assert_array_equal(votes.align(ids).counts(), votes.counts()[::-1])
    train, test = votes.split(0.2, seed=0, by=votes.counts().argmax(1))
    assert sorted([*train, *test]) == list(range(40))
    assert (votes.take(train).counts() == votes.counts()[train]).all()
    five, ten = votes.subsample(5, seed=0), votes.subsample(10, seed=0)
    assert (five.counts() <= ten.counts()).all()
    assert (ten.counts() <= votes.counts()).all()
    assert (votes.resample(5, seed=0).counts().sum(1) == 5).all()
    votes.save(tmp_path / "votes.npz")
    assert Votes.load(tmp_path / "votes.npz") == votes


def test_deliveries(votes):
    assert list(DELIVERIES) == [
        "soft",
        "sls",
        "multipass",
        "deterministic-control",
        "shuffled-sls",
        "majority",
        "label-smoothing",
    ]
    assert set(METHODS) == {*DELIVERIES, "mixup"}
    labels = Multipass(votes, seed=0)(3)
    assert labels.shape == (40,)
    assert labels.dtype == np.int64
    assert Soft(votes)(0).dtype == np.float32


def test_metrics_and_statistics(votes):
    human = votes.frequencies()
    probs = 0.9 * human + 0.1 / 3
    labels = human.argmax(1)
    for per_item in ("soft_nll", "kl", "soft_brier", "js_distance", "total_variation"):
        assert getattr(metrics, per_item)(probs, human).shape == (40,)
        assert per_item in METRICS
    assert metrics.accuracy(probs, labels) == 1
    assert 0 <= metrics.ece(probs, labels, bins=15) <= 1
    assert 0 <= metrics.smooth_ece(probs, labels) <= 1
    assert metrics.entropy_correlation(probs, human) > 0.9
    parts = metrics.brier_decomposition(probs, labels)
    assert parts.reliability >= 0
    assert parts.resolution >= 0
    assert parts.uncertainty >= 0
    a, b = np.arange(8) / 10, np.arange(8) / 10 + 1 + np.arange(8) / 100
    assert stats.wilcoxon(a, b, alternative="less").pvalue == 1 / 256
    assert list(stats.holm([0.01, 0.04])) == [0.02, 0.04]
    interval = stats.paired_bootstrap(a, b)
    assert interval.low <= interval.mean <= interval.high
    assert stats.equivalence(a, a + 1e-3 * np.arange(8), margin=0.1).pvalue < 0.05


def test_training_for_those_without_a_loop():
    from dissensus.models import make
    from dissensus.training import Job

    data = load("glyphs", items=120)
    assert data.inputs.dtype == np.uint8
    assert len(data.votes) == len(data.inputs)
    train, test = data.votes.split(0.2, seed=0)
    deliver = Multipass(data.votes.take(train), seed=0)
    make_model = make("small-cnn", data.inputs.shape[1:], data.votes.n_classes)
    held_out = (data.inputs[test], data.votes.frequencies()[test])
    fitted = fit(make_model, data.inputs[train], deliver, Recipe(epochs=2), seed=0, held_out=held_out)
    assert len(fitted.history) == 2
    assert fitted.best.probs.shape == (len(test), 10)
    assert fitted.last.epoch == 1
    job = Job(make_model, data.inputs[train], deliver, Recipe(epochs=2), seed=0, held_out=held_out)
    (beside,) = fit_many([job], width=4)
    np.testing.assert_array_equal(beside.last.logits, fitted.last.logits)
    assert Plan.__name__ == "Plan"
