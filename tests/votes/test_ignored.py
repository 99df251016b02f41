"""Answers such as "don't know" are no votes, whatever the layout."""

from __future__ import annotations

import json

import polars as pl
import pytest

from dissensus import read_votes
from dissensus.base.errors import InputError

LONG = "item,annotator,label\na,ann,yes\na,bob,unsure\na,cem,no\nb,ann,unsure\nc,bob,no\n"


def test_they_are_left_out_and_counted_and_their_items_stay(write):
    votes = read_votes(write(LONG), ignore=["unsure"])
    assert votes.classes == ("no", "yes")
    assert votes.items.tolist() == ["a", "b", "c"]
    assert votes.counts().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert votes.notes == ("2 answers are no votes: 2 'unsure'.", "1 item has no votes (first: 'b').")
    assert votes.annotator_names is not None
    assert votes.annotator_names.tolist() == ["ann", "cem", "bob"]


def test_of_a_wide_table(write):
    votes = read_votes(write("item,ann,bob,cem\na,yes,unsure,no\nb,unsure,,\nc,,no,99\n"), ignore=["unsure", "99"])
    assert votes.classes == ("no", "yes")
    assert votes.counts().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert votes.notes[0] == "3 answers are no votes: 2 'unsure', 1 '99'."


def test_of_json_by_item(write):
    content = {"a": {"ann": "yes", "bob": "unsure", "cem": "no"}, "b": {"ann": "unsure"}, "c": {"bob": "no"}}
    votes = read_votes(write(json.dumps(content), "votes.json"), ignore=["unsure"])
    assert votes.counts().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert votes.notes[0] == "2 answers are no votes: 2 'unsure'."


@pytest.mark.parametrize("name", [99, "99", 99.0])
@pytest.mark.parametrize("gap", [False, True])
def test_ratings_with_a_code_for_none_stay_numbers(gap, name):
    labels = [1, 99, 5, None if gap else 2]
    frame = pl.DataFrame({"item": ["a", "a", "b", "b"], "label": labels})
    for source in (frame, frame.with_columns(pl.col("label").cast(pl.Float64))):  # pandas has floats where gaps are
        votes = read_votes(source, ignore=[name], ordered=True)
        assert votes.classes == ((1, 5) if gap else (1, 2, 5))


def test_numbers_and_truths_are_known_by_their_value():
    halves = pl.DataFrame({"item": ["a", "a", "b"], "label": [0.5, 1.5, 9.5]})
    assert read_votes(halves, ignore=[9.5]).classes == (0.5, 1.5)
    with pytest.raises(InputError, match="the only class is True"):
        read_votes(pl.DataFrame({"item": ["a", "a"], "label": [True, False]}), ignore=[False])


def test_ratings_with_a_word_for_none_are_ordered(write):
    votes = read_votes(write("item,label\na,10\na,9\nb,don't know\nb,9\n"), ignore=["don't know"], ordered=True)
    assert votes.classes == (9, 10)


def test_a_vote_for_several_classes_is_none_if_it_says_nothing_else(write):
    votes = read_votes(write("item,label\na,x|y\na,unsure\nb,y\n"), ignore=["unsure"], separator="|")
    assert (votes.classes, votes.n_votes) == (("x", "y"), 2)
    frame = pl.DataFrame({"item": ["a", "a", "b"], "label": [["x", "y"], ["unsure"], ["y"]]})
    assert read_votes(frame, ignore=["unsure"]).counts().tolist() == votes.counts().tolist()


def test_what_was_written_with_its_classes_can_be_read_without_one(write, tmp_path):
    read_votes(write(LONG)).write(tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet", ignore=["unsure"]).classes == ("no", "yes")


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        (
            LONG,
            {"ignore": ["Unsure"]},
            "'Unsure' shall be ignored, but no label is that; the labels are 'no', 'unsure'",
        ),
        (LONG, {"ignore": "unsure"}, r"ignore takes a list of labels, such as \['unsure'\]"),
        ("item,no,yes,unsure\na,1,2,1\n", {"ignore": ["unsure"], "layout": "counts"}, "leave that class out of the"),
        (LONG, {"classes": ["no", "yes"]}, r"'unsure' is not one of .* this is no vote, ignore it with ignore=\.\.\."),
    ],
)
def test_mistakes(write, content, given, message):
    with pytest.raises(InputError, match=message):
        read_votes(write(content), **given)


def test_a_whole_number_among_others_is_known_by_its_value_and_counted_once():
    ratings = pl.DataFrame({"item": ["a", "a", "b", "b"], "label": [1.0, 2.5, 1.0, 3.5]})
    for names in ([1], [1.0], ["1"], [1, "1", 1.0]):
        votes = read_votes(ratings, ignore=names)
        assert votes.classes == (2.5, 3.5)
        assert votes.notes[0].startswith("2 answers are no votes: 2 ")
    assert read_votes(ratings, rename={1.0: 2.5}).classes == (2.5, 3.5)
