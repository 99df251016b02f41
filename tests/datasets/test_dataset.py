from __future__ import annotations

import hashlib
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset, Texts
from dissensus.votes import Votes

VOTES = Votes.from_counts([[2, 1], [0, 3], [1, 1]])
FEATURES = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_features_and_images():
    assert Dataset("own", FEATURES, VOTES).kind == "features"
    data = Dataset("own", np.zeros((3, 1, 5, 6), np.uint8), VOTES)
    assert data.images
    assert data.kind == "images"
    assert len(data) == 3
    assert repr(data) == "Dataset('own', 3 items, images (1, 5, 6), 2 classes, 8 votes)"


def test_it_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Dataset("own", FEATURES, VOTES).name = "other"


def test_labels_and_truth_come_in_one_dtype():
    data = Dataset("own", FEATURES, VOTES, labels=np.array([0, 1, 1], np.uint8), truth=np.full((3, 2), 0.5, np.float32))
    assert data.labels.dtype == np.int64
    assert data.truth.dtype == np.float64


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"inputs": FEATURES[:2]}, "equally long, but inputs has 2, votes has 3"),
        ({"labels": np.array([0, 1])}, "inputs has 3, votes has 3, labels has 2"),
        ({"labels": np.array([0, 1, 2])}, "labels must lie in 0 to 1, but item 2 has 2"),
        ({"truth": np.full((2, 2), 0.5)}, "truth has 2"),
        ({"truth": np.ones((3, 2))}, "truth must have rows that sum to 1, but row 0 sums to 2"),
        ({"truth": np.full((3, 3), 1 / 3)}, "it has 3 columns and the votes have 2 classes"),
        ({"inputs": FEATURES.astype(np.float64)}, r"but are float64 \(3, 4\)"),
        ({"inputs": np.zeros((3, 5, 6), np.uint8)}, r"but are uint8 \(3, 5, 6\)"),
        ({"inputs": FEATURES.tolist()}, "must be a NumPy array or Texts, but are of type list"),
        ({"inputs": np.where(FEATURES == 6, np.float32(np.nan), FEATURES)}, "row 1, feature 2 is nan"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(InputError, match=message):
        Dataset(**{"name": "own", "inputs": FEATURES, "votes": VOTES} | parts)


def test_the_digest_is_a_plain_sha256_of_shape_dtype_and_bytes():
    told = hashlib.sha256(b"((3, 4), 'float32')" + FEATURES.astype("<f4").tobytes()).hexdigest()
    assert Dataset("own", FEATURES, VOTES).digest() == {"inputs": told, "votes": VOTES.digest()}


def test_the_digest_does_not_see_memory_order_but_shape():
    digest = Dataset("own", FEATURES, VOTES).digest()
    assert Dataset("own", np.asfortranarray(FEATURES), VOTES).digest() == digest
    assert Dataset("own", FEATURES[:, :3], VOTES).digest() != digest
    images = np.arange(36, dtype=np.uint8)
    one = Dataset("own", images.reshape(3, 1, 3, 4), VOTES).digest()
    assert Dataset("own", images.reshape(3, 1, 4, 3), VOTES).digest() != one


TEXTS = Texts(["a", "b", "c"])


def test_texts():
    data = Dataset("own", TEXTS, VOTES)
    assert data.texts
    assert not data.images
    assert len(data) == 3
    assert repr(data) == "Dataset('own', 3 items, texts, 2 classes, 8 votes)"
    pairs = Dataset("own", Texts(["a", "b", "c"], ["x", "y", "z"]), VOTES)
    assert repr(pairs) == "Dataset('own', 3 items, pairs of texts, 2 classes, 8 votes)"
    assert not Dataset("own", FEATURES, VOTES).texts


def test_what_needs_an_array_refuses_texts():
    with pytest.raises(InputError, match="the inputs of own are texts, and this takes images or features"):
        len(Dataset("own", TEXTS, VOTES).array)
    assert Dataset("own", FEATURES, VOTES).array is FEATURES


def test_groups_are_numbered_and_no_other_by_another_name():
    data = Dataset("own", TEXTS, VOTES, groups=np.array(["p", "q", "p"]))
    assert data.groups.tolist() == [0, 1, 0]
    assert data.digest() == Dataset("own", TEXTS, VOTES, groups=np.array([7, 3, 7])).digest()


def test_the_digest_knows_texts_and_groups():
    told = [
        Dataset("own", TEXTS, VOTES),
        Dataset("own", Texts(["a", "b", "c "]), VOTES),
        Dataset("own", Texts(["a", "b", "c"], ["a", "b", "c"]), VOTES),
        Dataset("own", TEXTS, VOTES, groups=np.array([0, 1, 0])),
        Dataset("own", TEXTS, VOTES, groups=np.array([0, 0, 1])),
        Dataset("own", FEATURES, VOTES, groups=np.array([0, 0, 1])),
        Dataset("own", FEATURES, VOTES),
    ]
    assert len({data.digest()["inputs"] for data in told}) == len(told)
    assert {data.digest()["votes"] for data in told} == {VOTES.digest()}


def test_groups_that_do_not_fit():
    with pytest.raises(InputError, match="votes has 3, groups has 2"):
        Dataset("own", TEXTS, VOTES, groups=np.array([0, 1]))
