from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import Votes, read_votes

LONG = "item,annotator,label\ncat1,ann,cat\ndog1,ann,dog\ncat1,bob,dog\n"
EXPECTED = Votes.from_records(
    items=["cat1", "dog1", "cat1"], labels=["cat", "dog", "dog"], annotators=["ann", "ann", "bob"]
)


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


@pytest.mark.parametrize("gap", ["ann,cat\ndog1,ann", ",cat\ndog1,ann", ",cat\ndog1,"])
def test_anonymous_votes_are_read_whether_or_not_annotators_are_missing(write, gap):
    content = f"item,annotator,label\ncat1,{gap},dog\ncat1,bob,dog\n"
    votes = read_votes(write(content), anonymous=True)
    assert votes == read_votes(write("item,label\ncat1,cat\ndog1,dog\ncat1,dog\n", "unsigned.csv"))
    assert (votes.annotators, votes.annotator_names) == (None, None)


def test_missing_annotators_of_a_frame_are_counted_and_may_be_left_out():
    frame = _frame().with_columns(annotator=pl.Series(["ann", None, None]))
    with pytest.raises(InputError, match=r"the annotator is missing \(as of 2 votes\)\. .* with anonymous=True$"):
        read_votes(frame)
    assert read_votes(frame, anonymous=True) == read_votes(_frame().drop("annotator"))


def test_a_column_without_any_annotator_says_that_they_are_unknown(write):
    votes = read_votes(write("item,annotator,label\na,,x\na,,y\nb,,y\n"))
    assert votes == read_votes(write("item,label\na,x\na,y\nb,y\n", "unsigned.csv"))


@pytest.mark.parametrize("lines", ['"annotator": ""', '"annotator": null'])
def test_an_empty_text_is_no_annotator(write, lines):
    rows = [f'{{"item": 1, "label": "{label}", {lines}}}\n' for label in ("x", "y")]
    path = write('{"item": 1, "label": "x", "annotator": "ann"}\n' + "".join(rows), "votes.jsonl")
    with pytest.raises(InputError, match=r"votes.jsonl, line 2: the annotator is missing \(as of 2 votes\)"):
        read_votes(path)
    assert read_votes(path, anonymous=True).counts().tolist() == [[2, 1]]


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


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(
    ("odd", "expected"), [("8", 8), ("008", "008"), ("+8", "+8"), ("-0", "-0"), ("x", "x"), ("8.5", "8.5"), ('"8"', 8)]
)
def test_a_file_of_numbers_with_something_odd_late_in_it(write, odd, expected, end):
    rows = "".join(f"{item},{item % 2}\n" for item in range(10, 2010))
    votes = read_votes(write(f"item,label\n{rows}{odd},1{end}"))
    assert votes.items[-1] == expected
    assert votes.items[0] == (10 if isinstance(expected, int) else "10")
    assert votes.counts().sum(0).tolist() == [1000, 1001]


def test_a_file_of_numbers_with_gaps_and_blank_lines(write):
    rows = "".join(f"{item},{item % 2}\n" for item in range(2000))
    votes = read_votes(write(f"item,label\n{rows}\n2000,\n"))
    assert (votes.n_items, votes.n_votes) == (2001, 2000)
    with pytest.raises(InputError, match="line 2002 has 1 cell"):
        read_votes(write(f"item,label\n{rows}2000\n"))
    with pytest.raises(InputError, match="line 2002 has 3 cells"):
        read_votes(write(f"item,label\n{rows}2000,1,1\n"))


def test_a_file_of_numbers_can_be_text_if_classes_are(write):
    path = write("item,label\n1,10\n2,9\n")
    assert read_votes(path, classes=["9", "10"]).counts().tolist() == [[0, 1], [1, 0]]
    assert read_votes(path, separator="|").multilabel


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
        "1 vote is by an annotator who had voted on the item before: 1 says something else "
        "(first: 'p' on 'a'); all are kept.",
        "1 item has no votes (first: 'c').",
    )
    assert votes.counts().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert votes.n_annotators == 2


def test_line_numbers_know_cells_of_several_lines(write):
    content = 'item,note,label\na,"one\ntwo\nthree",x\n\nb,,y\nc,,z\n'
    with pytest.raises(InputError, match=r"votes.csv, line 7: the label 'z' is not one of the classes 'x', 'y'"):
        read_votes(write(content), classes=["x", "y"])


def test_separator_needs_text():
    with pytest.raises(InputError, match=r"separator='\|' cuts labels of text, but these are of type Int64"):
        read_votes(pl.DataFrame({"item": [1], "label": [1]}), separator="|")


def test_an_arrow_batch():
    assert read_votes(pa.record_batch(_frame().to_dict(as_series=False))) == EXPECTED


def test_nan_among_numbers_is_no_vote(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,label\na,1\na,nan\nb,2\n")
    votes = read_votes(file)
    assert votes.classes == (1, 2)
    assert votes.n_votes == 2
    assert votes.notes == ("1 row has no label and is no vote (first: votes.csv, line 3).",)


def test_headers_as_spreadsheets_write_them(write):
    plain = read_votes(write("item,annotator,label\na,p,x\na,q,y\nb,q,y\n"))
    assert read_votes(write("Item,ANNOTATOR,Label\na,p,x\na,q,y\nb,q,y\n")) == plain
    assert read_votes(write("Task|Worker|Label\na|p|x\na|q|y\nb|q|y\n")) == plain
    both = read_votes(write("item,Item,annotator,label\na,1,p,x\na,2,q,y\nb,3,q,y\n"))
    assert both == plain
    with pytest.raises(InputError, match="has the columns 'Item' and 'Task'; say which is the item with item="):
        read_votes(write("Item,Task,Label\na,1,x\na,2,y\n"))
    with pytest.raises(InputError, match="has a column 'Label ', with a space"):
        read_votes(write("Item,Label \na,x\na,y\n"))


@pytest.mark.parametrize("blank", ["", " ", "   ", "\u00a0", "\u3000 "])
def test_a_label_of_blanks_is_an_empty_cell(write, blank):
    votes = read_votes(write(f"item,annotator,label\na,ann,x\na,bob,{blank}\nb,ann,y\n"))
    assert (votes.classes, votes.counts().tolist()) == (("x", "y"), [[1, 0], [0, 1]])
    assert votes.notes == ("1 row has no label and is no vote (first: votes.csv, line 3).",)
    assert read_votes(write(f"item,label\na,1\na,{blank}\nb,2\n")).classes == (1, 2)
    assert read_votes(write(f"item,label\na,x|y\na,{blank}\nb,y\n"), separator="|").n_votes == 2
    frame = pl.DataFrame({"item": ["a", "a", "b"], "label": ["x", blank, "y"]})
    assert read_votes(frame).n_votes == 2
    assert Votes.from_records(items=["a", "a"], labels=[["x", blank], ["y"]]).classes == ("x", "y")
