from __future__ import annotations

import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import READERS, Votes, read_votes

LONG = "item,annotator,label\ncat1,ann,cat\ndog1,ann,dog\ncat1,bob,dog\n"


# -- bad input: what, where, what to do


@pytest.mark.parametrize(
    ("content", "keywords", "message"),
    [
        (b"", {}, "votes.csv is empty"),
        (" \n\n", {}, "votes.csv holds nothing but blanks"),
        ("item,label\n", {}, r"votes.csv has a header \(item, label\) but no rows"),
        ("item\na\n", {}, "votes.csv has one column only, 'item'"),
        (
            "a,b,c\nx,y,z\n",
            {},
            r"no layout of votes that is known here. Its columns are a, b, c. If a row is an item .* name the column "
            r"of the items; if a row is a vote, .* with item=\.\.\., label=\.\.\. and annotator=\.\.\.",
        ),
        (
            LONG,
            {"label": "lable"},
            "unknown column 'lable'; did you mean 'label'\\? Choose one of: item, annotator, label",
        ),
        (LONG, {"layout": "longer"}, "unknown layout 'longer'; did you mean 'long'"),
        (
            "id,annotator,label\na,b,c\n",
            {},
            "no column 'item' or 'task'; its columns are id, annotator, label. Name the",
        ),
        ("item,annotator,rating\na,b,c\n", {}, "no column 'label'; its columns are item, annotator, rating"),
        ("item,task,label\na,b,c\n", {}, "has the columns 'item' and 'task'; say which is the item with item="),
        ("item,label,label\na,b,c\n", {}, "more than one column 'label'; rename one"),
        ("item,label\na,x\nb\n", {}, r"votes.csv, line 3 has 1 cell, but the header has 2 \(item, label\)"),
        ("item,label\na,x\nb,y,z\n", {}, r"votes.csv, line 3 has 3 cells, but the header has 2"),
        ('item,label\na,x\n"b,y\nc,z\n', {}, "votes.csv, line 3: a quoted cell is not closed"),
        ("item,label\na,x\n,y\n", {}, "votes.csv, line 3: the item is missing. Fill it in or leave the row out"),
        (
            "item,annotator,label\na,p,x\nb,,y\n",
            {},
            "votes.csv, line 3: the annotator is missing. Fill it in or, since votes need none, leave all annotators "
            "out with anonymous=True",
        ),
        (
            LONG,
            {"annotator": "annotator", "anonymous": True},
            "'annotator', but annotators are left out; leave that out",
        ),
        ("item,label\na,x\nb,x\n", {}, "votes.csv: at least two classes are needed, but the only class is 'x'"),
        ("item,label\na,\nb,\n", {}, "votes.csv: there are no votes, since no row has a label"),
        ("item,annotator,label\n,,\n\n", {}, "votes.csv: there are no votes, since no row has a label"),
        ("item,ann,bob\n,,\n", {"layout": "wide"}, "votes.csv: there are no votes, since no row has a label"),
        (
            LONG,
            {"classes": ["cat", "eel"]},
            "votes.csv, line 3: the label 'dog' is not one of the classes 'cat', 'eel'",
        ),
        (LONG, {"classes": ["cat", "cat"]}, "classes must differ, but 'cat' occurs more than once"),
        ("item,label\na,caf\xe9\nb,y\n".encode("latin-1"), {}, "votes.csv, line 2 is not UTF-8 text: byte 6 .* 0xe9"),
        ("it\xe9m,label\na,x\n".encode("latin-1"), {}, "votes.csv, line 1 is not UTF-8 text"),
        (LONG.encode("utf-16"), {}, "votes.csv is UTF-16 text; save it as UTF-8"),
        (gzip.compress(LONG.encode(), mtime=0), {}, "votes.csv is compressed; unpack it first"),
        (b"\x7fELF\x00\x01\x02", {}, "votes.csv is a binary file of a kind that is not known here"),
        (b"PK\x03\x04 a spreadsheet", {}, "A spreadsheet has to be saved as CSV"),
        (b"PAR1 and nothing", {}, "votes.csv is a damaged Parquet file"),
        (b"\x93NUMPY", {}, "votes.csv is not a whole npy or npz file"),
        *(
            (empty, keywords, r"^votes\.csv is an empty JSON document: .* An object a vote was expected, such as \{")
            for empty in ("[]", "{}", " {\n}\n", "[{}, {}]", "[[]]")
            for keywords in ({}, {"layout": "long"})
        ),
        ("{}\n{}\n", {}, r"^votes\.csv has no columns, and so no votes in it\. Rows with an item and a label were exp"),
        ("a,ann,x\na,bob,y\n", {}, "These are in rows below, too; if they are no names, write a line of names above."),
        ("[1]", {}, "votes.csv is one JSON document of a shape that is not known here"),
        ('{"item":\n', {}, "votes.csv is neither one JSON document nor one JSON object a line"),
        ("item;a,label;b\n1,2\n", {"delimiter": "|"}, "one column only"),
        ("item,ann,bob\na,x,y\nb,x,\na,y,y\n", {}, r"line 4: item 'a' was there before \(votes.csv, line 2\)"),
        ("item,ann,ann\na,x,y\n", {}, "more than one column 'ann'; a column is an annotator"),
        (
            "item,cat,dog\na,1,2\nb,2,1\n",
            {},
            r'two ways, as "wide" \(.*\) or "counts" \(a row an item, a column a class\); say which with layout=\.\.\.',
        ),
        ("item,cat,dog\na,1,2\na,2,1\n", {"layout": "counts"}, "line 3: item 'a' was there before"),
        ("item,cat,dog\na,1,2\n,2,1\n", {"layout": "counts"}, "line 3: the item is missing"),
        (
            "cat,dog\n1,2\n3,-1\n",
            {},
            "votes.csv, line 3, column 'dog' holds -1, but a whole number of votes was expected",
        ),
        ("cat,dog\n1,2\n0.5,1\n", {}, "line 3, column 'cat' holds 0.5, .*Shares cannot be turned back into votes"),
        ("cat,dog\n1,2\n3,NaN\n", {}, "line 3, column 'dog' holds NaN"),
        ("cat,dog\n1,2\n3,\n", {}, "line 3, column 'dog' is empty"),
        ("cat,dog\n1,2\n\n3,x\n", {}, "line 4, column 'dog' holds x"),
        ("cat,cat\n1,2\n", {}, "more than one column 'cat'; a column is a class"),
        ("cat,dog\n1,2\n", {"classes": ["a", "b"]}, "columns cat, dog, but the classes were said to be a, b"),
        (
            "item,annotator,label\na,ann,x\n",
            {"layout": "counts"},
            "column 'annotator' holds ann, but a whole number of votes was expected",
        ),
        ("a,b\n1,2\n", {"layout": "wide"}, "no column 'item' or 'task'"),
        ("item, label\na, x\na, y\n", {}, "votes.csv has a column ' label', with a space where 'label' has none"),
        (
            "item,label\na,cat\nb,?\na,cow\nc,?\na,dog\n",
            {"classes": ["cat", "dog"]},
            r"line 3: the label '\?' is not one of the classes 'cat', 'dog'\. Neither is 'cow'\.",
        ),
    ],
)
def test_files_that_cannot_be_used(write, content, keywords, message):
    with pytest.raises(InputError, match=message) as error:
        read_votes(write(content), **keywords)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"item": 1, "label": "a"}\n{"item": 2,\n', "votes.jsonl, line 2 is not JSON"),
        ('{"item": 1, "label": "a"}\n[1, 2]\n', "votes.jsonl, line 2 is not an object"),
        (
            '{"item": 1, "label": "a"}\n{"item": "1", "label": "b"}\n',
            "line 1: item is 1, but on other lines it is text",
        ),
        (
            '{"item": "a", "label": "a"}\n\n{"item": "b", "label": 5}\n',
            "line 3: label is 5, but on other lines it is text",
        ),
        ('{"item": 1, "label": "a"}\n\n{"item": 2, "label": "z"}\n', "line 3: the label 'z' is not one of the classes"),
        ('{"item": 1, "label": {"a": 1}}\n', "votes.jsonl, line 1: a label must be text or a number"),
        (b'{"item": 1, "label": "\xe9"}\n', "votes.jsonl, line 1 is not UTF-8 text"),
        ('{"id": 1, "label": "a"}\n', "no column 'item' or 'task'"),
    ],
)
def test_json_lines_that_cannot_be_used(write, content, message):
    with pytest.raises(InputError, match=message):
        read_votes(write(content, "votes.jsonl"), classes=["a", "b"])


