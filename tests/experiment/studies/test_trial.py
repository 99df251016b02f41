from dataclasses import replace

import numpy as np
import pytest

from dissensus.delivery import MajorityVote
from dissensus.experiment.parts import parts
from dissensus.experiment.studies.trial import MEASURED, SELECT, TEST, After, Asked, People, measured
from dissensus.metrics import METRICS, fit_temperature, softmax
from dissensus.training import fit
from dissensus.votes import Votes


@pytest.fixture
def trial(trials):
    return lambda *asked: trials([Asked(*asked)])[0]


def test_several_are_what_each_is_alone_and_in_the_order_of_asking(small, trials):
    asked = [Asked(small.data, small.data.votes, method, seed, small.how) for method, seed in (("sls", 1), ("soft", 0))]
    for one, said in zip(asked, trials(asked), strict=True):
        (alone,) = trials([one])
        np.testing.assert_array_equal(said.logits["best"], alone.logits["best"])
        np.testing.assert_array_equal(said.split.evaluation, alone.split.evaluation)
    assert trials([]) == []


def test_a_trial_is_the_training_of_a_plan(small, trial):
    """The same split, delivery, weights and batches as by hand."""
    said = trial(small.data, small.data.votes, "majority", 3, small.how)
    split = parts(small.data, TEST, SELECT, 3)
    inputs, votes = small.data.array, small.data.votes
    by_hand = fit(
        small.how.make(small.data),
        inputs[split.train],
        MajorityVote(votes.take(split.train), seed=3),
        small.how.recipe,
        seed=3,
        held_out=(inputs[split.evaluation], votes.take(split.evaluation).frequencies()),
        select_on=(inputs[split.select], votes.take(split.select).frequencies()),
    )
    np.testing.assert_array_equal(said.logits["last"], by_hand.last.logits)
    np.testing.assert_array_equal(said.logits["best"], by_hand.best.logits)
    temperature = fit_temperature(by_hand.select_best.logits, votes.take(split.select).frequencies())
    np.testing.assert_array_equal(said.probs("best", tempered=True), softmax(by_hand.best.logits, temperature))


def test_evaluation_items_do_not_depend_on_the_votes_that_train(small, trial):
    few = small.data.votes.subsample(2)
    one, other = (trial(small.data, votes, "soft", 1, small.how) for votes in (small.data.votes, few))
    np.testing.assert_array_equal(one.split.evaluation, other.split.evaluation)
    assert not np.array_equal(one.logits["last"], other.logits["last"])


def test_items_without_votes_do_not_train(small, trial):
    counts = small.data.votes.counts()
    counts[::2] = 0
    half = Votes.from_counts(counts, classes=small.data.votes.classes)
    said = trial(small.data, half, "soft", 0, small.how)
    assert len(said.select_target) < len(said.split.select)
    assert np.isfinite(said.logits["last"]).all()


def test_scores_are_those_of_the_metrics(small, trial):
    said = trial(small.data, small.data.votes, "soft", 0, small.how)
    rows = measured(said, People.of("all", small.data), data="small", condition="c", method="soft", seed=0)
    assert [(row.checkpoint, row.tempered) for row in rows] == [
        ("best", False), ("best", True), ("last", False), ("last", True)
    ]  # fmt: skip
    at, row = said.split.evaluation, rows[3]
    human = small.data.votes.frequencies()[at]
    for name in MEASURED:
        expected = METRICS[name](said.probs("last", tempered=True), human, small.data.labels[at])
        assert row.values[name] == pytest.approx(expected)
    share = np.bincount(small.data.labels[at]).max() / len(at)
    assert row.values["beyond_class"] == pytest.approx(row.values["accuracy"] - share)
    assert row.values["beyond_shares"] > 0.1  # it has learnt


def test_people_judge_only_what_they_know(small, trial):
    counts = small.data.votes.counts()
    counts[::3] = 0
    some = People.of("some", small.data, Votes.from_counts(counts, classes=small.data.votes.classes))
    said = trial(small.data, small.data.votes, "soft", 0, small.how)
    (row, *_) = measured(said, some, data="small", condition="c", method="soft", seed=0)
    assert row.items == (said.split.evaluation % 3 > 0).sum()
    assert np.isfinite(row.values["kl"])


def test_a_training_begins_where_another_ended(small, trials):
    first = Asked(small.data, small.data.votes, "soft", 0, small.how)
    heard = []

    def carry(said):
        heard.append(said)

        def make():
            model = small.how.make(small.data)()
            model.load_state_dict(said.state)
            return model

        return make

    before, later = trials([first, replace(first, after=After(0, carry))])
    assert heard == [before]
    assert not later.state  # nobody goes on from there
    assert METRICS["kl"](later.probs("best", False), before.probs("best", False)) < 0.1
    assert not np.array_equal(before.logits["last"], later.logits["last"])


def test_the_work_of_a_training_is_what_it_reads(small):
    asked = Asked(small.data, small.data.votes, "soft", 0, small.how)
    assert asked.work == len(asked.split.train) * 10
    tokens = np.full((90, 2, 5), -1, np.int32)
    tokens[:, :, :3] = 0
    tokens[asked.split.train[0], :, 3] = 1
    assert replace(asked, data=replace(small.data, inputs=tokens)).work == (3 * len(asked.split.train) + 1) * 10


def test_a_recipe_can_be_said_where_the_default_does_not_fit(small):
    assert small.how.recipe.epochs == 10
    assert replace(small.how).make(small.data)().head.out_features == 3
