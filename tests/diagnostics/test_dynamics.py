"""Learning curves with known answers."""

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics.dynamics import dynamics


def test_an_exponential_approach_is_95_percent_there_after_three_time_constants():
    epochs = np.arange(400)
    found = dynamics({"epoch": epochs, "soft_nll": 0.5 + 1.5 * np.exp(-epochs / 20)})
    assert found.best_epoch == 399
    assert found.epochs_to_95 == int(np.ceil(20 * np.log(20)))
    assert found.overfitting == 0
    assert found.area == pytest.approx(0.5 + 1.5 / (1 - np.exp(-1 / 20)) / 400, rel=1e-6)


def test_overfitting_is_last_less_best():
    found = dynamics({"epoch": [0, 1, 2, 3], "soft_nll": [2.0, 1.0, 1.5, 1.75]})
    assert (found.best_epoch, found.epochs_to_95, found.overfitting) == (1, 1, 0.75)


def test_the_first_of_equal_epochs_is_the_best():
    assert dynamics({"epoch": [0, 1, 2], "soft_nll": [2.0, 1.0, 1.0]}).best_epoch == 1


def test_a_curve_that_only_rises_was_there_at_once():
    found = dynamics({"epoch": [0, 1], "soft_nll": [1.0, 3.0]})
    assert (found.best_epoch, found.epochs_to_95, found.overfitting) == (0, 0, 2.0)


def test_rows_and_columns_give_the_same_in_any_order():
    nll = [2.0, 1.0, 1.5]
    rows = [{"epoch": e, "soft_nll": nll[e], "lr": 0.1} for e in (2, 0, 1)]
    assert dynamics(rows) == dynamics({"epoch": range(3), "soft_nll": nll})


def test_epochs_keep_their_numbers():
    assert dynamics({"epoch": [10, 20, 30], "soft_nll": [2.0, 1.0, 1.5]}).best_epoch == 20


@pytest.mark.parametrize("history", [{}, [], {"epoch": [0], "soft_nll": []}, [{"epoch": 0, "train_loss": 1.0}]])
def test_a_history_without_evaluation_is_refused(history):
    with pytest.raises(InputError, match=r"no soft_nll.*held_out"):
        dynamics(history)


def test_a_run_that_diverged_is_refused():
    with pytest.raises(InputError, match="epoch 1 is nan"):
        dynamics({"epoch": [0, 1], "soft_nll": [1.0, np.nan]})


def test_columns_belong_together():
    with pytest.raises(InputError, match="epoch has 2, soft_nll has 1"):
        dynamics({"epoch": [0, 1], "soft_nll": [1.0]})