def test_a_key_of_the_same_name_deeper_down_is_no_mixture(write):
    content = '{"item": "a", "label": "x", "meta": {"item": 5}}\n{"item": "b", "label": "y", "meta": {"item": 6}}\n'
    assert read_votes(write(content, "votes.jsonl")).items.tolist() == ["a", "b"]


@pytest.mark.parametrize("write_to", ["write_ipc", "write_ipc_stream"])
def test_files_of_arrow(tmp_path, write_to):
    path = tmp_path / "votes.arrow"
    frame = pl.DataFrame({"item": ["a", "a", "b"], "annotator": ["p", "q", "p"], "label": ["x", "y", "y"]})
    getattr(frame, write_to)(path)
    assert read_votes(path) == read_votes(frame)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"votes\.arrow is a damaged Arrow file"):
        read_votes(path)


def test_zips_that_hold_no_votes(tmp_path):
    path = tmp_path / "votes.zip"
    for name, message in (
        ("[Content_Types].xml", "votes.zip is a spreadsheet or .*A spreadsheet has to be saved as CSV"),
        ("votes.csv", r"votes.zip is a zip archive, .* It holds votes.csv\. .* unpack it and name the file in it"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, LONG)
        with pytest.raises(InputError, match=message):
            read_votes(path)


def test_a_place_that_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is a directory"):
        read_votes(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_votes(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (np.ones((2, 2)), r"use Votes.from_counts\(counts\)"),
        ([1, 2], "a path or a data frame .* but it was given a list"),
        (pl.DataFrame({"item": [], "label": []}), "the frame has no rows"),
        (pl.DataFrame(), "the frame has no columns, and so no votes in it"),
        (
            pl.DataFrame({"item": [1.5, 2], "label": ["a", "b"]}),
            "the frame, row 0: the item must be a whole number or text",
        ),
        (
            pd.DataFrame({"item": ["a", 5], "label": ["x", "y"]}),
            "item must be of one kind, but position 0 is 'a' and posit",
        ),
        (pl.DataFrame({"item": ["a"], "p": ["x"], "q": [[1]]}), "the votes are not of one kind"),
        (
            pl.DataFrame({"item": [1, 2], "label": [1, 2]}).with_columns(label=pl.date(2020, 1, 1)),
            "must be text or a number",
        ),
    ],
)
def test_frames_that_cannot_be_used(frame, message):
    with pytest.raises(InputError, match=message):
        read_votes(frame)


def test_arrays_that_cannot_be_used(tmp_path):
    path = tmp_path / "votes.npz"
    for arrays, message in (
        ({"a": [[1]], "b": [[1]]}, "votes.npz must hold an array 'counts', but its arrays are a, b"),
        ({"counts": [[1, -1]]}, "votes.npz: counts must not be negative, but row 0, column 1 holds -1"),
        ({"counts": [[1, np.nan]]}, "votes.npz: .* row 0, column 1 holds nan"),
        ({"counts": [1, 2]}, "votes.npz: counts must have the shape"),
        ({"counts": np.array([None])}, "votes.npz is not a whole npy or npz file of numbers"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            read_votes(path)


def test_two_delimiters_that_fit(write):
    with pytest.raises(InputError, match="can be cut at '\\\\t' or ';'; say which with delimiter="):
        read_votes(write("item\tx;label\na\tb;c\n", "votes.txt"))


def test_every_reader_says_its_shape():
    assert all(reader.shape for reader in READERS.values())


def test_a_column_may_be_asked_for_in_two_roles():
    assert read_votes(pl.DataFrame({"what": ["a", "b"]}), item="what", label="what").counts().tolist() == [
        [1, 0],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("content", "layout"),
    [(LONG, "mturk"), (LONG, "saved"), (LONG, "nested"), ('[{"a": {}}]', "long"), ('{"a": {"b": 1}}', "label-studio")],
)
def test_a_layout_that_a_file_cannot_have(write, content, layout):
    with pytest.raises(InputError, match=f'votes.csv cannot be read as "{layout}" \\('):
        read_votes(write(content), layout=layout)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"delimiter": ""}, "a delimiter is one character, but '' was given"),
        ({"delimiter": ";;"}, "a delimiter is one character, but ';;' was given"),
        ({"separator": ""}, "between the labels of one vote, but an empty one was given"),
        ({"annotators": []}, "annotators are names of columns, but none was given"),
    ],
)
def test_what_cuts_and_what_names_nothing(write, keywords, message):
    with pytest.raises(InputError, match=message):
        read_votes(write("item,annotator,label\na,p,x\na,q,y\n"), **keywords)


