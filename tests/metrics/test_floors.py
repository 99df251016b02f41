import numpy as np
import pytest
import scipy.stats

from dissensus.base.errors import InputError
from dissensus.metrics import METRICS, entropy, floor, reliability, softmax

rng = np.random.default_rng(0)
PROBS = rng.dirichlet(np.full(5, 0.5), 300)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_finite_floor_or_none(name):
    got = floor(name, PROBS, 10, draws=4)
    if METRICS[name].has_floor:
        assert np.isfinite([got.mean, got.sd]).all()
        assert got == floor(name, PROBS, 10, draws=4)
        assert got != floor(name, PROBS, 10, draws=4, seed=1)
    else:
        assert got is None


@pytest.mark.parametrize("name", [name for name, m in METRICS.items() if m.needs == "human"])
def test_more_votes_bring_the_floor_to_the_perfect_score(name):
    metric = METRICS[name]
    perfect = metric(PROBS, human=PROBS)
    few, many = (abs(floor(name, PROBS, votes, draws=5).mean - perfect) for votes in (5, 100_000))
    assert many < 0.02
    assert many < few or name == "soft_nll"  # which is unbiased at any number of votes


def test_the_floor_of_soft_brier_is_known():
    expected = (1 - (PROBS**2).sum(1)).mean() / 10
    assert floor("soft_brier", PROBS, 10, draws=200).mean == pytest.approx(expected, rel=0.02)


def test_the_floor_of_soft_nll_is_the_entropy():
    assert floor("soft_nll", PROBS, 7, draws=200).mean == pytest.approx(entropy(PROBS).mean(), rel=0.01)


def test_the_floor_of_kl_is_that_of_the_chi_square_law():
    probs = rng.dirichlet(np.full(4, 20.0), 500)
    assert floor("kl", probs, 1000).mean == pytest.approx(3 / 2000, rel=0.05)  # (classes - 1) / (2 votes)


def confident(items):
    """Predictions about as sure as a network trained on CIFAR-10H: right about 87 times in 100."""
    random = np.random.default_rng(1)
    logits = random.normal(size=(items, 10))
    logits[np.arange(items), random.integers(0, 10, items)] += random.gamma(4, 1.5, items)
    return softmax(logits, 0.9)


def test_the_floor_of_ece_is_that_of_binomial_noise():
    probs = confident(2000)
    assert probs.max(1).mean() == pytest.approx(0.87, abs=0.02)
    got = floor("ece", probs, 50, draws=100)
    curve = reliability(probs, probs.argmax(1))
    top = np.sort(probs.max(1))
    spread = [np.sqrt((run * (1 - run)).sum()) / len(run) for run in np.array_split(top, 15)]
    expected = np.sqrt(2 / np.pi) * curve.weight @ spread
    assert got.mean == pytest.approx(expected, rel=0.05)


def test_the_floor_of_accuracy_with_one_vote_is_mean_confidence():
    assert floor("accuracy", PROBS, 1, draws=200).mean == pytest.approx(PROBS.max(1).mean(), abs=0.01)


def test_the_floor_of_accuracy_is_against_the_most_frequent_vote():
    probs = np.tile([0.6, 0.4], (500, 1))
    agree = scipy.stats.binom.sf(4, 9, 0.6)  # five of nine votes or more
    assert floor("accuracy", probs, 9, draws=100).mean == pytest.approx(agree, abs=0.01)
    assert floor("aurc", probs, 9, draws=100).mean == pytest.approx(1 - agree, abs=0.01)
    with_coin = 0.36 + 0.48 / 2  # both votes, or one of two and a fair coin
    assert floor("accuracy", probs, 2, draws=100).mean == pytest.approx(with_coin, abs=0.01)


def test_every_item_may_have_its_own_number_of_votes():
    each = np.where(np.arange(300) < 150, 2, 200)
    expected = ((1 - (PROBS**2).sum(1)) / each).mean()
    assert floor("soft_brier", PROBS, each, draws=100).mean == pytest.approx(expected, rel=0.05)


def test_float32_probabilities_will_do():
    assert np.isfinite(floor("kl", PROBS.astype(np.float32), 10, draws=2).mean)
    assert floor("kl", np.array([[1.0005, 0.0]], np.float32), 10, draws=2).mean == 0  # a sum that a draw would refuse


@pytest.mark.parametrize(("votes", "message"), [(0, "at least 1, but item 0 has 0"), (2.5, "dtype float64"),
                                                ([1, 2], r"for each of the 300 items.* shape \(2,\)")])  # fmt: skip
def test_votes_are_counted(votes, message):
    with pytest.raises(InputError, match=message):
        floor("kl", PROBS, votes)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="probs must have rows that sum to 1"):
        floor("kl", PROBS * 2, 10)
    with pytest.raises(InputError, match="draws must be a whole number of at least 2"):
        floor("kl", PROBS, 10, draws=0)
    with pytest.raises(InputError, match="unknown metric"):
        floor("soft-nll", PROBS, 10)
