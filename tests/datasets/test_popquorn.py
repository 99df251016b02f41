from __future__ import annotations

import csv

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import load, popquorn
from dissensus.votes import entropy

NAME = "popquorn-offensiveness"
HEAD = ["instance_id", "user_id", "text", "offensiveness"]
ROWS = [
    [5, 0, "one, two\nlines", "1.0"],
    [3, 0, "other", "5.0"],
    [5, 7, "one, two\nlines", "2"],
    [3, 9, "other", ""],
]


@pytest.fixture
def write(folder, monkeypatch):
    """Write rows as the file, which then expects as many ratings of as many comments; the file."""

    def written(rows, head=HEAD, end=""):
        monkeypatch.setattr(popquorn, "RATINGS", len(rows))
        monkeypatch.setattr(popquorn, "ITEMS", len({row[0] for row in rows}))
        path = folder / popquorn.FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])
            file.write(end)
        return path

    return written


def test_ratings_are_ordered_and_have_annotators(write):
    write(ROWS)
    data = load(NAME)
    assert data.votes.ordered
    assert data.votes.classes == (1, 2, 3, 4, 5)
    assert data.votes.items.tolist() == [5, 3]
    assert data.votes.counts().tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 1]]  # an empty cell is no vote
    assert data.votes.annotator_names[data.votes.annotators].tolist() == [0, 7, 0]
    assert data.inputs.first == ("one, two\nlines", "other")
    assert data.labels is None
    assert data.votes.notes[0].startswith("1 row has no label and is no vote")


def test_further_columns_may_stand_beside(write):
    write([[*row, "Woman", 30] for row in ROWS], head=[*HEAD, "gender", "age"])
    assert load(NAME).votes.n_votes == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 1, "a", "6.0"]], "line 2: there must be a text and a rating of 1 to 5, but they are 'a' and '6.0'"),
        ([[1, 1, "a", "2.5"]], "line 2: there must be .* '2.5'"),
        ([[1, 1, "", "2.0"]], "line 2: there must be a text"),
        ([["x", 1, "a", "2.0"]], "line 2: 'instance_id' must be a whole number, but it is 'x'"),
        ([[1, "", "a", "2.0"]], "line 2: 'user_id' must be a whole number, but it is ''"),
        ([[1, 1, "a", "1.0"], [1, 2, "b", "2.0"]], "comment 1 has two texts, 'a' and another one"),
        ([[1, 1]], "line 2: there must be a text and a rating"),
    ],
)
def test_a_damaged_row_is_named(write, rows, message):
    path = write(rows)
    with pytest.raises(InputError, match=message) as told:
        load(NAME)
    assert str(path) in str(told.value)


def test_a_file_that_was_cut_off_or_is_another(write, monkeypatch):
    path = write(ROWS, end='9,9,"never closed')
    with pytest.raises(InputError, match=rf"{path} is damaged or no CSV"):
        load(NAME)
    write(ROWS)
    monkeypatch.setattr(popquorn, "RATINGS", 13_036)
    with pytest.raises(InputError, match="has 4 ratings, but 13,036 were published: it is cut off"):
        load(NAME)
    write(ROWS, head=["instance_id", "user_id", "text", "politeness"])
    with pytest.raises(InputError, match="but offensiveness is not there"):
        load(NAME)


def test_the_published_numbers(real):
    real(popquorn.FILE)
    data = load(NAME)
    assert (len(data), data.votes.n_votes, data.votes.n_annotators) == (1500, 13_036, 262)
    assert data.votes.counts().sum(0).tolist() == [7516, 2190, 1590, 1039, 701]
    assert entropy(data.votes).mean() == pytest.approx(0.8406, abs=5e-5)
    assert np.ptp(data.votes.votes_per_item) == 5
    assert data.votes.n_votes / len(data) == pytest.approx(8.7, abs=0.01)
