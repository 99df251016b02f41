import csv

import numpy as np
import pytest
import scipy.stats

from dissensus.experiment.studies.finding import (
    BEYOND_CLASS,
    BEYOND_SHARES,
    Contrast,
    class_doubt,
    decide,
    in_words,
    shares_doubt,
    write_findings,
)
from dissensus.experiment.studies.score import Score, Scores

rng = np.random.default_rng(0)
NOISE = rng.normal(size=10)


def contrast(shift, spread=0.001, data="mine", doubt=""):
    base = rng.normal(size=10)
    return Contrast(data, "votes", "five", "all", base + shift + spread * NOISE, base, doubt)


@pytest.mark.parametrize(
    ("shift", "spread", "word"),
    [
        (0.1, 0.001, "higher"),
        (-0.1, 0.001, "lower"),
        (0.01, 0.001, "higher within the margin"),
        (0.0, 0.01, "same"),
        (0.0, 0.3, "undecided"),
    ],
)
def test_every_word_can_be_said(shift, spread, word):
    (found,) = decide([contrast(shift - spread * NOISE.mean(), spread)], "kl")
    assert found.word == word
    assert found.side == {"higher": 1, "lower": -1}.get(word.split()[0], 0)
    assert found.beyond == (found.side if "margin" not in word else 0)
    assert found.same == (word in ("same", "higher within the margin"))
    assert f"{word}" in str(found)


def test_numbers_are_those_of_scipy():
    one = contrast(0.02, 0.05)
    (found,) = decide([one], "kl")
    assert found.difference == pytest.approx((one.a - one.b).mean())
    assert found.p_differ == pytest.approx(scipy.stats.wilcoxon(one.a, one.b, method="exact").pvalue)
    assert found.low < found.difference < found.high


def test_gains_that_are_equal_but_for_rounding_tie():
    right, more = np.array([248, 239, 234, 216, 230, 239]), np.array([2, -2, -1, -1, 1, -1])
    gains, whole = (right + more) / 303 - right / 303, more.astype(float)
    (found,) = decide([Contrast("mine", "gains", "a", "b", gains, np.zeros(6))], "accuracy")
    (expected,) = decide([Contrast("mine", "gains", "a", "b", whole, np.zeros(6))], "accuracy")
    assert found.p_differ == expected.p_differ


def test_what_is_equal_but_for_rounding_is_equal():
    base = np.linspace(0.1, 0.9, 10)
    (found,) = decide([Contrast("mine", "votes", "five", "all", (base + 0.2) - 0.2, base, "")], "accuracy")
    assert (found.difference, found.low, found.high) == (0, 0, 0)


def test_the_comparisons_of_one_data_set_are_a_family():
    alone = decide([contrast(0.1)], "kl")[0].p_differ
    family = decide([contrast(0.1) for _ in range(4)] + [contrast(0.1, data="other")], "kl")
    assert [one.p_differ for one in family] == pytest.approx([4 * alone] * 4 + [alone])


def test_what_has_not_been_learnt_decides_nothing():
    found = decide([contrast(0.1, doubt="it is too hard")], "kl")[0]
    assert (found.word, found.side) == ("undecided", 0)
    assert str(found).endswith("undecided (it is too hard)")


def test_guards_look_at_the_mean_over_seeds():
    def arm(metric, *values):
        return Scores(
            Score("mine", "c", "m", seed, "p", "best", False, 9, {metric: value}) for seed, value in enumerate(values)
        )

    assert class_doubt(arm(BEYOND_CLASS, 0.01, 0.1)) == ""
    assert "by 4.0 points of accuracy, not by five" in class_doubt(arm(BEYOND_CLASS, 0.03, 0.05))
    assert "by 0.0 points of accuracy" in class_doubt(arm(BEYOND_CLASS, 0.0001, -0.0003))
    assert shares_doubt(arm(BEYOND_SHARES, 0.03)) == ""
    assert "by 0.010 of KL, not by .025" in shares_doubt(arm(BEYOND_SHARES, 0.01))


def test_findings_are_a_table(tmp_path):
    write_findings(tmp_path / "f.csv", decide([contrast(0.1)], "kl", tempered=True))
    (row,) = csv.DictReader((tmp_path / "f.csv").read_text().splitlines())
    assert (row["metric"], row["tempered"], row["word"]) == ("kl", "True", "higher")


def test_findings_on_several_data_sets_are_one_sentence():
    learnt = {"first": 0.1, "second, divided": 0.1, "third, judged by all": 0.01}
    too_hard = ("fourth", "fifth, agreed", "sixth")
    told = [contrast(shift, 1e-6, name) for name, shift in learnt.items()]
    unsure = [contrast(-0.3 * NOISE.mean(), 0.3, data=name, doubt="too hard") for name in too_hard]
    found = decide([*told, *unsure], "kl")
    told = in_words(found, lambda one: f"KL is {one.word.split()[0]}")
    assert told == (
        "KL is higher on first (+0.100 [+0.100, +0.100]), second (divided; +0.100 [+0.100, +0.100]) and "
        "third (+0.010 [+0.010, +0.010], within the margin); models learn too little to tell on the other 3"
    )
    assert in_words(found[4:], str) == "models learn too little to tell on fifth (agreed) and sixth"
    assert in_words(found[3:], str) == "models learn too little to tell on any of 3"
    assert in_words([*found[5:], *found[5:]], str) == "models learn too little to tell on sixth"
    assert in_words([], str) == ""


def test_what_is_in_doubt_keeps_its_numbers_apart():
    barred = [contrast(shift, 1e-6, name, "too hard") for name, shift in {"second": 0.1, "third": -0.1}.items()]
    found = decide([contrast(0.2, 1e-6, "first"), *barred], "kl")
    assert [one.word for one in found[1:]] == ["undecided", "undecided"]
    assert [one.by_numbers.word for one in found[1:]] == ["higher", "lower"]
    told = in_words(found, lambda one: f"KL is {one.word}")
    assert told == (
        "KL is higher on first (+0.200 [+0.200, +0.200]); models learn too little to tell on second and third; by the "
        "numbers alone, it is so on second (+0.100 [+0.100, +0.100]), KL is lower on third (-0.100 [-0.100, -0.100])"
    )
