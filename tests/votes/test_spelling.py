"""Labels that are written in several ways are joined where somebody says so, whatever the layout, and told of."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import read_votes
from dissensus.base.errors import InputError

SAID = [("a", "ann", "ok"), ("a", "bob", "Ok"), ("a", "eve", "ok "), ("b", "ann", "bad"), ("b", "bob", "ok")]
LONG = "item,annotator,label\n" + "".join(",".join(row) + "\n" for row in SAID)
NESTED = {"a": {"ann": "ok", "bob": "Ok", "eve": "ok "}, "b": {"ann": "bad", "bob": "ok"}}
LISTS = [{"item": "a", "labels": ["ok", "Ok", "ok "]}, {"item": "b", "labels": ["bad", "ok"]}]
WORKERS = [
    {"HITId": item, "WorkerId": who, "AssignmentStatus": "Approved", "Answer.x": label} for item, who, label in SAID
]
LAYOUTS = {
    "long": (LONG, {}),
    "wide": ("item,ann,bob,eve\na,ok,Ok,ok \nb,bad,ok,\n", {}),
    "nested": (json.dumps(NESTED), {}),
    "lists": ("".join(json.dumps(row) + "\n" for row in LISTS), {"layout": "lists"}),
    "lists in text": ("item,labels\na,ok|Ok|ok \nb,bad|ok\n", {"layout": "lists"}),
    "an export": (pl.DataFrame(WORKERS).write_csv(), {}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_one_by_a_fold_or_by_name_and_are_told_of(write, layout):
    content, how = LAYOUTS[layout]
    path = write(content)
    stripped = layout == "lists in text"  # there, spaces beside the mark belong to it
    spaces = ("ok",) if stripped else ("ok", "ok ")
    assert read_votes(path, **how).classes == ("Ok", "bad", *spaces)
    for asked in ({"fold": "case"}, {"rename": {"Ok": "ok"} | ({} if stripped else {"ok ": "ok"})}):
        votes = read_votes(path, **asked, **how)
        assert votes.classes == ("bad", "ok")
        assert votes.counts().tolist() == [[0, 3], [1, 1]]
        told = "1 label is read as another: 1 'Ok' as 'ok'."
        assert votes.notes == (told if stripped else "2 labels are read as others: 1 'Ok' and 1 'ok ' as 'ok'.",)
    assert read_votes(path, fold="spaces", **how).classes == ("Ok", "bad", "ok")


WAYS = st.sampled_from(["ok", "Ok", " ok", "OK ", "bad", "Bad", "not  sure", "Not sure", "n/a", "N/A "])


@given(st.lists(st.tuples(st.integers(0, 4), WAYS), min_size=1, max_size=20))
def test_a_fold_reads_as_if_the_file_were_written_in_one_way(rows):
    classes = ["ok", "bad", "not sure"]
    folded = [" ".join(label.split()).lower() for _, label in rows]
    frame = pl.DataFrame({"item": [item for item, _ in rows], "label": [label for _, label in rows]})
    if "n/a" not in folded:
        assert read_votes(frame, fold="case", classes=classes) == read_votes(
            frame.with_columns(label=pl.Series(folded)), classes=classes
        )
    elif set(folded) != {"n/a"}:
        made = read_votes(frame, fold="case", classes=classes, ignore=["N/a"])
        assert made == read_votes(frame.with_columns(label=pl.Series(folded)), classes=classes, ignore=["n/a"])


def test_the_way_that_is_named_stays_or_else_the_one_there_most_often(write):
    path = write("item,label\na,YES\na,Yes\nb,Yes \nb,no\nc,No\n")
    assert read_votes(path, fold="case").classes == ("No", "Yes")  # of as many the first by the alphabet
    assert read_votes(path, fold="case", classes=["yes", "no"]).counts().tolist() == [[2, 0], [1, 1], [0, 1]]
    assert read_votes(path, fold="case", rename={"no": "nay"}).classes == ("Yes", "nay")
    with pytest.raises(InputError, match="the classes 'Yes' and 'yes' would be one by fold='case'; name one of them"):
        read_votes(path, fold="case", classes=["Yes", "yes", "no"])


def test_labels_of_one_multilabel_vote_are_joined_each(write):
    frame = pl.DataFrame({"item": [1, 1], "label": [["Ok", "new"], ["new "]]})
    for source, how in ((frame, {}), (write("item,label\n1,Ok;new\n1,new \n"), {"separator": ";"})):
        votes = read_votes(source, fold="case", rename={"OK": "fine"}, **how)
        assert votes.classes == ("fine", "new")
        assert votes.counts().tolist() == [[1, 2]]
        assert votes.notes[0] == "2 labels are read as others: 1 'Ok' as 'fine'; 1 'new ' as 'new'."


def test_of_an_export_with_several_labels_a_vote(write):
    rows = [
        {"_input_hash": 1, "_task_hash": 1, "answer": "accept", "_annotator_id": who, "accept": labels}
        for who, labels in (("ann", ["Ok", "new"]), ("bob", ["ok"]))
    ]
    votes = read_votes(write("".join(json.dumps(row) + "\n" for row in rows), "p.jsonl"), fold="case")
    assert (votes.classes, votes.counts().tolist()) == (("Ok", "new"), [[2, 1]])


def test_numbers_are_renamed_and_stay_numbers_where_all_are():
    for labels in ([1, 5, 0], [1.0, 5.0, 0.0], ["1", "5", "0"]):
        frame = pl.DataFrame({"item": [1, 1, 2], "label": labels})
        votes = read_votes(frame, rename={5: 1})
        assert list(map(float, votes.classes)) == [0, 1]
        assert isinstance(votes.classes[0], str if isinstance(labels[0], str) else int | float)
        assert read_votes(frame, rename={0: "no", 1: "yes", 5: "yes"}).classes == ("no", "yes")


def test_names_may_be_exchanged(write):
    votes = read_votes(write("item,label\na,x\na,x\na,y\n"), rename={"x": "y", "y": "x"})
    assert dict(zip(votes.classes, votes.counts()[0].tolist(), strict=True)) == {"x": 1, "y": 2}


def test_of_tables_that_are_kept(write, tmp_path):
    votes = read_votes(write(LONG), classes=["bad", "ok ", "Ok", "ok"], ordered=True)
    for name, save in (("votes.npz", votes.save), ("votes.parquet", votes.write)):
        save(tmp_path / name)
        folded = read_votes(tmp_path / name, fold="case")
        assert (folded.classes, folded.ordered) == (("bad", "ok "), True)  # the first of the classes it was kept with
        assert folded.counts().tolist() == [[0, 3], [1, 1]]
        joined = read_votes(tmp_path / name, rename={"Ok": "ok", "ok ": "ok"})
        assert (joined.classes, joined.ordered) == (("bad", "ok"), True)
        assert joined.counts().tolist() == [[0, 3], [1, 1]]


def test_many_ways_are_counted_and_not_all_named(write):
    rows = "".join(f"a,w{n}\n" * (n + 1) for n in range(12))
    votes = read_votes(write(f"item,label\n{rows}a,all\n"), rename={f"w{n}": "one" for n in range(12)})
    assert votes.notes[0].startswith("78 labels are read as others: 12 'w11', 11 'w10', ")
    assert votes.notes[0].endswith(" and 3 'w2' as 'one'; and 2 other ways of writing.")


def test_what_cannot_be_joined_is_said(write):
    path = write(LONG)
    for asked, message in (
        (
            {"rename": {"OK": "ok"}},
            "'OK' shall be renamed, but no label is that; the labels are 'Ok', 'bad', 'ok', 'ok '",
        ),
        ({"rename": {"Ok": " "}}, "'Ok' shall be renamed, but its name would be empty; to leave it out, ignore it"),
        (
            {"rename": ["Ok=ok"]},
            r"rename takes labels and their names, such as \{\"Ok\": \"ok\"\}, but \['Ok=ok'\] was",
        ),
        ({"fold": "caps"}, "unknown way to fold labels 'caps'; did you mean 'case'. Choose one of: spaces, case"),
    ):
        with pytest.raises(InputError, match=message):
            read_votes(path, **asked)
    counts = write("item,yes,Yes\na,0,1\nb,1,1\n", "counts.csv")
    with pytest.raises(
        InputError, match=r"holds votes that are counted .* so classes cannot be joined; add their counts"
    ):
        read_votes(counts, layout="counts", fold="case")


WRONG = {
    "one in spaces": (["ok "], "It differs from 'ok' in spaces alone: join them with fold=\"spaces\""),
    "one in capitals": (["OK"], "It differs from 'ok' in capitals or spaces alone: join them with fold=\"case\""),
    "several": (
        ["OK", "BAD"],
        "Neither is 'BAD'. They differ from a class in capitals or spaces alone: join them with",
    ),
    "some": (
        ["OK", "?"],
        "Neither is '?'. Of these 'OK' differ from a class in capitals or spaces alone. Join them and, where others "
        'are no votes, ignore these with fold="case" and ignore=...',
    ),
    "none": (["what"], "Name all classes or, where this is no vote, ignore it with ignore=..."),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_label_that_is_no_class_but_for_capitals_or_spaces_says_so(write, wrong):
    labels, message = WRONG[wrong]
    path = write("item,label\n" + "".join(f"a,{label}\n" for label in ["ok", "bad", *labels]))
    with pytest.raises(InputError, match=f"is not one of the classes 'ok', 'bad'.*{re.escape(message)}"):
        read_votes(path, classes=["ok", "bad"])


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
def test_numbers_in_lists_stay_numbers_and_are_joined(kind):
    """Floats kept the class that the note said was gone, and all of them became texts, which are no classes 1 and 2."""
    rows = pl.Series([[1, 2], [3], [], None, [1]], dtype=pl.List(kind))
    frame = pl.DataFrame({"item": ["a", "a", "b", "b", "b"], "label": rows})
    for more in ({}, {"classes": [1, 2]}):
        votes = read_votes(frame, rename={3: 2}, **more)
        assert votes.classes == (1, 2)
        assert votes.counts().tolist() == [[1, 2], [1, 0]]
        assert votes.notes[0] == "1 label is read as another: 1 '3' as '2'."


SEVERAL = {
    "lists": (pl.DataFrame({"item": [1, 1, 2], "label": [["cat", "Dog", "car"], ["dog"], ["car"]]}), {}),
    "text": (pl.DataFrame({"item": [1, 1, 2], "label": ["cat,Dog,car", "dog", "car"]}), {"separator": ","}),
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_two_labels_of_one_vote_that_are_one_now_count_once(kind):
    frame, how = SEVERAL[kind]
    votes = read_votes(frame, rename={"cat": "animal", "dog": "animal"}, fold="case", **how)
    assert votes.classes == ("animal", "car")
    assert votes.counts().tolist() == [[2, 1], [0, 1]]
    twice = frame.with_columns(label=pl.Series([["dog", "dog"], ["Dog"], ["car"]])) if kind == "lists" else None
    if twice is not None:  # written so in the file: an error as ever
        with pytest.raises(InputError, match="the label 'dog' is there twice"):
            read_votes(twice, fold="case")
