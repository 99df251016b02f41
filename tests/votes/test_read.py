from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import READERS, Votes, read_votes

LONG = "item,annotator,label\ncat1,ann,cat\ndog1,ann,dog\ncat1,bob,dog\n"
EXPECTED = Votes.from_records(
    items=["cat1", "dog1", "cat1"], labels=["cat", "dog", "dog"], annotators=["ann", "ann", "bob"]
)


@pytest.fixture
def write(tmp_path):
    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# -- long tables


@pytest.mark.parametrize(
    "content",
    [
        LONG,
        "\ufeff" + LONG,
        LONG.replace("\n", "\r\n"),
        LONG.replace(",", ";"),
        LONG.replace("item", "task").replace("annotator", "worker"),
        LONG.replace("\n", "\n\n") + "\n\n",
        LONG.rstrip("\n"),
        'label,comment,item,annotator\ncat,,cat1,ann\ndog,"a, b",dog1,ann\ndog,,cat1,bob\n',
    ],
)
def test_a_long_table_of_text(write, content):
    votes = read_votes(write(content))
    assert votes == EXPECTED
    assert votes.notes == ()


def test_a_table_of_tabs_is_seen_by_its_content(write):
    assert read_votes(write(LONG.replace(",", "\t"), "votes.txt")) == EXPECTED


def test_columns_named_by_keyword(write):
    content = "who,what,said,other\nann,cat1,cat,1\nann,dog1,dog,2\nbob,cat1,dog,3\n"
    assert read_votes(write(content), item="what", annotator="who", label="said") == EXPECTED


def test_annotators_may_be_unknown(write):
    assert read_votes(write("item,label\na,x\nb,y\n")).annotators is None


def _frame():
    return pl.DataFrame(
        {"item": ["cat1", "dog1", "cat1"], "annotator": ["ann", "ann", "bob"], "label": ["cat", "dog", "dog"]}
    )


@pytest.mark.parametrize(
    "frame",
    [
        _frame(),
        _frame().lazy(),
        _frame().with_columns(pl.col("label").cast(pl.Categorical), pl.col("item").cast(pl.Categorical)),
        _frame().to_arrow(),
        pd.DataFrame(_frame().to_dict(as_series=False)),
        pd.DataFrame(_frame().to_dict(as_series=False), dtype="category"),
        pd.DataFrame(_frame().to_dict(as_series=False), index=[7, 7, 7]),
    ],
    ids=["polars", "lazy", "categories", "arrow", "pandas", "pandas-categories", "pandas-index"],
)
def test_data_frames(frame):
    assert read_votes(frame) == EXPECTED


def test_pandas_without_pyarrow():
    """Its Arrow interface fails then, and columns are taken one by one."""

    class Alone(pd.DataFrame):
        def __arrow_c_stream__(self, requested_schema=None):
            raise ImportError("no pyarrow")

    frame = Alone({"item": [1, 2, 1], "label": ["a", None, "b"], "annotator": ["p", "q", "q"]})
    votes = read_votes(frame)
    assert votes == Votes.from_records(items=[1, 2, 1], labels=["a", None, "b"], annotators=["p", "q", "q"])


