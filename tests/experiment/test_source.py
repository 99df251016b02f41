from __future__ import annotations

import re

import numpy as np
import pytest
from pydantic import ValidationError

from dissensus.experiment import Source


def test_a_named_set_with_options():
    assert Source(name="glyphs", options={"items": 30, "seed": 1}).load().votes.n_items == 30


def test_two_files_with_the_options_of_their_readers(tmp_path):
    (tmp_path / "labels.csv").write_text("task,who,said\nx,ann,3\nx,bob,1\ny,ann,2\nz,bob,2\n")
    np.savez(tmp_path / "inputs.npz", inputs=np.eye(3, dtype=np.float32), ids=["x", "y", "z"])
    options = {"item": "task", "annotator": "who", "label": "said", "classes": [1, 2, 3], "ordered": True}
    source = Source(votes="labels.csv", inputs="inputs.npz", options=options)
    data = source.beside(tmp_path).load()
    assert data.votes.ordered
    assert data.votes.classes == (1, 2, 3)
    assert data.votes.counts().tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]


def test_votes_without_an_input_are_left_out_by_an_option(tmp_path):
    (tmp_path / "labels.csv").write_text("item,label\nx,no\nx,yes\ny,no\nz,no\n")
    np.savez(tmp_path / "inputs.npz", inputs=np.eye(2, dtype=np.float32), ids=["x", "y"])
    source = Source(votes="labels.csv", inputs="inputs.npz", options={"others": "drop"}).beside(tmp_path)
    assert source.load().votes.items.tolist() == ["x", "y"]


def test_absolute_paths_stay(source, tmp_path):
    assert source.beside(tmp_path) == source


def test_official_sets_without_votes_are_told_from_unknown_ones():
    with pytest.raises(ValidationError, match="svhn has no votes to train on"):
        Source(name="svhn")
    with pytest.raises(ValidationError, match="unknown data set 'svnh'"):
        Source(name="svnh")
    with pytest.raises(ValidationError):
        Source(name=["svhn"])


def test_an_unknown_option_of_files():
    with pytest.raises(ValidationError, match="unknown option of files 'lable'; did you mean 'label'"):
        Source(votes="a", inputs="b", options={"lable": "said"})


def test_votes_with_texts_beside_the_file(tmp_path):
    (tmp_path / "labels.csv").write_text("item,label\nx,no\nx,yes\ny,no\n")
    (tmp_path / "texts.csv").write_text("pid,text\ny,second\nx,first\n")
    source = Source(votes="labels.csv", texts="texts.csv", options={"ids": "pid"}).beside(tmp_path)
    assert source.load().inputs.first == ("first", "second")
    assert source.texts == str(tmp_path / "texts.csv")


@pytest.mark.parametrize(
    "given",
    [
        {"votes": "a"},
        {"texts": "a"},
        {"votes": "a", "inputs": "b", "texts": "c"},
        {"name": "glyphs", "texts": "a"},
        {},
    ],
)
def test_a_name_or_two_files(given):
    with pytest.raises(ValidationError, match="or two files: votes and inputs, or votes and texts"):
        Source(**given)


def test_the_file_of_texts_is_no_option():
    with pytest.raises(ValidationError, match="unknown option of files 'texts'"):
        Source(votes="a", texts="b", options={"texts": "c"})


def test_votes_of_a_named_set_are_an_option():
    assert Source(name="chaosnli-snli", options={"votes": "original"}).options == {"votes": "original"}


WRONG_KINDS = {
    "size": (16, "two whole numbers, such as [32, 32], but is 16"),
    "ordered": ("False", "true or false, but is 'False'"),
    "anonymous": (1, "true or false, but is 1"),
    "classes": ("a,b", """a list, such as ["a", "b"], but is 'a,b'"""),
    "rename": (["a", "b"], 'a table, such as {"a" = "b"}, but is'),
    "annotators": ("ann", """a list, such as ["a", "b"], but is 'ann'"""),
    "label": (3, """a text, but is 3. As a text it is label='"3"'"""),
    "delimiter": (True, "a text, but is True"),
}


@pytest.mark.parametrize("option", WRONG_KINDS)
def test_an_option_of_another_kind_is_told_before_anything_is_read(option):
    given, told = WRONG_KINDS[option]
    with pytest.raises(ValueError, match=re.escape(f"option {option} must be {told}")):
        Source(votes="a", inputs="b", options={option: given})


def test_an_option_of_a_named_set_has_a_kind_too():
    with pytest.raises(ValueError, match="option items must be a whole number, but is 'many'"):
        Source(name="glyphs", options={"items": "many"})
    assert Source(votes="a", inputs="b", options={"size": [32, 32], "classes": [1, "b"], "ordered": True}).options
