"""Ceilings and floors over seeds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import entropy

from dissensus import metrics
from dissensus.metrics import Estimate
from dissensus.report import collect, summary, to_json, write_page
from dissensus.report.references import People, ceilings, class_shares, floors, people
from dissensus.report.views import entropies
from dissensus.votes import Votes


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


def few_votes(number, seed=0):
    """The votes on an item, of which so many are left."""

    def edit(predictions):
        votes = Votes.from_counts(predictions["counts"]).subsample(number, seed=seed)
        predictions["counts"] = votes.counts().astype(np.int32)
        predictions["labels"] = predictions["counts"].argmax(1)

    return edit


def test_many_votes_are_a_ceiling(comparison):
    assert comparison.people == People("10 votes against 10 others", False, ())
    assert list(comparison.references) == ["human ceiling", "noise floor", "class shares"]
    assert comparison.people.words.startswith("Human ceiling: half of the annotators predict the other half. ")
    assert json.loads(to_json(comparison))["ceilings_are"] == "human ceiling"


@pytest.mark.parametrize(("number", "halves"), [(2, "one vote against one other"), (3, "one vote against two others")])
def test_one_vote_predicting_another_is_no_ceiling(make_run, outline_of, tmp_path, number, halves):
    """Neither in tables nor in figures, and it is not called one."""
    found = collect([make_run(m, seed, edit=few_votes(number)) for m in ("soft", "majority") for seed in range(2)])
    assert (found.people.ceiling, found.people.halves, found.people.too_few) == (False, halves, True)
    assert next(iter(found.references)) == "people predicting people"
    html = write_page(found, tmp_path).read_text("utf-8")
    text = outline_of(html).text
    assert "people predicting people" in text
    assert f"People predicting people: on items with two votes or more, {halves}. That is no ceiling" in text
    assert "± of people and floor" in text
    assert "uman ceiling" not in text
    assert "ceiling is" not in text
    for file in (tmp_path / "tables").glob("*.md"):
        assert "uman ceiling" not in file.read_text()
    assert all(not any("uman ceiling" in note for note in table.notes) for table in summary(found))
    assert json.loads(to_json(found))["ceilings_are"] == "people predicting people"


@pytest.mark.parametrize(("votes", "told"), [(None, "ceiling"), (5, "people")])
def test_beside_a_correlation_stands_what_people_reach_by_the_same_name(make_run, outline_of, tmp_path, votes, told):
    found = collect([make_run("soft", seed, edit=votes and few_votes(votes)) for seed in range(2)])
    assert entropies(found, found.panels[0], "soft").people == (told, found.ceilings["entropy_correlation"].mean)
    text = outline_of(write_page(found, tmp_path).read_text("utf-8")).text
    assert ("; the ceiling is what half of the annotators reach with the other half." in text) == (votes is None)
    few = "; people: what people reach predicting people (two votes against 3 others), which is no ceiling."
    assert (few in text) == (votes == 5)


def test_what_is_worse_than_the_class_shares_is_no_ceiling(make_run):
    """However many votes there are, and only in metrics that say so; in accuracy higher is better."""
    (run,) = [make_run("soft")]
    shares = {"kl": Estimate(0.8, 0.0), "soft_brier": Estimate(0.4, 0.0), "accuracy": Estimate(0.5, 0.0)}
    better = {"kl": Estimate(0.7, 0.0), "accuracy": Estimate(0.6, 0.0), "entropy_correlation": Estimate(0.1, 0.0)}
    assert people([run], better, shares) == People("10 votes against 10 others", False, ())
    worse = better | {"kl": Estimate(0.9, 0.0), "accuracy": Estimate(0.4, 0.0)}
    found = people([run], worse, shares)
    assert (found.worse, found.name) == (("kl", "accuracy"), "people predicting people")
    assert found.words == (
        "People predicting people: on items with two votes or more, 10 votes against 10 others. That is no ceiling "
        "for a model, which is held against all votes of an item: by these the class shares score better in KL and "
        "accuracy."
    )


def test_class_shares_that_score_better_may_still_predict_the_same_votes_worse(make_run):
    """Few votes are far from any prediction, so halves are held against more than a model is. Nothing else is said."""
    truth = np.random.default_rng(0).dirichlet([0.5] * 4, 2000)
    counts = np.array([np.random.default_rng(at).multinomial(4, row) for at, row in enumerate(truth)])
    run = make_run("soft", edit=lambda predictions: predictions.update(counts=counts, labels=counts.argmax(1)))
    found = people([run], ceilings([run], ["kl"]), class_shares([run], ["kl"]))
    assert found.worse == ("kl",)
    first, second = metrics.halves(counts)
    alike = np.tile(first.sum(0) / first.sum(), (len(counts), 1))
    human = second / second.sum(1, keepdims=True)
    assert metrics.kl(alike, human).mean() > ceilings([run], ["kl"])["kl"].mean + 0.05
    assert "worse" not in found.words


def test_where_one_vote_is_no_worse_than_the_shares_it_is_no_ceiling_either(make_run):
    run = make_run("soft", edit=few_votes(3))
    assert people([run], {}, {}).words.endswith(
        "one vote is no distribution, and a model that has learned from many items does better."
    )
    assert people([make_run("soft", edit=few_votes(4))], {}, {}).ceiling


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
