"""What the figures show, against direct computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from dissensus.report import Measure, collect
from dissensus.report.views import (
    by_votes,
    differences,
    entropies,
    finite,
    human_reliability,
    label_reliability,
    learning,
)


def test_differences_are_paired_by_seed(comparison):
    (panel,) = comparison.panels
    view = differences(panel, panel.judgements[0])
    assert view.pairs[2] == ("soft", "majority")
    scores = panel.scores[Measure("kl")]
    np.testing.assert_array_equal(view.values[2], scores["soft"] - scores["majority"])
    assert view.intervals[2].mean == pytest.approx(view.values[2].mean())
    assert view.winners[2] == "soft"


def test_reliability_conserves_accuracy_and_agreement(comparison):
    runs = comparison.panels[0].runs["soft"]
    items = sum(len(run.predictions["labels"]) for run in runs)
    assert items % 15 == 0  # so all bins weigh the same
    top = [run.predictions["best_logits"].argmax(1) for run in runs]
    right = np.mean([t == run.predictions["labels"] for t, run in zip(top, runs, strict=True)])
    assert label_reliability(runs).came_true.mean() == pytest.approx(right)
    shares = [run.predictions["counts"] / 20 for run in runs]
    chosen = np.mean([s[np.arange(len(t)), t] for s, t in zip(shares, top, strict=True)])
    assert human_reliability(runs).came_true.mean() == pytest.approx(chosen)


def test_entropies(comparison):
    (panel,) = comparison.panels
    view = entropies(comparison, panel, "majority")
    counts = np.concatenate([run.predictions["counts"] for run in panel.runs["majority"]])
    np.testing.assert_allclose(view.human, entropy(counts, axis=1), atol=1e-12)
    assert view.correlation == pytest.approx(panel.scores[Measure("entropy_correlation")]["majority"].mean())
    low, middle, high = view.quartiles
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert (np.diff(view.centres) > 0).all()


def test_unanimous_votes_make_one_bin(make_run):
    def unanimous(predictions):
        predictions["counts"][:] = [20, 0, 0, 0]

    found = collect([make_run("soft", edit=unanimous)])
    view = entropies(found, found.panels[0], "soft")
    assert view.centres.tolist() == [0.0]
    assert np.isnan(view.correlation)


def test_learning(comparison):
    view = learning(comparison.panels[0].runs["soft"])
    epoch = np.arange(6)
    np.testing.assert_allclose(view.mean, 1.2 - 0.2 * epoch + 0.03 * epoch**2 + 0.035)
    np.testing.assert_allclose(view.high - view.mean, np.std(0.01 * np.arange(8), ddof=1))
    assert (view.best_epoch, view.best) == (3.0, pytest.approx(view.mean[3]))


def test_by_votes(make_run):
    runs = [make_run("soft", votes=k) for k in (5, "all")] + [make_run("sls", votes=5)]
    view = by_votes(collect(runs), Measure("kl"))
    assert view.panels == ("5", "all")
    assert view.intervals["sls"][1] is None


def test_diverged_runs_are_not_drawn(make_run):
    def diverged(predictions):
        predictions["best_logits"][0] = np.inf

    runs = [make_run("soft", edit=diverged), make_run("sls")]
    assert finite(runs) == runs[1:]
