"""Votes by an annotator who had voted on the item before: counted by kind, and kept as somebody says."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import read_votes
from dissensus.base.errors import InputError
from dissensus.votes import Votes

BEFORE = "by an annotator who had voted on the item before"
LONG = "item,annotator,label\na,ann,no\na,bob,yes\na,ann,yes\nb,ann,no\na,ann,no\nb,ann,no\nb,bob,yes\n"
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("pqr"), st.sampled_from("xyz")), min_size=1, max_size=25)


def rows_of(votes):
    items = votes.items.repeat(votes.votes_per_item).tolist()
    names = [votes.classes[code] for code in votes.codes]
    return list(zip(items, votes.annotator_names[votes.annotators].tolist(), names, strict=True))


@given(ROWS)
def test_what_is_kept_is_what_pandas_keeps(rows):
    frame = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    key = ["item", "annotator"]
    expected = {
        "all": frame,
        "first": frame.drop_duplicates(key, keep="first"),
        "last": frame.drop_duplicates(key, keep="last"),
        "distinct": frame.drop_duplicates([*key, "label"], keep="first"),
    }
    again, copies = frame.duplicated(key).sum(), frame.duplicated([*key, "label"]).sum()
    for repeats, left in expected.items():
        votes = read_votes(frame, repeats=repeats, classes=["x", "y", "z"])
        gone = "is" if len(frame) - len(left) == 1 else "are"
        left = left.assign(place=left["item"].map({item: n for n, item in enumerate(frame["item"].unique())}))
        left = left.sort_values("place", kind="stable").drop(columns="place")
        assert rows_of(votes) == list(left.itertuples(index=False, name=None))
        notes = [note for note in votes.notes if BEFORE in note]
        assert len(notes) == (again > 0)
        if again:
            assert notes[0].startswith(f"{again} vote")
            assert (f"{copies} say" in notes[0]) == (copies > 0)
            assert (f"{again - copies} say" in notes[0].partition("before")[2]) == (again > copies)
            assert notes[0].endswith(
                "all are kept." if repeats == "all" else f"{len(frame) - len(left)} {gone} left out."
            )


def test_they_are_counted_by_what_they_say(write):
    path = write(LONG)
    begin = f"3 votes are {BEFORE}: 2 say the same again, 1 says something else (first: 'ann' on 'a'); "
    assert read_votes(path).notes == (f"{begin}all are kept.",)
    for repeats, end, counts in (
        ("first", "the first of each is kept, 3 are left out.", [[1, 1], [1, 1]]),
        ("last", "the last of each is kept, 3 are left out.", [[1, 1], [1, 1]]),
        ("distinct", "one for each class is kept, 2 are left out.", [[1, 2], [1, 1]]),
    ):
        votes = read_votes(path, repeats=repeats)
        assert votes.notes == (begin + end,)
        assert votes.counts().tolist() == counts


def test_of_lists_and_exports_and_saved_tables(write, tmp_path):
    lists = [{"item": 1, "labels": ["x", "y", "x"], "annotators": ["p", "p", "q"]}]
    path = write("".join(json.dumps(row) + "\n" for row in lists), "l.jsonl")
    assert read_votes(path, layout="lists", repeats="last").counts().tolist() == [[1, 1]]
    tasks = [
        {"_input_hash": 1, "_task_hash": 1, "answer": "accept", "_annotator_id": "p", "accept": [label]}
        for label in "xyx"
    ]
    path = write("".join(json.dumps(row) + "\n" for row in tasks), "p.jsonl")
    assert read_votes(path, repeats="distinct").counts().tolist() == [[1, 1]]
    votes = read_votes(write(LONG))
    votes.save(tmp_path / "votes.npz")
    assert read_votes(tmp_path / "votes.npz", repeats="first") == read_votes(write(LONG), repeats="first")


def test_sets_of_labels_are_the_same_as_a_whole():
    rows = [["x", "y"], ["y", "x"], ["x"]]
    frame = pd.DataFrame({"item": [1, 1, 1], "annotator": ["p"] * 3, "label": rows})
    votes = read_votes(frame, repeats="distinct")
    assert votes.counts().tolist() == [[2, 1]]
    assert "1 says the same again, 1 says something else" in votes.notes[0]


def test_what_cannot_be_is_said(write):
    with pytest.raises(InputError, match="unknown way to keep repeats 'frist'; did you mean 'first'"):
        read_votes(write(LONG), repeats="frist")
    with pytest.raises(InputError, match="repeats='first' is of votes by one annotator, but the votes do not say who"):
        read_votes(write("item,label\na,x\na,x\na,y\n"), repeats="first")
    for layout in (LONG, "item,p,q\na,x,y\n"):  # which do say who
        with pytest.raises(InputError, match="is of votes by one annotator, but annotators are left out"):
            read_votes(write(layout), repeats="first", anonymous=True)
    with pytest.raises(InputError, match="repeats='first' has no votes of one annotator to choose among"):
        read_votes(write("item,yes,no\na,0,1\nb,1,1\n"), layout="counts", repeats="first")
    assert Votes.from_records(items=[1, 1], labels=["x", "y"], annotators=["p", "p"]).n_votes == 2
