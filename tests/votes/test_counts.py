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


@pytest.mark.parametrize("name", ["id", "Unnamed: 0", "image_id"])
def test_ids_without_the_usual_name_are_no_votes(write, name):
    path = write(f"{name},cat,dog\n7,3,1\n7,0,2\n")
    with pytest.raises(
        InputError, match=rf"the column '{name}' may hold ids, and as .* with item=..., label=... and cl"
    ):
        read_votes(path)
    assert read_votes(path, classes=[name, "cat", "dog"]).classes == (name, "cat", "dog")


def test_a_column_of_numbers_none_of_which_is_there_twice_is_none_of_counts(write):
    rows = [f"{100 + row},{row % 3},{2 - row % 3}" for row in range(10)]
    path = write("\n".join(["picture,cat,dog", *rows]))
    with pytest.raises(InputError, match=r"'picture' may hold ids, since no number is in it twice, and as counts they"):
        read_votes(path)
    assert read_votes(path, item="picture", layout="counts").classes == ("cat", "dog")
    assert read_votes(path, classes=["picture", "cat", "dog"]).n_classes == 3
    assert read_votes(write("\n".join(["picture,cat,dog", *rows[:9]]))).n_classes == 3  # may be counts, being few


@pytest.mark.parametrize("item", ["", "item,"])
def test_a_column_of_sums_is_no_class(write, item):
    rows = [f"{item and f'{row},'}{row % 3},{2 - row % 3},0,2" for row in range(10)]
    path = write("\n".join([f"{item}cat,dog,eel,total", *rows]))
    with pytest.raises(InputError, match=r"^votes.csv: the column 'total' is the sum of the others in every row."):
        read_votes(path, layout="counts")
    assert read_votes(path, classes=["cat", "dog", "eel", "total"]).n_classes == 4
    assert not read_votes(write("\n".join(["cat,dog", *["1,1"] * 9, "0,0"]))).notes[1:]  # of two, one may be the other


def test_ratings_without_a_column_of_items_are_told_of(write):
    rows = [f"{1 + row % 3},{1 + row % 2}" for row in range(10)]
    (note,) = read_votes(write("\n".join(["ann,bob", *rows]))).notes
    assert note.startswith(
        "Each column is read as a class, and each number as so many votes for it; but no number is 0"
    )
    assert not read_votes(write("\n".join(["ann,bob", *rows])), classes=["ann", "bob"]).notes
    assert not read_votes(write("\n".join(["ann,bob", *rows, "0,3"]))).notes


def test_a_long_table_of_numbers_with_names_of_its_own_is_not_counted(write):
    path = write("instance_id,user_id,offensiveness\n530,0,1\n530,1,2\n1280,0,1\n")
    with pytest.raises(InputError, match=r"'instance_id' may hold ids, .* and, if a row is one vote, which the labels"):
        read_votes(path)
    votes = read_votes(path, item="instance_id", annotator="user_id", label="offensiveness")
    assert (votes.n_items, votes.n_annotators, votes.n_votes) == (2, 2, 3)
