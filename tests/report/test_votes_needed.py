"""How many votes are enough, where it is known which runs were made worse."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dissensus.report import collect, to_json, votes_needed
from dissensus.votes import Votes

WORSE = {"soft": {5}, "majority": {5, 10}, "sls": {10}}  # with so many votes a model says the contrary


@pytest.fixture
def swept(make_run):
    def turn(predictions):
        predictions["best_logits"] *= np.float32(-1)

    def sweep(methods=("soft", "majority"), votes=(5, 10, "all"), seeds=range(4)):
        return [
            make_run(method, seed, votes=number, edit=turn if number in WORSE[method] else None)
            for method in methods
            for number in votes
            for seed in seeds
        ]

    return sweep


def test_the_fewest_that_lose_nothing_are_told(swept):
    told = votes_needed(collect(swept()))
    assert told == (
        "Votes needed: with soft 10 votes an item; with majority no fewer than all votes are shown to be enough. "
        "Enough is a KL of at most 0.025 above that of all votes (one-sided paired t-test over 4 seeds, 5 %)."
    )
    assert json.loads(to_json(collect(swept())))["votes_needed"] == told


def test_a_method_that_was_never_given_fewer_is_left_out(swept):
    told = votes_needed(collect([*swept(["soft"]), *swept(["majority", "sls"], ["all"])]))
    assert told.startswith("Votes needed: with soft 10 votes an item. Enough")
    apart = [*swept(["soft"], [10]), *swept(["majority"], ["all"])]
    assert votes_needed(collect(apart)) is None


def test_a_method_is_tested_with_the_numbers_that_it_was_given(swept):
    told = votes_needed(collect([*swept(["soft"]), *swept(["sls"], [5, "all"])]))
    assert told.startswith("Votes needed: with soft 10 votes an item; with sls 5 votes an item, the fewest tried. ")


def test_the_fewest_that_were_tried_are_told_as_such(swept):
    told = votes_needed(collect(swept(["soft"], [10, "all"])))
    assert told.startswith("Votes needed: with soft 10 votes an item, the fewest tried. ")


def test_the_most_need_not_be_all(swept):
    assert votes_needed(collect(swept(["soft"], [5, 10]))).startswith(
        "Votes needed: with soft no fewer than 10 votes an item are shown to be enough."
    )


def test_votes_that_count_twice_are_told(make_run):
    """Two votes drawn with replacement from items that have one are one vote."""
    runs = [
        make_run("soft", seed, votes=number, draw="resample" if number == 2 else "subsample")
        for number in (2, "all")
        for seed in range(3)
    ]
    votes = Votes.from_counts([[1, 0], [0, 1], [1, 1], [1, 3]] * 400)
    told = votes_needed(collect(runs, votes=votes))
    assert told.startswith(
        "Votes needed: with soft 2 votes an item, drawn with replacement, the fewest tried. Enough is"
    )
    assert told.endswith(". Drawn with replacement, one vote may count twice: 800 of 1,600 items have only one.")
    assert votes_needed(collect(runs)).endswith(". Drawn with replacement, one vote may count twice.")
    all_have_two = collect(runs, votes=Votes.from_counts([[1, 1], [1, 3]]))
    assert votes_needed(all_have_two).endswith(". Drawn with replacement, one vote may count twice.")


def test_what_lies_below_a_number_that_is_not_enough_is_not_tested(swept):
    """That 5 votes do well where 10 do not would be luck."""
    assert "with sls no fewer than all votes" in votes_needed(collect(swept(["sls"])))


def test_one_seed_shows_nothing(swept):
    assert votes_needed(collect(swept(["soft"], seeds=[0]))) is None


def test_seeds_that_all_numbers_of_votes_have_are_tested(swept):
    runs = [*swept(["soft"], [5, 10], range(3)), *swept(["soft"], ["all"], range(5))]
    told = votes_needed(collect(runs))
    assert "with soft 10 votes an item" in told
    assert "over 3 seeds" in told


@pytest.mark.parametrize("logit", [np.nan, -np.inf])
def test_a_run_that_has_diverged_is_not_enough(swept, make_run, logit):
    def diverged(predictions):
        predictions["best_logits"][:, 0] = logit

    runs = [run for run in swept(["soft"], [10, "all"]) if (run.plan["votes"], run.plan["seeds"]["split"]) != (10, 3)]
    runs.append(make_run("soft", 3, votes=10, edit=diverged))
    assert "no fewer than all votes" in votes_needed(collect(runs))


def test_who_has_learned_nothing_needs_no_votes(make_run):
    def blind(predictions):
        for name in ("best_logits", "select_best_logits"):
            predictions[name][:] = 0

    runs = [make_run("soft", seed, votes=votes, edit=blind) for votes in (5, "all") for seed in range(3)]
    assert votes_needed(collect(runs)) is None


def test_there_is_nothing_to_tell_without_an_order(swept, make_run):
    assert votes_needed(collect(swept(["soft"], ["all"]))) is None
    both = [make_run("soft", seed, votes=5, draw=draw) for draw in ("subsample", "resample") for seed in range(2)]
    assert votes_needed(collect(both)) is None