def test_what_stands_beside_votes_may_be_of_any_kind(write):
    rows = [{"item": "a", "label": "x", "age": 31, "more": [1, "b"]}, {"item": "a", "label": "y", "age": "unknown"}]
    expected = Votes.from_records(items=["a", "a"], labels=["x", "y"])
    for source in (write(json.dumps(rows), "votes.json"), pd.DataFrame(rows)):
        assert read_votes(source) == expected
        with pytest.raises(
            InputError, match=r"age must be of one kind, but position 0 is 31 and position 1 is 'unknown'"
        ):
            read_votes(source, label="age")


def test_a_list_of_flat_objects_is_a_table(write):
    rows = [{"item": "a", "annotator": 1, "label": "x"}, {"item": "a", "annotator": 2, "label": "y"}]
    path = write(json.dumps(rows), "votes.json")
    expected = Votes.from_records(items=["a", "a"], annotators=[1, 2], labels=["x", "y"])
    assert read_votes(path) == expected
    assert read_votes(path, layout="long") == expected
    several = write(json.dumps([{"item": "a", "label": ["x", "y"]}, {"item": "a", "label": ["y"]}]), "several.json")
    assert read_votes(several).counts().tolist() == [[1, 2]]
    with pytest.raises(InputError, match=r"^gap.json, row 1: the item is missing"):
        read_votes(write(json.dumps([rows[0], {"annotator": 1, "label": "x"}]), "gap.json"))
    with pytest.raises(
        InputError, match=r"^mixed.json: label must be of one kind, but position 0 is 'x' and position 1"
    ):
        read_votes(write(json.dumps([rows[0], {"item": "b", "annotator": 1, "label": 3}]), "mixed.json"))
    with pytest.raises(InputError, match=r"is one JSON document of a shape that is not known"):
        read_votes(write(json.dumps([{"item": "a", "label": {"ann": "x"}}]), "deep.json"))


