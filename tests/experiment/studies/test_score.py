import numpy as np
import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.experiment.studies.score import Score, Scores, read_scores, write_scores


def a_score(seed=0, method="soft", tempered=False, **values):
    return Score("mine", "five", method, seed, "hundred", "best", tempered, 9, values)


def test_scores_come_seed_by_seed_whatever_the_order_of_rows():
    scores = Scores([a_score(2, kl=0.2), a_score(0, kl=0.0), a_score(1, kl=0.1), a_score(0, "majority", kl=9.0)])
    np.testing.assert_array_equal(scores.where(method="soft")["kl"], [0.0, 0.1, 0.2])
    assert scores.names("method") == ["soft", "majority"]


def test_two_arms_at_once_are_no_score():
    with pytest.raises(InputError, match=r"one arm, one a seed, but there are those of \[0, 0\]"):
        Scores([a_score(kl=0.1), a_score(method="majority", kl=0.2)])["kl"]
    with pytest.raises(InputError, match="those of \\[\\]"):
        Scores([])["kl"]


def test_a_table_comes_back_from_disk_as_it_was(tmp_path):
    rows = [a_score(kl=1 / 3, accuracy=0.5), a_score(1, tempered=True, kl=2e-9), a_score(2, kl=0.1, accuracy=np.nan)]
    write_scores(tmp_path / "s.csv", rows)
    back = read_scores(tmp_path / "s.csv")
    assert back[:2] == rows[:2]
    assert back[2].values == {"kl": 0.1}  # what is not known is not there


def test_a_damaged_table_is_said(tmp_path):
    write_scores(tmp_path / "s.csv", [a_score(kl=0.1)])
    (tmp_path / "s.csv").write_text((tmp_path / "s.csv").read_text().replace("0.1", "many"))
    with pytest.raises(StoreError, match="damaged"):
        read_scores(tmp_path / "s.csv")
