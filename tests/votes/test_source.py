"""Files of text as other programs write them."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus import read_votes
from dissensus.base.errors import InputError
from dissensus.datasets import own_data, own_items
from dissensus.votes import Votes

PLAIN = "item;annotator;label\na;p;x\na;q;y\n"
FIRST = {
    "plain": "sep=;\n",
    "of Windows": "\ufeffsep=;\r\n",
    "in quotes": '"sep=;"\n',
    "capitals": "SEP=;\n",
}


@pytest.mark.parametrize("first", FIRST)
def test_a_first_line_to_excel_says_what_stands_between_columns_and_is_no_row(write, first):
    rows = PLAIN.replace("\n", "\r\n") if first == "of Windows" else PLAIN
    votes = read_votes(write(FIRST[first] + rows))
    assert votes == read_votes(write(PLAIN, "plain.csv"))
    with pytest.raises(InputError, match=r"votes\.csv, line 4: the label 'y' is not one of the classes 'x', 'z'"):
        read_votes(write(FIRST[first] + rows), classes=["x", "z"])
    with pytest.raises(InputError, match=r"votes\.csv, line 5 has 2 cells, but the header has 3 "):
        read_votes(write(FIRST[first] + rows + "b;p\n"))


def test_it_may_name_what_no_header_would_be_cut_at(write):
    assert read_votes(write("sep=~\nitem~label\na~x\na~y\n")).n_votes == 2
    assert read_votes(write("sep=\t\nitem\tlabel\na\tx;z\na\ty\n", "votes.tsv")).classes == ("x;z", "y")
    assert read_votes(write("sep=;\nitem,label\na,x\na,y\n"), delimiter=",").n_votes == 2


def test_tables_of_whole_numbers_texts_and_features_may_begin_with_it(write):
    assert read_votes(write("sep=;\nitem;label\n7;1\n7;2\n")).items.tolist() == [7]
    votes = Votes.from_counts([[2, 1], [0, 3]], items=["a", "b"])
    texts = write("sep=;\nid;text\na;so, it is\nb;no\n", "texts.csv")
    assert own_data(votes, texts=texts).inputs.first == ("so, it is", "no")
    ids, features = own_items(write("sep=;\nid;x\na;0,5\nb;1,5\n", "x.csv"))
    assert ids == ["a", "b"]
    np.testing.assert_array_equal(features, [[0.5], [1.5]])


def test_a_file_of_nothing_else_is_refused(write):
    with pytest.raises(InputError, match="holds nothing but a line on what stands between columns"):
        read_votes(write("sep=;\n"))
    with pytest.raises(InputError, match="has a header"):
        read_votes(write("sep=;\nitem;label\n"))


@pytest.mark.parametrize(("first", "line"), [("", 1), ("sep=;\n", 2)])
def test_a_blank_line_where_the_header_would_be_is_named(write, first, line):
    with pytest.raises(InputError, match=rf"votes\.csv, line {line} is blank, where the names of the columns would be"):
        read_votes(write(f"{first}\nitem;label\na;x\n"))
