"""What to train on, where it is known who beats whom."""

from __future__ import annotations

import json

import pytest

from dissensus.report import collect, in_short, to_json
from dissensus.report.comparison import Judgement
from dissensus.report.in_short import advice, best, best_of
from dissensus.report.rules import RULES
from dissensus.stats import Interval, Verdict

METHODS = ("soft", "sls", "majority")
PAIRS = (("soft", "sls"), ("soft", "majority"), ("sls", "majority"))


def judged(rule, wins="", same=""):
    """A judgement in which these pairs are won by their first, "ab" being methods a and b; others are undecided."""
    letters = dict(zip("abc", METHODS, strict=True))
    won = {frozenset(letters[c] for c in pair): letters[pair[0]] for pair in wins.split()}
    alike = {frozenset(letters[c] for c in pair) for pair in same.split()}
    verdicts = tuple(
        Verdict(a, b, Interval(0.1, 0.0, 0.2), 0.5, 0.5, won.get(frozenset((a, b))), frozenset((a, b)) in alike, 0.02)
        for a, b in PAIRS
    )
    return Judgement(RULES[rule], "best", 8, verdicts, ())


REST = "behind in nothing that is judged"
CASES = {
    "one is best": (
        [judged(0, "ab ac bc"), judged(2)],
        f"train on soft, which is ahead in KL, and {REST}",
    ),
    "two are": (
        [judged(0, "ac bc", same="ab"), judged(1, "ac bc")],
        f"train on soft or sls, which are ahead in KL and KL after temperature, and {REST}",
    ),
    "a small lead is said to be one": (
        [judged(0, "ac", same="ab ac bc")],
        f"train on soft, which is ahead in KL, though by less than counts as a difference, and {REST}",
    ),
    "another one here and there": (
        [judged(0, "ac ab"), judged(2, "bc ba")],
        "no method is best in everything: for KL train on soft; for entropy correlation train on sls",
    ),
    "undecided": (
        [judged(0, same="ab"), judged(2)],
        "what to train on is not decided, since no method is ahead of the others",
    ),
    "alike in a part": (
        [judged(0, same="ab ac bc"), judged(1, same="ab ac bc"), judged(2, same="ab")],
        "between the methods there is no noticeable difference in KL and KL after temperature; entropy correlation is "
        "open",
    ),
    "alike in one": (
        [judged(0), judged(1, same="ab ac"), judged(2, same="ab ac bc")],
        "between the methods there is no noticeable difference in entropy correlation; KL and KL after temperature are "
        "open",
    ),
    "all alike": (
        [judged(0, same="ab ac bc")],
        "train on soft, sls or majority, which are the same in all that is judged",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_follows_from_the_verdicts(case):
    judgements, told = CASES[case]
    assert advice(judgements, METHODS) == told
    named = told.removeprefix("train on ").partition(",")[0] if told.startswith("train on ") else ""
    assert (best(judgements, METHODS) or [""])[0] == named.split(" or ")[0]


def test_models_that_learned_little_give_no_answer(make_run):
    def blind(first):
        def edit(predictions):
            for name in ("best_logits", "select_best_logits"):
                predictions[name][:] = 0
                predictions[name][:, 0] = first

        return edit

    logits = {"soft": 0.0, "majority": 0.1}  # majority is worse in every seed, but neither has looked at an item
    runs = [make_run(method, seed, edit=blind(logit)) for method, logit in logits.items() for seed in range(6)]
    assert in_short(collect(runs)) == "In short: what to train on cannot be told, since no method has learned much."
    assert best_of(collect(runs)) is None


def test_one_method_and_one_seed_have_no_answer(make_run):
    assert in_short(collect([make_run("soft", seed) for seed in range(3)])) is None
    assert best_of(collect([make_run("soft", seed) for seed in range(3)])) == "soft"
    assert in_short(collect([make_run(method, 0) for method in ("soft", "majority")])) is None


def test_it_is_of_the_most_votes_and_in_the_json(make_run):
    runs = [make_run(m, seed, votes=n) for m in ("soft", "majority") for n in (5, "all") for seed in range(3)]
    told = in_short(collect(runs))
    assert told is not None
    assert told.startswith("In short, with all votes: ")
    assert json.loads(to_json(collect(runs)))["in_short"] == told
