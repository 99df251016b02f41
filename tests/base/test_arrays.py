import numpy as np
import pytest
import torch

from dissensus.base.arrays import as_array, as_counts, as_labels, as_matrix, as_simplex, same_length
from dissensus.base.errors import InputError


def test_a_simplex_comes_back_in_float64_and_the_given_array_is_left_alone():
    given = np.array([[0.25, 0.75]], np.float32)
    simplex = as_simplex("probs", given)
    simplex[0, 0] = 9
    assert simplex.dtype == np.float64
    assert given[0, 0] == 0.25


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rows_of_low_precision_pass(dtype):
    rows = np.random.default_rng(0).dirichlet(np.ones(1000), 50)
    np.testing.assert_allclose(as_simplex("probs", rows.astype(dtype)), rows, atol=1e-3)


def test_no_items_are_a_simplex_too():
    assert as_simplex("probs", np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0.5, 0.5], [0.7, 1.0]], r"row 1 sums to 1.7 \(1 of 2 rows are wrong\). If these are logits"),
        (
            [[3, 1], [0, 4]],
            r"row 0 sums to 4 \(2 of 2 rows are wrong\). If these are counts, divide each row by its sum",
        ),
        ([[0.5, 0.502]], "row 0 sums to 1.002"),
        ([[1.5, -0.5]], "must not be negative, but row 0 holds -0.5. If these are logits"),
        ([[0.5, 0.5], [np.nan, 1]], "must be finite, but row 1 holds nan"),
        ([[np.inf, 0]], "row 0 holds inf"),
        ([0.5, 0.5], r"shape \(items, classes\), but its shape is \(2,\)"),
        ([[0.5, 0.5], [1.0]], "rows have different lengths"),
        ([["a", "b"]], "must hold numbers"),
        ([[None, 1.0]], "must hold numbers"),
        ([[1j, 1.0]], "must hold numbers"),
    ],
)
def test_what_is_no_simplex_is_named(value, message):
    with pytest.raises(InputError, match="probs .*" + message):
        as_simplex("probs", value)


@pytest.mark.parametrize(
    ("tensor", "why"),
    [
        (torch.ones(2, 2, requires_grad=True), "requires grad"),
        (torch.ones(2, 2, dtype=torch.bfloat16), "BFloat16"),
        (torch.ones(2, 2, device="meta"), "meta device"),  # stands for a GPU's
    ],
)
def test_a_tensor_that_numpy_cannot_read_is_told_how_to_come(tensor, why):
    with pytest.raises(
        InputError, match=rf"probs cannot be read as an array \(.*{why}.*pass tensor.detach\(\).cpu\(\)"
    ):
        as_matrix("probs", tensor)
    np.testing.assert_array_equal(as_matrix("probs", torch.ones(2, 2).tolist()), np.ones((2, 2)))


def test_rows_of_different_lengths_are_no_array():
    with pytest.raises(InputError, match="index must be an array, but its rows have different lengths"):
        as_array("index", [[1], [1, 2]])


def test_a_matrix_keeps_its_dtype():
    assert as_matrix("inputs", np.ones((2, 2), np.uint8)).dtype == np.uint8


def test_counts_may_be_whole_floats_and_rows_may_be_empty_of_votes():
    counts = as_counts("counts", [[2.0, 0.0], [0.0, 0.0]])
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, [[2, 0], [0, 0]])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1, 0], [0.5, 0.5]], "row 1, column 0 holds 0.5. Shares cannot be turned back into votes"),
        ([[1.0, np.nan]], "whole numbers of votes, but row 0, column 1 holds nan.$"),
        ([[1, -2]], "must not be negative, but row 0, column 1 holds -2"),
        ([[1.0, np.inf]], "numbers of votes, but row 0, column 1 holds inf"),
        ([[1, 2], [1e19, 1]], r"numbers of votes, but row 1, column 0 holds 1e\+19"),
        (np.array([[2**63, 1]], np.uint64), "numbers of votes, but row 0, column 0 holds 9223372036854775808"),
    ],
)
def test_what_is_no_count_is_named(value, message):
    with pytest.raises(InputError, match=message):
        as_counts("counts", value)


def test_labels_come_back_as_int64():
    assert as_labels("labels", np.array([0, 2], np.uint8), classes=3).dtype == np.int64
    assert as_labels("labels", [], classes=3).shape == (0,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0, 1]], r"shape \(items,\), but its shape is \(1, 2\)"),
        ([0.0, 1.0], "must be class indices"),
        ([True, False], "must be class indices"),
        ([0, 1, 3], "must lie in 0 to 2, but item 2 has 3"),
        ([0, -1], "item 1 has -1"),
    ],
)
def test_what_is_no_label_is_named(value, message):
    with pytest.raises(InputError, match=message):
        as_labels("labels", value, classes=3)


def test_same_length():
    assert same_length(a=[1, 2], b=np.ones((2, 5))) == 2
    with pytest.raises(InputError, match="a has 2, b has 3"):
        same_length(a=[1, 2], b=[1, 2, 3])
