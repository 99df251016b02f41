"""Annotators whose votes are left out, whatever the layout."""

from __future__ import annotations

import json

import polars as pl
import pytest

from dissensus import read_votes
from dissensus.base.errors import InputError
from dissensus.votes import Votes

LONG = "item,annotator,label\na,ann,yes\na,bob,no\na,eve,maybe\nb,eve,maybe\nc,bob,no\nc,eve,\n"
WIDE = "item,ann,bob,eve\na,yes,no,maybe\nb,,,maybe\nc,,no,\n"
NESTED = {"a": {"ann": "yes", "bob": "no", "eve": "maybe"}, "b": {"eve": "maybe"}, "c": {"bob": "no"}}
LISTS = [
    {"item": "a", "labels": ["yes", "no", "maybe"], "annotators": ["ann", "bob", "eve"]},
    {"item": "b", "labels": ["maybe"], "annotators": ["eve"]},
    {"item": "c", "labels": ["no"], "annotators": ["bob"]},
]
WORKERS = [
    {"HITId": item, "WorkerId": who, "AssignmentStatus": status, "Answer.x": label}
    for item, who, status, label in [
        ("a", "ann", "Approved", "yes"),
        ("a", "bob", "Approved", "no"),
        ("a", "eve", "Approved", "maybe"),
        ("b", "eve", "Approved", "maybe"),
        ("b", "eve", "Rejected", "maybe"),
        ("c", "bob", "Approved", "no"),
    ]
]
LAYOUTS = {
    "long": LONG,
    "wide": WIDE,
    "nested": json.dumps(NESTED),
    "lists": "".join(json.dumps(row) + "\n" for row in LISTS),
    "an export": pl.DataFrame(WORKERS).write_csv(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("anonymous", [False, True])
def test_their_votes_are_left_out_and_counted_and_their_items_stay(write, layout, anonymous):
    path = write(LAYOUTS[layout], "votes.jsonl" if layout == "lists" else "votes.csv")
    how = {"layout": "lists"} if layout == "lists" else {}
    votes = read_votes(path, without=["eve"], anonymous=anonymous, **how)
    assert votes.items.tolist() == ["a", "b", "c"]
    assert votes.classes == ("no", "yes")  # nobody else said maybe
    assert votes.counts().tolist() == [[1, 1], [0, 0], [1, 0]]
    told = "2 votes are left out: 2 by 'eve'."
    notes = [note for note in votes.notes if "rejected" not in note]
    assert notes == [told, "1 item has no votes (first: 'b')."]
    if anonymous:
        assert votes.annotators is None
    else:
        assert votes.annotator_names.tolist() == ["ann", "bob"]


def test_several_are_counted_each_and_numbers_are_annotators_too():
    frame = pl.DataFrame({"item": [1, 1, 1, 2], "annotator": [7, 8, 9, 8], "label": ["x", "y", "x", "y"]})
    for source in (frame, frame.with_columns(pl.col("annotator").cast(pl.Float64))):
        for names in ([7, 9], ["7", "9"]):
            votes = read_votes(source, without=names, classes=["x", "y"])
            assert votes.counts().tolist() == [[0, 1], [0, 1]]
            assert votes.annotator_names.tolist() == [8]
    assert votes.notes[0] == "2 votes are left out: 1 by '7', 1 by '9'."


def test_a_number_is_known_by_its_value_and_counted_once():
    frame = pl.DataFrame({"item": ["a", "a", "b"], "annotator": [7.0, 8.0, 7.0], "label": ["x", "y", "y"]})
    for names in ([7], [7.0], ["7"], [7, "7"]):
        assert read_votes(frame, without=names, classes=["x", "y"]).notes[0].startswith("2 votes are left out: 2 by ")


def test_what_is_ignored_is_not_counted_twice(write):
    votes = read_votes(write(LONG), ignore=["maybe"], without=["eve", "ann"], classes=["yes", "no"])
    assert votes.notes[:2] == ("2 answers are no votes: 2 'maybe'.", "1 vote is left out: 0 by 'eve', 1 by 'ann'.")
    assert votes.counts().tolist() == [[0, 1], [0, 0], [0, 1]]


def test_of_a_saved_table(write, tmp_path):
    votes = read_votes(write(LONG), classes=["yes", "no", "maybe"])
    expected = read_votes(write(LONG), classes=["yes", "no", "maybe"], without=["eve"])
    for name, save in (("votes.npz", votes.save), ("votes.parquet", votes.write)):
        save(tmp_path / name)
        assert read_votes(tmp_path / name, without=["eve"]) == expected
    assert read_votes(tmp_path / "votes.npz", ignore=["maybe"]).classes == ("yes", "no")


def test_what_cannot_be_left_out_is_said(write, tmp_path):
    with pytest.raises(
        InputError,
        match=r"the votes by 'Eve' shall be left out, but there are none; annotators are 'eve', 'ann', 'bob'\.$",
    ):
        read_votes(write(LONG), without=["Eve"])
    with pytest.raises(InputError, match=r"without the votes by 'ann', 'bob', 'eve' there are none\.$"):
        read_votes(write(LONG), without=["ann", "bob", "eve"])
    with pytest.raises(
        InputError, match="the votes by 'eve' shall be left out, but the votes do not say who cast them"
    ):
        read_votes(write("item,label\na,yes\na,no\n"), without=["eve"])
    with pytest.raises(InputError, match=r"without takes a list of annotators, such as \['eve'\], but the text 'eve'"):
        read_votes(write(LONG), without="eve")
    with pytest.raises(InputError, match=r"holds votes that are counted .* so those by 'eve' cannot be left out"):
        read_votes(write("item,yes,no\na,0,1\nb,1,1\n", "counts.csv"), layout="counts", without=["eve"])
    Votes.from_counts([[1, 2]]).save(tmp_path / "counted.npz")
    with pytest.raises(InputError, match="do not say who cast them"):
        read_votes(tmp_path / "counted.npz", without=["eve"])
