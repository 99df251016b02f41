"""Ceilings and floors over seeds."""

from __future__ import annotations

import numpy as np
from scipy.stats import entropy

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


def test_class_shares_score_what_the_items_say_beyond_them(make_run):
    """The KL of people from the mean of people is what item and vote have in common (mutual information)."""
    run = make_run("soft")
    human = run.predictions["counts"] / run.predictions["counts"].sum(1, keepdims=True)
    found = collect([run]).class_shares
    information = entropy(human.mean(0)) - entropy(human, axis=1).mean()
    np.testing.assert_allclose(found["kl"].mean, information)
    assert found["accuracy"].mean == np.mean(run.predictions["labels"] == human.mean(0).argmax())
    assert found["kl"].sd > 0
    assert not {"entropy_correlation", "ece"} & set(found)
