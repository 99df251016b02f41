from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus import DELIVERIES, Votes
from dissensus.base.errors import InputError
from dissensus.training import labels
from dissensus.training.labels import Labels, as_targets, of_run


@pytest.mark.parametrize("name", DELIVERIES)
def test_the_labels_of_a_run_are_those_of_its_epochs(name: str) -> None:
    votes = Votes.from_counts(np.random.default_rng(0).integers(0, 4, (30, 5)) + 1)
    deliver = DELIVERIES[name](votes, seed=3)
    whole = of_run(deliver, 30, 5, epochs=7)
    if not deliver.hard:
        assert whole is None
        return
    assert whole is not None
    assert whole.dtype == torch.uint8
    for epoch in range(7):
        np.testing.assert_array_equal(whole[epoch].numpy(), deliver(epoch))


def test_many_classes_and_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = of_run(lambda epoch: np.array([300, epoch]), 2, 301, epochs=2)
    assert whole is not None
    assert whole.tolist() == [[300, 0], [300, 1]]
    monkeypatch.setattr(labels, "MOST", 8)
    assert of_run(lambda epoch: np.array([300, epoch]), 2, 301, epochs=2) is None


def test_labels_come_in_the_order_of_the_epoch_kept_or_not() -> None:
    order = torch.tensor([2, 0, 1])
    found = Labels(lambda epoch: np.array([epoch, 1, 2]), 3, 4, 4, torch.device("cpu"))
    assert found(3, order).tolist() == [2, 3, 1]
    found.whole = of_run(found.deliver, 3, 4, 4)
    assert found(3, order).tolist() == [2, 3, 1]
    assert found(3, order).dtype == torch.int64


def test_the_two_kinds_of_target() -> None:
    assert as_targets(np.zeros(2, np.uint8), 2, 0).dtype == torch.int64
    assert as_targets(np.zeros((2, 3)), 2, 0).dtype == torch.float32


@pytest.mark.parametrize(
    ("delivered", "message"),
    [
        (np.zeros(3, np.int64), r"deliver\(7\) must give one label or one row an item, 2 in all.*shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros(2), r"but gave float64 of the shape \(2,\)"),
        (np.zeros((2, 3), np.int64), r"but gave int64 of the shape \(2, 3\)"),
    ],
)
def test_what_cross_entropy_would_not_take_is_refused(delivered: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_targets(delivered, 2, 7)


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (np.array([0, 4]), r"deliver\(2\) gives labels from 0 to 4, but the model gives 4 .* labels lie in 0 to 3"),
        (np.array([0, -100]), r"deliver\(2\) gives labels from -100 to 0"),  # which cross_entropy would ignore
        (np.zeros((2, 5)), r"deliver\(2\) gives rows of 5 classes, but the model gives 4 logits"),
    ],
)
def test_a_class_that_the_model_does_not_have_is_refused_in_every_epoch(late: np.ndarray, message: str) -> None:
    def deliver(epoch: int) -> np.ndarray:
        return late if epoch == 2 else np.zeros(2, np.int64)

    found = Labels(deliver, 2, 4, 4, torch.device("cpu"))
    assert found(1, torch.arange(2)).tolist() == [0, 0]
    with pytest.raises(InputError, match=message):
        found(2, torch.arange(2))
    with pytest.raises(InputError, match=message):
        of_run(deliver, 2, 4, epochs=4)
