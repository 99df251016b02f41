import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.studies.fewer_votes import as_many, of_which_agree
from dissensus.votes import Votes

MANY = Votes.from_counts([[60, 30, 10], [98, 1, 1], [100, 0, 0]] * 5, classes=["e", "n", "c"])


def test_as_many_votes_as_somebody_else_cast():
    wanted = np.arange(15) % 4 + 1
    few = as_many(MANY, wanted, seed=3)
    np.testing.assert_array_equal(few.votes_per_item, wanted)
    assert (few.counts() <= MANY.counts()).all()
    assert few == as_many(MANY, wanted, seed=3) != as_many(MANY, wanted, seed=4)
    assert few.classes == MANY.classes


def test_as_many_needs_a_number_for_each_item():
    with pytest.raises(InputError, match="15"):
        as_many(MANY, [1, 2])


def test_votes_agree_where_they_can():
    counts = of_which_agree(MANY, number=5, agree=3, seed=0).counts()
    assert (counts.sum(1) == 5).all()
    assert (counts[0::3].max(1) == 3).all()
    np.testing.assert_array_equal(counts[1::3], [[3, 1, 1]] * 5)  # the only way
    np.testing.assert_array_equal(counts[2::3], [[5, 0, 0]] * 5)  # no way at all


def test_they_are_draws_of_which_those_that_agree_are_kept():
    votes = Votes.from_counts([[60, 30, 10]] * 4000)
    drawn = np.concatenate([votes.subsample(5, seed=seed).counts() for seed in range(5)])
    kept = drawn[drawn.max(1) == 3]
    np.testing.assert_allclose(of_which_agree(votes, 5, 3).counts().mean(0), kept.mean(0), atol=0.05)
