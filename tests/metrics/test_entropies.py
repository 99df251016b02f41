import numpy as np
import pytest
import scipy.stats

from dissensus.base.errors import InputError
from dissensus.metrics import entropy, entropy_correlation, entropy_correlation_pearson, entropy_gap, most_disputed

rng = np.random.default_rng(0)


def test_entropy_against_scipy(case):
    expected = scipy.stats.entropy(case.human.astype(float), axis=1)
    np.testing.assert_allclose(entropy(case.human), expected, atol=1e-6)


def test_entropy_gap_is_a_difference(case):
    np.testing.assert_allclose(
        entropy_gap(case.probs, case.human), entropy(case.probs) - entropy(case.human), atol=1e-12
    )


@pytest.mark.parametrize(("ours", "theirs"), [(entropy_correlation, scipy.stats.spearmanr),
                                              (entropy_correlation_pearson, scipy.stats.pearsonr)])  # fmt: skip
@pytest.mark.parametrize("votes", [3, 5, 50])
def test_correlations_against_scipy_with_ties(ours, theirs, votes):
    truth = rng.dirichlet(np.full(4, 0.4), 500)
    human = rng.multinomial(votes, truth) / votes
    # sorted rows: their entropies are equal to the last bit, and scipy sees the ties
    expected = theirs(*(scipy.stats.entropy(np.sort(rows, 1), axis=1).round(12) for rows in (truth, human))).statistic
    assert ours(truth, human) == pytest.approx(expected, abs=1e-12)


def test_the_order_of_the_classes_does_not_matter():
    probs = rng.dirichlet(np.ones(10), 400)
    human = rng.multinomial(5, rng.dirichlet(np.ones(10), 400)) / 5
    mixed = np.take_along_axis(human, rng.permuted(np.tile(np.arange(10), (400, 1)), axis=1), axis=1)
    assert entropy_correlation(probs, human) == entropy_correlation(probs, mixed)


@pytest.mark.parametrize("correlation", [entropy_correlation, entropy_correlation_pearson])
def test_undefined_is_nan_without_a_warning(correlation):
    probs = rng.dirichlet(np.ones(3), 10)
    assert np.isnan(correlation(probs, np.eye(3)[np.zeros(10, int)]))
    assert np.isnan(correlation(np.full((10, 3), 1 / 3), probs))
    assert np.isnan(correlation(probs[:1], probs[:1]))
    turned = np.array([[0.1, 0.2, 0.7], [0.7, 0.1, 0.2], [0.2, 0.7, 0.1]])  # equal entropies but for the last bit
    assert np.isnan(correlation(turned, probs[:3]))


def test_a_perfect_and_a_perfectly_wrong_model():
    human = np.array([[1.0, 0.0], [0.9, 0.1], [0.5, 0.5]])
    assert entropy_correlation(human, human) == 1
    assert entropy_correlation(human[::-1], human) == -1


def test_most_disputed_takes_the_highest_entropies():
    human = rng.dirichlet(np.ones(5), 200)
    slice_ = most_disputed(human)
    rest = np.setdiff1d(np.arange(200), slice_)
    assert len(slice_) == 20
    assert entropy(human)[slice_].min() >= entropy(human)[rest].max()
    assert (np.diff(slice_) > 0).all()
    assert most_disputed(human[:3], share=0.01).size == 1


@pytest.mark.parametrize("share", [0, -0.1, 1.1, np.nan])
def test_a_share_is_a_share(share):
    with pytest.raises(InputError, match="share must lie above 0 and be at most 1"):
        most_disputed([[0.5, 0.5]], share)


def test_the_most_disputed_are_rounded_to_whole_items_and_the_earlier_ones_of_ties():
    same = np.full((1000, 2), 0.5)
    np.testing.assert_array_equal(most_disputed(same), np.arange(100))
    assert len(most_disputed(same[:19])) == 2  # 1.9
    assert len(most_disputed(same[:3])) == 1
