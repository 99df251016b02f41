"""How many votes are enough, where it is known which runs were made worse."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dissensus.report import Measure, collect, to_json, votes_needed
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


@pytest.fixture
def harmed(make_run):
    """A method that has learned, and the more votes, the surer of itself."""

    def sweep(method, sharper, seeds=range(3)):
        def sharpened(by):
            def edit(predictions):
                for name in ("best_logits", "last_logits", "select_best_logits", "select_last_logits"):
                    predictions[name] *= np.float32(by)

            return edit

        return [
            make_run(method, seed, votes=number, edit=sharpened(by)) for number, by in sharper.items() for seed in seeds
        ]

    return sweep


def test_more_votes_that_make_it_worse_are_not_called_needed(swept, harmed):
    runs = [*swept(["soft"], seeds=range(3)), *harmed("mixup", {5: 1, 10: 1.5, "all": 3})]
    (kl,) = [{p.votes: p.scores[Measure("kl")]["mixup"].mean() for p in collect(runs).panels}]
    worse = kl["all votes"] - kl["5 votes an item"]
    assert votes_needed(collect(runs)) == (
        "Votes needed: with soft 10 votes an item; mixup gets worse with more: its KL is "
        f"{worse:.3f} higher with all votes than with 5 votes an item. Enough is a KL of at most 0.025 above that of "
        "all votes (one-sided paired t-test over 3 seeds, 5 %)."
    )
    alone = votes_needed(collect(harmed("mixup", {5: 1, "all": 3})))
    assert alone.endswith(
        "higher with all votes than with 5 votes an item. Shown by a one-sided paired t-test over 3 seeds, 5 %."
    )
    both = [*harmed("mixup", {5: 1, "all": 3}), *harmed("label-smoothing", {5: 1, "all": 3})]
    assert votes_needed(collect(both)).startswith(
        "Votes needed: label-smoothing and mixup get worse with more: their KL"
    )


def test_a_harm_that_nobody_would_notice_is_none(harmed):
    slight = votes_needed(collect(harmed("mixup", {5: 1, "all": 1.05})))
    assert slight.startswith("Votes needed: with mixup 5 votes an item, the fewest tried. Enough is")


def test_a_harm_that_may_be_chance_is_none(harmed):
    mixed = [*harmed("mixup", {5: 1, "all": 3}, [0]), *harmed("mixup", {5: 3, "all": 3}, [1])]
    assert "worse" not in votes_needed(collect(mixed))


def test_controls_need_no_votes(swept, make_run):
    controls = [
        make_run(method, seed, votes=number)
        for method in ("shuffled-sls", "deterministic-control")
        for number in (5, "all")
        for seed in range(3)
    ]
    told = votes_needed(collect([*swept(["soft"], [5, "all"], range(3)), *controls]))
    assert "with soft" in told
    assert "sls" not in told
    assert "control" not in told
    assert votes_needed(collect(controls)) is None


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