def test_json_lines_and_parquet(write, tmp_path):
    lines = "".join(json.dumps(row) + "\n" for row in _frame().to_dicts())
    assert read_votes(write(lines, "votes.jsonl")) == EXPECTED
    _frame().write_parquet(tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet") == EXPECTED
    # the content counts, not the name
    assert read_votes((tmp_path / "votes.parquet").rename(tmp_path / "votes.csv")) == EXPECTED


def test_pandas_and_pyarrow_are_not_imported(write):
    code = (
        "import sys; from dissensus import read_votes; read_votes(sys.argv[1]);"
        "sys.exit(any(name in sys.modules for name in ('pandas', 'pyarrow', 'torch', 'scipy.stats')))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(write(LONG))], check=False).returncode == 0


def test_ids_are_numbers_only_if_that_loses_nothing(write):
    assert read_votes(write("item,label\n7,x\n-10,y\n")).items.tolist() == [7, -10]
    for odd in ("007", "+7", "7.0", "-0", "99999999999999999999", "7a", " 7"):
        items = read_votes(write(f"item,label\n7,x\n{odd},y\n")).items.tolist()
        assert items == ["7", odd]


def test_labels_are_numbers_if_all_are(write):
    assert read_votes(write("item,label\na,10\nb,9\n")).classes == (9, 10)
    assert read_votes(write("item,label\na,1.0\nb,2.0\n")).classes == (1, 2)
    assert read_votes(write("item,label\na,1.5\nb,-2\n")).classes == (-2, 1.5)
    assert read_votes(write("item,label\na,10\nb,9\nc,x\n")).classes == ("10", "9", "x")
    assert read_votes(write("item,label\na,1.0\nb,2.0\n"), classes=[1, 2, 3]).classes == (1, 2, 3)
    assert read_votes(write("item,label\na,1\nb,2\n"), classes=["1", "2"]).classes == ("1", "2")


def test_classes_and_their_order_are_given(write):
    votes = read_votes(write(LONG), classes=["eel", "dog", "cat"], ordered=True)
    assert votes.classes == ("eel", "dog", "cat")
    assert votes.ordered
    assert votes.counts().tolist() == [[0, 1, 1], [0, 1, 0]]


def test_several_labels_in_a_cell(write):
    expected = Votes.from_records(items=["a", "b", "b"], labels=[["x", "y"], ["y"], ["x"]])
    assert read_votes(write("item,label\na,x|y\nb,y\nb,x\n"), separator="|") == expected
    lines = '{"item": "a", "label": ["x", "y"]}\n{"item": "b", "label": ["y"]}\n{"item": "b", "label": ["x"]}\n'
    assert read_votes(write(lines, "votes.jsonl")) == expected
    assert read_votes(pd.DataFrame({"item": ["a", "b", "b"], "label": [["x", "y"], ["y"], ["x"]]})) == expected
    numbers = read_votes(write("item,label\na,10|9\nb,9\n"), separator="|")
    assert numbers.classes == (9, 10)
    assert numbers.counts().tolist() == [[1, 1], [1, 0]]
    named = read_votes(write("item,label\na,10|9\nb,\n"), separator="|", classes=["9", "10"])
    assert named.counts().tolist() == [[1, 1], [0, 0]]


def test_what_is_odd_is_said(write):
    content = "item,annotator,label\na,p,x\na,p,y\na,q,\nb,q,y\nb,,\nc,p,\n"
    votes = read_votes(write(content))
    assert votes.notes == (
        "2 rows have no label and are no votes (first: votes.csv, line 4).",
        "1 votes are by an annotator who had voted on the item before; all are kept.",
        "1 items have no votes (first: 'c').",
    )
    assert votes.counts().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert votes.n_annotators == 2


def test_line_numbers_know_cells_of_several_lines(write):
    content = 'item,note,label\na,"one\ntwo\nthree",x\n\nb,,y\nc,,z\n'
    with pytest.raises(InputError, match=r"votes.csv, line 7: the label 'z' is not one of the classes 'x', 'y'"):
        read_votes(write(content), classes=["x", "y"])


# -- wide tables


def test_a_wide_table(write):
    votes = read_votes(write("item,ann,bob,eve\na,yes,,no\nb,no,no,no\nc,,,\n"))
    expected = Votes.from_records(
        items=["a", "a", "b", "b", "b", "c"],
        labels=["yes", "no", "no", "no", "no", None],
        annotators=["ann", "eve", "ann", "bob", "eve", None],
    )
    assert votes == expected
    assert votes.notes == ("1 items have no votes (first: 'c').",)


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


# -- counts


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
    assert read_votes(tmp_path / "one.npz", classes=["x", "y"]).notes == ("1 items have no votes (first: 1).",)


def test_saved_votes_are_read_too(tmp_path):
    EXPECTED.save(tmp_path / "votes.npz")
    assert read_votes(tmp_path / "votes.npz") == EXPECTED


# -- bad input: what, where, what to do


@pytest.mark.parametrize(
    ("content", "keywords", "message"),
    [
        (b"", {}, "votes.csv is empty"),
        (" \n\n", {}, "votes.csv holds nothing but blanks"),
        ("item,label\n", {}, r"votes.csv has a header \(item, label\) but no rows"),
        ("item\na\n", {}, "votes.csv has one column only, 'item'"),
        ("a,b,c\nx,y,z\n", {}, "no layout of votes that is known here. Its columns are a, b, c. If a row is a vote"),
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
        ("item,label\na,x\nb\n", {}, r"votes.csv, line 3 has 1 cells, but the header has 2 \(item, label\)"),
        ("item,label\na,x\nb,y,z\n", {}, r"votes.csv, line 3 has 3 cells, but the header has 2"),
        ('item,label\na,x\n"b,y\nc,z\n', {}, "votes.csv, line 3: a quoted cell is not closed"),
        ("item,label\na,x\n,y\n", {}, "votes.csv, line 3: the item is missing"),
        (
            "item,annotator,label\na,p,x\nb,,y\n",
            {},
            "votes.csv, line 3: the annotator is missing. Fill it in, or leave",
        ),
        ("item,label\na,x\nb,x\n", {}, "votes.csv: at least two classes are needed, but the only class is 'x'"),
        ("item,label\na,\nb,\n", {}, "there are no votes, since no row has a label"),
        (
            LONG,
            {"classes": ["cat", "eel"]},
            "votes.csv, line 3: the label 'dog' is not one of the classes 'cat', 'eel'",
        ),
        (LONG, {"classes": ["cat", "cat"]}, "classes must differ, but 'cat' occurs more than once"),
        ("item,label\na,caf\xe9\nb,y\n".encode("latin-1"), {}, "votes.csv, line 2 is not UTF-8 text: byte 6 .* 0xe9"),
        ("it\xe9m,label\na,x\n".encode("latin-1"), {}, "votes.csv, line 1 is not UTF-8 text"),
        (LONG.encode("utf-16"), {}, "votes.csv is UTF-16 text; save it as UTF-8"),
        (gzip.compress(LONG.encode()), {}, "votes.csv is compressed; unpack it first"),
        (b"\x7fELF\x00\x01\x02", {}, "votes.csv is a binary file of a kind that is not known here"),
        (b"PK\x03\x04 a spreadsheet", {}, "A spreadsheet has to be saved as CSV"),
        (b"PAR1 and nothing", {}, "votes.csv is a damaged Parquet file"),
        (b"\x93NUMPY", {}, "votes.csv is not a whole npy or npz file"),
        ('[{"item": 1}]', {}, "votes.csv is one JSON list; write one object a line"),
        ("item;a,label;b\n1,2\n", {"delimiter": "|"}, "one column only"),
        ("item,ann,bob\na,x,y\nb,x,\na,y,y\n", {}, r"line 4: item 'a' was there before \(votes.csv, line 2\)"),
        ("item,ann,ann\na,x,y\n", {}, "more than one column 'ann'; a column is an annotator"),
        (
            "item,cat,dog\na,1,2\nb,2,1\n",
            {},
            'two ways; say which: layout="wide" .*, or layout="counts" \\(a row an item',
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


def test_separator_needs_text():
    with pytest.raises(InputError, match=r"separator='\|' cuts labels of text, but these are of type Int64"):
        read_votes(pl.DataFrame({"item": [1], "label": [1]}), separator="|")


def test_an_arrow_batch():
    assert read_votes(pa.record_batch(_frame().to_dict(as_series=False))) == EXPECTED
