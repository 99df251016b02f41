from __future__ import annotations

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.votes.synthetic import Annotator, adversarial, annotate, draw, expected, noisy, reliable

TRUTH = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
PEOPLE = [reliable("ann", 3), reliable("bob", 3, accuracy=0.8), noisy("cy", 3), adversarial("eve", 3)]


def test_votes_converge_to_the_expected_distribution():
    votes = annotate(np.repeat(TRUTH, 20_000, axis=0), PEOPLE, votes_per_item=2, seed=1)
    shares = votes.counts().reshape(3, 20_000, 3).sum(1) / 40_000
    np.testing.assert_allclose(shares, expected(TRUTH, PEOPLE), atol=4 * 0.5 / np.sqrt(40_000))


def test_each_annotator_says_what_their_matrix_says():
    votes = annotate(np.tile([[0, 1.0, 0]], (20_000, 1)), PEOPLE, votes_per_item=4)
    for position, annotator in enumerate(PEOPLE):
        said = np.bincount(votes.codes[votes.annotators == position], minlength=3) / 20_000
        np.testing.assert_allclose(said, annotator.confusion[1], atol=0.015)


def test_an_annotator_votes_once_on_an_item_and_all_are_as_busy():
    votes = annotate(np.tile(TRUTH, (3000, 1)), PEOPLE, votes_per_item=3)
    item = np.repeat(np.arange(votes.n_items), 3)
    assert len(set(zip(item.tolist(), votes.annotators.tolist(), strict=True))) == votes.n_votes
    np.testing.assert_allclose(np.bincount(votes.annotators) / votes.n_items, 0.75, atol=0.02)


def test_items_may_have_different_numbers_of_votes():
    votes = annotate(TRUTH, PEOPLE, votes_per_item=[4, 0, 2], items=["a", "b", "c"], classes=["x", "y", "z"])
    assert votes.votes_per_item.tolist() == [4, 0, 2]
    assert votes.items.tolist() == ["a", "b", "c"]
    assert votes.annotator_names.tolist() == ["ann", "bob", "cy", "eve"]


def test_a_seed_gives_the_same_votes_on_any_machine():
    assert annotate(TRUTH, PEOPLE, 4, seed=3) == annotate(TRUTH, PEOPLE, 4, seed=3)
    assert annotate(TRUTH, PEOPLE, 4, seed=3) != annotate(TRUTH, PEOPLE, 4, seed=4)
    assert annotate(TRUTH, PEOPLE, 3).codes.tolist() == [1, 0, 1, 2, 2, 1, 1, 1, 2]


def test_matrices_are_what_they_say():
    for annotator in PEOPLE:
        np.testing.assert_allclose(annotator.confusion.sum(1), 1)
    np.testing.assert_allclose(np.diag(reliable("a", 5, accuracy=0.9).confusion), 0.9)
    assert (adversarial("e", 4).confusion.argmax(1) == [1, 2, 3, 0]).all()


def test_a_class_of_no_probability_is_never_drawn():
    probs = np.array([[0.0, 0.1, 0.0, 0.9, 0.0]])
    chances = np.array([0.0, 0.1, 0.5, 1 - 2.0**-53])
    assert set(draw(probs.repeat(4, 0), chances).tolist()) == {1, 3}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"votes_per_item": 5}, "between 0 and the number of annotators, 4, but it reaches 5; an annotator votes once"),
        ({"votes_per_item": -1}, "but it reaches -1"),
        ({"votes_per_item": 1.5}, "votes_per_item must be a whole number, or one for each of 3 items"),
        ({"votes_per_item": [1, 2]}, "one for each of 3 items"),
        ({"annotators": []}, "at least one annotator is needed"),
        ({"annotators": [reliable("a", 2)]}, "annotator 'a' knows 2 classes, but truth has 3"),
        ({"annotators": [reliable("a", 3), noisy("a", 3)]}, "names of annotators must be unique, but 'a'"),
        ({"truth": [[0.5, 0.2, 0.2]]}, "truth must have rows that sum to 1"),
        ({"items": ["a"]}, "truth has 3 rows, but 1 items were named"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        annotate(**({"truth": TRUTH, "annotators": PEOPLE, "votes_per_item": 2} | given))


def test_matrices_that_are_refused():
    with pytest.raises(InputError, match="confusion matrix of 'a' must be square"):
        Annotator("a", [[0.5, 0.5]])
    with pytest.raises(InputError, match="confusion matrix of 'a' must have rows that sum to 1"):
        Annotator("a", [[0.5, 0.4], [0, 1]])
    with pytest.raises(InputError, match="accuracy must lie between 0 and 1"):
        reliable("a", 3, accuracy=1.2)
