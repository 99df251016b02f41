import numpy as np
import pytest

from dissensus.experiment.studies.arms import Arms
from dissensus.experiment.studies.finding import BEYOND_CLASS
from dissensus.experiment.studies.score import Score, Scores

KL = {("many", "soft"): 0.1, ("many", "majority"): 0.4, ("few", "soft"): 0.2, ("few", "majority"): 0.3}


def arms(**learnt):
    """Three seeds of both arms under two conditions."""
    rows = []
    for (condition, method), kl in KL.items():
        for seed in range(3):
            values = {"kl": kl + seed, BEYOND_CLASS: learnt.get(condition, 0.2)}
            rows.append(Score("set", condition, method, seed, "all", "best", False, 9, values))
    return Arms(Scores(rows), ("many", "few"))


def test_soft_labels_come_first():
    found = arms().apart("set", "question", "few", "kl")
    assert (found.first, found.second, found.doubt) == ("soft", "majority", "")
    np.testing.assert_allclose(found.a - found.b, -0.1)


def test_gains_are_compared_between_conditions():
    found = arms().gains("set", ("many", "all of them"), ("few", "five"), "kl")
    assert (found.question, found.first, found.second) == ("soft less majority", "all of them", "five")
    np.testing.assert_allclose(found.a, -0.3)
    np.testing.assert_allclose(found.b, -0.1)


@pytest.mark.parametrize("weak", ["many", "few"])
def test_one_condition_in_which_nothing_is_learnt_is_enough_for_doubt(weak):
    both = arms(**{weak: 0.01})
    assert "by 1.0 points of accuracy" in both.gains("set", ("many", "many"), ("few", "few"), "kl").doubt
    assert bool(both.apart("set", "question", "many", "kl").doubt) == (weak == "many")
