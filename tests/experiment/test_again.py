"""What a run that is made again takes over from the one before."""

import numpy as np
import pytest

from dissensus.experiment.again import taken_over
from dissensus.records import Diagnosis, RunStore, read_diagnostics, write_diagnostics, write_run

A, B = "0123456789abcdef", "0123ffffffffffff"
LOGITS = {"best_logits": np.eye(2), "last_logits": np.ones((2, 2))}
NAN = float("nan")


@pytest.fixture
def store(tmp_path):
    """Two runs; what was found in the first, and between them, stands beside them."""
    store = RunStore(tmp_path / "runs")
    for name in (A, B):
        with store.claim(name) as staging:
            write_run(staging, {}, {}, [], LOGITS | {"best_features": np.arange(4.0)})
    store.read(A).write_diagnostics([Diagnosis("trace", 1.0, NAN, NAN, 2, weights="best")])
    store.read(B).write_diagnostics([Diagnosis("cka", 0.5, NAN, NAN, 2, weights="best", other=A)])
    return store


def test_the_same_model_keeps_all_that_was_known_of_it(store, tmp_path):
    write_diagnostics(tmp_path / "diagnostics.csv", [Diagnosis("sharpness", 2.0, NAN, NAN, 2, weights="best")])
    arrays = taken_over(store.read(A), tmp_path, LOGITS)
    assert set(arrays) == {*LOGITS, "best_features"}
    assert [one.name for one in read_diagnostics(tmp_path / "diagnostics.csv")] == ["trace", "sharpness"]
    assert [one.other for one in store.read(B).diagnostics()] == [A]


def test_another_model_keeps_nothing_and_is_not_spoken_of_as_the_one_before(store, tmp_path):
    arrays = taken_over(store.read(A), tmp_path, LOGITS | {"last_logits": np.zeros((2, 2))})
    assert set(arrays) == set(LOGITS)
    assert not (tmp_path / "diagnostics.csv").exists()
    assert store.read(B).diagnostics() == []
