from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import Votes, read_votes


def test_counts_in_a_table(write):
    expected = Votes.from_counts([[3, 1], [0, 2]], classes=["cat", "dog"], items=["a", "b"])
    path = write("item,cat,dog\na,3,1\nb,0,2\n")
    assert read_votes(path, layout="counts") == expected
    assert read_votes(path, classes=["cat", "dog"]) == expected
    assert read_votes(write("cat,dog\n3,1\n0,2\n\n")) == Votes.from_counts([[3, 1], [0, 2]], classes=["cat", "dog"])
    assert read_votes(pl.DataFrame({"cat": [3, 0], "dog": [1, 2]})).counts().tolist() == [[3, 1], [0, 2]]


def test_counts_without_a_header(write):
    assert read_votes(write("1,1\n3,1\n0,2\n")).counts().tolist() == [[1, 1], [3, 1], [0, 2]]
    path = write("0,1\n3,1\n")
    assert read_votes(path, classes=[0, 1]).counts().tolist() == [[3, 1]]
    assert read_votes(path, classes=["cat", "dog"]).counts().tolist() == [[0, 1], [3, 1]]
    with pytest.raises(InputError, match=r"the first line of votes.csv, 0,1, may be the names of classes or the first"):
        read_votes(path)


def test_counts_in_arrays(tmp_path):
    np.save(tmp_path / "counts.npy", [[3, 1], [0, 2]])
    assert read_votes(tmp_path / "counts.npy") == Votes.from_counts([[3, 1], [0, 2]])
    np.savez(tmp_path / "counts.npz", counts=[[3, 1], [0, 2]], items=["a", "b"], classes=["x", "y"])
    assert read_votes(tmp_path / "counts.npz").items.tolist() == ["a", "b"]
    assert read_votes(tmp_path / "counts.npz").classes == ("x", "y")
    np.savez(tmp_path / "one.npz", [[3, 1], [0, 0]])
    assert read_votes(tmp_path / "one.npz", classes=["x", "y"]).notes == ("1 item has no votes (first: 1).",)


def test_saved_votes_are_read_too(tmp_path):
    votes = Votes.from_records(items=["a", "b"], labels=["x", "y"], annotators=["p", "p"])
    votes.save(tmp_path / "votes.npz")
    assert read_votes(tmp_path / "votes.npz") == votes


def test_texts_in_the_table_are_no_class(write):
    path = write("item,text,text_pair,cat,dog\na,so,or so,2,1\nb,never,ever,0,3\n")
    with pytest.raises(InputError, match=r'two ways, as "wide" .* or "counts"'):
        read_votes(path)
    votes = read_votes(path, layout="counts")
    assert (votes.classes, votes.counts().tolist()) == (("cat", "dog"), [[2, 1], [0, 3]])
    assert votes.notes == (
        "The columns 'text' and 'text_pair' are not read as votes; if they hold votes, name the classes.",
    )


def test_a_class_may_be_called_text(write):
    path = write("item,text,image,video\na,2,1,0\nb,0,3,4\n\n")
    for keywords in ({}, {"classes": ["text", "image", "video"]}):
        votes = read_votes(path, layout="counts", **keywords)
        assert votes.classes == ("text", "image", "video")
        assert (votes.counts().tolist(), votes.notes) == ([[2, 1, 0], [0, 3, 4]], ())
    assert read_votes(path, classes=["text", "image", "video"]).n_votes == 10


def test_a_class_may_be_called_group_if_it_is_named(write):
    path = write("item,one,two,group\na,2,1,7\nb,0,3,8\n")
    assert read_votes(path, classes=["one", "two", "group"]).counts().tolist() == [[2, 1, 7], [0, 3, 8]]
    votes = read_votes(path, layout="counts")
    assert votes.classes == ("one", "two")
    assert votes.notes[0] == "The column 'group' is not read as votes; if it holds votes, name the classes."
