from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import Votes, read_votes


def test_a_wide_table(write):
    votes = read_votes(write("item,ann,bob,eve\na,yes,,no\nb,no,no,no\nc,,,\n"))
    expected = Votes.from_records(
        items=["a", "a", "b", "b", "b", "c"],
        labels=["yes", "no", "no", "no", "no", None],
        annotators=["ann", "eve", "ann", "bob", "eve", None],
    )
    assert votes == expected
    assert votes.notes == ("1 item has no votes (first: 'c').",)


def test_a_wide_table_of_ratings(write):
    path = write("item,ann,bob\n1,5,3\n2,3,\n")
    votes = read_votes(path, classes=range(1, 6), ordered=True)
    assert votes.counts().tolist() == [[0, 0, 1, 0, 1], [0, 0, 1, 0, 0]]
    assert votes.items.tolist() == [1, 2]
    frame = pd.DataFrame({"item": [1, 2], "ann": [5, 3], "bob": [3, np.nan]})
    assert read_votes(frame, classes=range(1, 6), ordered=True) == votes
    assert (
        read_votes(pl.DataFrame({"item": [1, 2], "ann": [5.0, 3.0], "bob": [3.0, np.nan]}), layout="wide").n_votes == 3
    )


def test_a_wide_table_with_another_name_for_items(write):
    assert read_votes(write("ann,id,bob\nyes,a,no\nno,b,\n"), item="id").counts().tolist() == [[1, 1], [1, 0]]


def test_several_labels_in_a_wide_table(write):
    votes = read_votes(write("item,ann,bob\na,x|y,y\nb,x,\n"), separator="|")
    assert votes.counts().tolist() == [[1, 2], [1, 0]]


def test_texts_in_the_table_are_no_annotators(write):
    votes = read_votes(write("item,text,ann,bob\na,so it is,yes,no\nb,never,no,no\n"))
    assert votes.counts().tolist() == [[1, 1], [2, 0]]
    assert votes.annotator_names.tolist() == ["ann", "bob"]
    assert votes.notes == ("The column 'text' is not read as votes; if it holds votes, name all annotators.",)
    assert read_votes(write("Item,Text,ann,bob\na,so it is,yes,no\nb,never,no,no\n")) == votes
    with pytest.raises(InputError, match="has no column of votes beside item, text"):
        read_votes(write("item,text\na,so it is\n"), layout="wide")


def test_texts_alone_are_no_votes(write):
    with pytest.raises(InputError, match=r"has no layout of votes that is known here\. Its columns are item, text"):
        read_votes(write("item,text\na,so it is\n"))


def test_a_column_of_texts_is_no_annotator_though_a_class_has_its_name(write):
    path = write("item,text,ann,bob\na,so it is,text,image\nb,never,image,image\n")
    votes = read_votes(path, classes=["text", "image"])
    assert votes.annotator_names.tolist() == ["ann", "bob"]
    assert votes.counts().tolist() == [[1, 1], [0, 2]]


@pytest.mark.parametrize("name", ["text", "text_pair", "group"])
@pytest.mark.parametrize("labels", [("yes", "no"), (1, 2)])
def test_an_annotator_may_be_called_as_texts_are(write, name, labels):
    """Whether that column holds votes is asked where it holds nothing but labels, and never guessed."""
    one, two = labels
    path = write(f"item,ann,{name},bob\na,{one},{two},{two}\nb,{two},,{one}\n")
    with pytest.raises(InputError, match=f"'{name}' may be an annotator, .* name all annotators with annotators="):
        read_votes(path, layout="wide")
    votes = read_votes(path, annotators=["ann", name, "bob"])
    assert votes.annotator_names.tolist() == ["ann", name, "bob"]
    assert votes.votes_per_item.tolist() == [3, 2]
    assert votes.notes == ()
    assert read_votes(path, annotators=["ann", "bob"]).n_votes == 4


def test_a_column_of_groups_holds_more_than_labels(write):
    votes = read_votes(write("item,group,ann,bob\na,1,1,2\nb,7,2,2\n"), layout="wide")
    assert votes.annotator_names.tolist() == ["ann", "bob"]
    assert votes.notes[0] == "The column 'group' is not read as votes; if it holds votes, name all annotators."


def test_only_the_annotators_that_are_named_are_read(write):
    path = write("date,item,ann,bob,minutes\nMay,a,yes,no,3\nJune,b,no,,4\n")
    votes = read_votes(path, annotators=("bob", "ann"))
    assert votes.annotator_names.tolist() == ["ann", "bob"]
    assert votes.counts().tolist() == [[1, 1], [1, 0]]
    frame = pl.DataFrame({"item": [1, 2], "label": ["a", "b"], "ann": ["x", "y"], "bob": ["y", None]})
    assert read_votes(frame, annotators=["ann", "bob"]).n_votes == 3
    with pytest.raises(InputError, match="unknown column of an annotator 'bop'; did you mean 'bob'"):
        read_votes(path, annotators=["ann", "bop"])
    with pytest.raises(InputError, match="names of columns, several of them, but the text 'ann' was given"):
        read_votes(path, annotators="ann")
    with pytest.raises(InputError, match=r'annotators name the columns of a wide table, but the layout .* "long"'):
        read_votes(path, annotators=["ann"], layout="long")
    with pytest.raises(InputError, match="the annotator is said to be in 'ann', but the columns of annotators hold"):
        read_votes(path, annotators=["ann"], annotator="ann")


def test_anonymous_votes_of_a_wide_table(write):
    votes = read_votes(write("item,ann,bob\na,x,y\nb,x,\n"), anonymous=True)
    assert (votes.annotators, votes.annotator_names) == (None, None)
    assert votes.counts().tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("blank", [" ", "\u00a0"])
def test_a_cell_of_blanks_is_an_empty_one(write, blank):
    votes = read_votes(write(f"item,ann,bob\na,yes,{blank}\nb,no,no\nc,{blank},\n"))
    assert votes == read_votes(write("item,ann,bob\na,yes,\nb,no,no\nc,,\n", "empty.csv"))
    assert votes.notes == ("1 item has no votes (first: 'c').",)
    assert read_votes(write(f"item,ann,bob\na,1,{blank}\nb,2,2\n"), layout="wide").classes == (1, 2)
