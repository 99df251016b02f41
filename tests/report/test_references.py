"""Ceilings and floors over seeds."""

from __future__ import annotations

import numpy as np

from dissensus import metrics
from dissensus.report import collect


def test_ceilings_and_floors_stand_beside(comparison):
    assert comparison.ceilings["kl"].mean > comparison.floors["kl"].mean > 0
    assert comparison.floors["entropy_correlation"].mean > comparison.ceilings["entropy_correlation"].mean
    assert "ece" not in comparison.ceilings
    assert comparison.floors["accuracy"].mean > comparison.ceilings["accuracy"].mean


def test_one_seed_is_the_metric_itself(make_run):
    run = make_run("soft")
    found = collect([run])
    assert found.ceilings["kl"] == metrics.ceiling("kl", run.predictions["counts"], draws=20)
    votes = np.full(60, 20)
    assert found.floors["kl"] == metrics.floor("kl", run.predictions["truth"], votes, draws=20)


def test_single_votes_cannot_be_halved(make_run):
    def single(predictions):
        predictions["counts"][1:] = [1, 0, 0, 0]
        predictions["counts"][0] = [3, 1, 0, 0]

    found = collect([make_run("soft", edit=single)])
    assert found.ceilings == {}
    assert "kl" in found.floors
