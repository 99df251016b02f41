import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.stats import equivalence, holm, judge, paired_bootstrap, wilcoxon

SEEDS = np.random.default_rng(0).normal(0.5, 0.02, 10)
STEP = np.linspace(0.9, 1.1, 10)  # differences of one sign and of different size


def word(scores, **options):
    (verdict,) = judge(scores, **({"margin": 0.025} | options))
    return verdict.word


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (0.1 * STEP, "better"),
        (0.01 * STEP, "better within the margin"),
        (0.001 * np.array([1, -1, 2, -2, 3, -3, 4, -4, 5, -5]), "same"),
        (0.1 * np.array([1, -1, 2, -2, 3, -3, 4, -4, 5, -5]), "undecided"),
    ],
)
def test_four_outcomes(difference, expected):
    assert word({"a": SEEDS, "b": SEEDS + difference}) == expected


def test_the_better_one_depends_on_the_direction():
    scores = {"low": SEEDS, "high": SEEDS + 0.1 * STEP}
    assert judge(scores, margin=0.025)[0].winner == "low"
    assert judge(scores, margin=0.025, higher_is_better=True)[0].winner == "high"


def test_ranks_that_say_one_thing_and_a_mean_that_says_the_other_have_no_winner():
    """Of 14 seeds one is far off: 13 wins are significant, and the mean is the other method's."""
    low = np.full(14, 0.5)
    high = low + 0.01 * np.linspace(0.9, 1.1, 14)
    assert judge({"low": low, "high": high}, margin=0.001)[0].winner == "low"
    high[0] = -1.0
    (verdict,) = judge({"low": low, "high": high}, margin=0.001)
    assert verdict.p_differ < 0.05
    assert verdict.difference.mean > 0
    assert (verdict.winner, verdict.word) == (None, "undecided")


def test_all_pairs_are_one_family():
    rng = np.random.default_rng(1)
    scores = {name: rng.normal(size=8) for name in "abcd"}
    verdicts = judge(scores, margin=0.5)
    pairs = [(v.first, v.second) for v in verdicts]
    assert pairs == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    differ = holm([wilcoxon(scores[a], scores[b]).pvalue for a, b in pairs])
    same = holm([equivalence(scores[a], scores[b], margin=0.5).pvalue for a, b in pairs])
    assert [v.p_differ for v in verdicts] == differ.tolist()
    assert [v.p_same for v in verdicts] == same.tolist()
    assert verdicts[0].difference == paired_bootstrap(scores["a"], scores["b"])


def test_eight_seeds_can_decide_six_pairs_and_seven_cannot():
    for seeds, decided in ((8, True), (7, False)):
        scores = {str(k): k + np.linspace(0, 0.1 * k, seeds) for k in range(4)}
        assert all(bool(v.winner) == decided for v in judge(scores, margin=0.01))


def test_one_seed_decides_nothing():
    assert word({"a": [0.1], "b": [0.9]}) == "undecided"
    assert word({"a": [0.1], "b": [0.1]}) == "undecided"


def test_fewer_than_two_methods_have_no_verdict():
    assert judge({}, margin=1) == judge({"a": [1.0]}, margin=1) == []


def test_methods_with_different_numbers_of_seeds_are_named():
    with pytest.raises(InputError, match="a has 2, b has 1"):
        judge({"a": [1, 2], "b": [1]}, margin=1)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            np.ones((3, 5)),
            r"^soft must have the shape \(seeds,\), but its shape is \(3, 5\). One score a seed is the mean",
        ),
        ([0.1, np.nan, 0.2], "^soft must be finite, but seed 1 has nan"),
    ],
)
def test_scores_that_cannot_be_judged_are_named_by_their_method(scores, message):
    with pytest.raises(InputError, match=message):
        judge({"majority": [0.1, 0.2, 0.3], "soft": scores}, margin=0.025)
