import numpy as np
import pytest
import torch

from dissensus import metrics
from dissensus.base.errors import InputError
from dissensus.metrics import METRICS
from dissensus.votes import Votes

GOOD = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
LABELS = np.array([0, 2])

SIMPLEX = [name for name, metric in METRICS.items() if metric.simplex]
AGAINST_LABELS = [name for name, metric in METRICS.items() if metric.needs == "labels"]
AGAINST_HUMAN = [name for name, metric in METRICS.items() if metric.needs == "human"]


def score(name, probs, human=GOOD, labels=LABELS):
    return METRICS[name](probs, human=human, labels=labels)


@pytest.mark.parametrize("name", METRICS)
def test_a_nan_is_found_and_its_row_named(name):
    probs = GOOD.copy()
    probs[1, 0] = np.nan
    with pytest.raises(InputError, match=r"row 1.* holds nan"):
        score(name, probs)


@pytest.mark.parametrize("name", SIMPLEX)
def test_rows_must_sum_to_one(name):
    with pytest.raises(
        InputError, match=r"probs must have rows that sum to 1, but row 0 sums to 1.7 .*softmax\(logits\)"
    ):
        score(name, [[0.2, 1.5, 0.0], [0.1, 0.1, 0.8]])


@pytest.mark.parametrize("name", [name for name in SIMPLEX if METRICS[name].needs == "human"])
def test_per_class_shares_are_refused_with_the_reason(name):
    with pytest.raises(InputError, match=r"human must .* row 1 sums to 1.9 .* simplex metrics need one class a vote"):
        score(name, GOOD, human=[[0.5, 0.3, 0.2], [1.0, 0.1, 0.8]])


@pytest.mark.parametrize("name", AGAINST_HUMAN)
def test_votes_in_the_place_of_their_shares_are_told(name):
    with pytest.raises(
        InputError, match=r"human must be an array, but votes were given. Pass .* votes.frequencies\(\)"
    ):
        score(name, GOOD, human=Votes.from_counts([[1, 2, 3], [3, 2, 1]]))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("tensor", [torch.tensor(GOOD, requires_grad=True), torch.tensor(GOOD).bfloat16()])
def test_a_tensor_that_numpy_cannot_read_is_told_how_to_come(name, tensor):
    with pytest.raises(InputError, match=r"probs cannot be read as an array .* pass tensor.detach\(\).cpu\(\)"):
        score(name, tensor)


def test_logits_are_not_taken_for_per_class_shares():
    with pytest.raises(InputError) as error:
        metrics.soft_nll([[3.0, 4.0]], [[0.5, 0.5]])
    assert "one class a vote" not in str(error.value)


@pytest.mark.parametrize("name", METRICS)
def test_negative_numbers_are_refused(name):
    with pytest.raises(InputError, match=r"row 0.* holds -0\.1"):
        score(name, [[-0.1, 0.9, 0.2], [0.1, 0.1, 0.8]])


@pytest.mark.parametrize("name", AGAINST_HUMAN)
def test_the_classes_must_be_the_same(name):
    with pytest.raises(InputError, match=r"probs has 3 classes, but human has 2\. Both need one column a class"):
        score(name, GOOD, human=[[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("name", METRICS)
def test_the_items_must_be_the_same(name):
    with pytest.raises(InputError, match=r"equally long, but probs has 1, (human|labels) has 2"):
        score(name, GOOD[:1])


@pytest.mark.parametrize("name", METRICS)
def test_nothing_cannot_be_scored(name):
    with pytest.raises(InputError, match=r"probs has the shape \(0, 3\): there is nothing to score"):
        score(name, np.empty((0, 3)), human=np.empty((0, 3)), labels=np.empty(0, int))


@pytest.mark.parametrize("name", METRICS)
def test_one_item_alone_is_still_a_matrix(name):
    with pytest.raises(InputError, match=r"probs must have the shape \(items, classes\), but its shape is \(3,\)"):
        score(name, GOOD[0])


@pytest.mark.parametrize("name", AGAINST_LABELS)
@pytest.mark.parametrize(("labels", "message"), [([0, 3], "labels must lie in 0 to 2, but item 1 has 3"),
                                                 ([-1, 0], "labels must lie in 0 to 2, but item 0 has -1"),
                                                 ([0.0, 1.0], "labels must be class indices"),
                                                 ([[0], [1]], r"labels must have the shape \(items,\)")])  # fmt: skip
def test_labels_are_classes(name, labels, message):
    with pytest.raises(InputError, match=message):
        score(name, GOOD, labels=labels)


@pytest.mark.parametrize("name", METRICS)
def test_the_callers_arrays_are_left_alone(name):
    probs, human, labels = GOOD.copy(), GOOD[::-1].copy(), LABELS.copy()
    score(name, probs, human, labels)
    assert (probs == GOOD).all()
    assert (human == GOOD[::-1]).all()
    assert (labels == LABELS).all()


@pytest.mark.parametrize("name", METRICS)
def test_lists_do_as_well_as_arrays(name):
    assert np.array_equal(score(name, GOOD), score(name, GOOD.tolist(), GOOD.tolist(), LABELS.tolist()), equal_nan=True)
