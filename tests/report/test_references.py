"""Ceilings and floors over seeds."""

from __future__ import annotations

import numpy as np
from scipy.stats import entropy

from dissensus import metrics
from dissensus.report import collect
from dissensus.report.references import ceilings, floors


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


def test_draws_are_independent_from_seed_to_seed(make_run):
    """With the same draws in every split a mean over twenty seeds would be as noisy as one of them."""
    run = make_run("soft")
    counts, truth = run.predictions["counts"], run.predictions["truth"]
    exact = metrics.floor("kl", truth, counts.sum(1), draws=2000)
    found = floors([run] * 20, ["kl"])["kl"]
    assert found.mean != metrics.floor("kl", truth, counts.sum(1), draws=2).mean
    assert abs(found.mean - exact.mean) < 4 * exact.sd / np.sqrt(40)
    half = metrics.ceiling("kl", counts, draws=2000)
    found = ceilings([run] * 20, ["kl"])["kl"]
    assert found.mean != metrics.ceiling("kl", counts, draws=2).mean
    assert abs(found.mean - half.mean) < 4 * half.sd / np.sqrt(40)


def test_one_vote_an_item_and_no_truth_have_no_floor(make_run):
    def single(predictions):
        predictions["counts"] = np.eye(4, dtype=np.int32)[predictions["counts"].argmax(1)]

    assert collect([make_run("soft", edit=single, truth=False)]).floors == {}
    assert "kl" in collect([make_run("sls", edit=single)]).floors


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