FRAME = pd.DataFrame({"item": ["a", "b"], "annotator": ["ann", "ann"], "label": ["x", "y"]})
RECORDS = r"an object a row was expected\. .*have it write records: to_dict\(\"records\"\), or to_json\("


@pytest.mark.parametrize("layout", [None, "long", "lists"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_frame_written_by_its_columns_is_told_how_to_be_written(write, layout, indent):
    """In one line it was taken for a row whose cells are lists, and asked whether it is "long" or "lists"."""
    path = write(json.dumps(FRAME.to_dict("list"), indent=indent), "votes.json")
    lists = rf"^votes\.json is one JSON object of lists \(item, annotator, label\), but {RECORDS}.* is \"lists\"\.$"
    with pytest.raises(InputError, match=lists):
        read_votes(path, layout=layout)
    path.write_text(FRAME.to_json(orient="split", indent=indent))
    with pytest.raises(InputError, match=rf"object of lists \(columns, index, data\), but {RECORDS}"):
        read_votes(path, layout=layout)
    path.write_text(FRAME.to_json(orient="records", indent=indent))
    if layout != "lists":
        assert read_votes(path, layout=layout) == read_votes(FRAME)


def test_columns_that_pandas_writes_are_no_items(write):
    """Its to_json alone was read as {item: {annotator: label}}, with the columns for items and the rows for people."""
    path = write(FRAME.to_json(), "votes.json")
    told = rf"with an object for each of item, annotator, label, all with the same keys: columns, .*{RECORDS}"
    with pytest.raises(InputError, match=rf"{told}.* say so with layout=\"nested\"$"):
        read_votes(path)
    with pytest.raises(InputError, match=told):
        read_votes(path, layout="long")
    assert read_votes(path, layout="nested").items.tolist() == ["item", "annotator", "label"]
    path = write('{"item": {"ann": "x"}, "b": {"ann": "y", "bob": "x"}}', "votes.json")
    assert read_votes(path).items.tolist() == ["item", "b"]  # other keys: annotators


def test_an_object_of_lists_may_be_one_of_items(write):
    with pytest.raises(
        InputError, match=r"object of lists \(a, b\).* If a list holds all votes on an item, write an obj"
    ):
        read_votes(write('{"a": ["x", "y"], "b": ["y"]}', "votes.json"))
