from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.base.errors import InputError
from dissensus.votes import Votes, build, read_votes
from dissensus.votes.build import Grouped, numbered, without_blanks

COLUMNS = st.one_of(
    st.lists(st.integers(-5, 5), max_size=30),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30),
    st.lists(st.integers(-120, 120), max_size=30).map(lambda values: pl.Series(values, dtype=pl.Int8)),
    st.lists(st.integers(2**63, 2**64 - 1), max_size=30).map(lambda values: pl.Series(values, dtype=pl.UInt64)),
    st.lists(st.sampled_from("abcdef"), max_size=30),
    st.lists(st.floats(allow_nan=False), max_size=30),
)


@settings(deadline=None)
@given(COLUMNS)
def test_groups_are_those_of_a_dictionary(values):
    column = values if isinstance(values, pl.Series) else pl.Series(values)
    groups: dict = {}
    for row, value in enumerate(column):
        groups.setdefault(value, []).append(row)
    found = Grouped.of(column)
    assert found.order.tolist() == [row for rows in groups.values() for row in rows]
    assert found.sizes.tolist() == [len(rows) for rows in groups.values()]
    assert found.first.tolist() == [rows[0] for rows in groups.values()]


@settings(deadline=None)
@given(COLUMNS, st.integers(0, 3))
def test_numbers_are_those_of_a_dictionary(values, gaps):
    column = values if isinstance(values, pl.Series) else pl.Series(values)
    column = pl.concat([column, pl.Series([None] * gaps, dtype=column.dtype)])
    codes, found = numbered(column)
    names = [*found.to_list(), None]
    assert len(set(names)) == len(names)
    assert [names[code] for code in codes] == column.to_list()
    assert found.dtype == column.dtype


def test_hashes_that_share_their_leading_bits_are_told_apart(monkeypatch):
    """Positions take the low bits of the hashes; here nearly all of them, so that the second hash has to decide."""
    rng = np.random.default_rng(0)
    column = pl.Series(rng.integers(0, 300, 5000).astype(str))
    expected = Grouped.of(column)
    packed = build._sorted_with_position

    def coarse(keys):
        return packed(keys >> np.uint64(60))

    monkeypatch.setattr(build, "_sorted_with_position", coarse)
    found = Grouped.of(column)
    np.testing.assert_array_equal(found.order, expected.order)
    np.testing.assert_array_equal(found.sizes, expected.sizes)


@given(st.lists(st.integers(0, 2**40), max_size=50))
def test_sorting_with_the_position_is_stable(keys):
    keys = np.array(keys, np.int64)
    np.testing.assert_array_equal(build._sorted_with_position(keys)[0], np.argsort(keys, kind="stable"))


def test_nan_among_texts_is_no_vote():
    """As a column of a pandas frame has it."""
    votes = Votes.from_records(items=["a", "a", "b"], labels=["x", float("nan"), "y"], annotators=["p", "q", "p"])
    assert votes.n_votes == 2
    assert votes.classes == ("x", "y")
    with pytest.raises(InputError, match="position 1: the item is missing"):
        Votes.from_records(items=["a", float("nan")], labels=["x", "y"])


ITEMS, LABELS, WHO = [3, 1, 3, 1], ["b", "a", None, "b"], ["x", "y", "x", "y"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series,
        lambda values: pd.Series(values, index=[7] * len(values)),
        lambda values: pd.Series(values, dtype=object),
        lambda values: pd.Series(values, dtype="category"),
        lambda values: pd.Series(pd.array(values)),  # with pd.NA
        pl.Series,
        pa.array,
        lambda values: pa.chunked_array([values[:1], values[1:]]),
    ],
    ids=["pandas", "index", "objects", "categories", "pandas-NA", "polars", "arrow", "chunks"],
)
def test_columns_of_frames_are_those_of_lists(column):
    found = Votes.from_records(items=column(ITEMS), labels=column(LABELS), annotators=column(WHO))
    listed = Votes.from_records(items=ITEMS, labels=LABELS, annotators=WHO)
    assert (found, found.notes) == (listed, listed.notes)


def test_tensors_are_columns_too():
    found = Votes.from_records(items=torch.tensor(ITEMS), labels=torch.tensor([1.0, 0.0, 2.0, 1.0], requires_grad=True))
    assert found == Votes.from_records(items=ITEMS, labels=[1, 0, 2, 1])


def test_sets_in_a_column_of_pandas_stay_sets():
    labels = [{"a"}, {"a", "b"}, set(), {"b"}]
    found = Votes.from_records(items=pd.Series(ITEMS), labels=pd.Series(labels))
    assert found.multilabel
    assert found == Votes.from_records(items=ITEMS, labels=labels)


def test_a_column_of_pandas_is_taken_at_once(monkeypatch):
    """Value by value it takes ten times as long: 8 s for two million votes with texts for ids."""
    monkeypatch.setattr(pd.Series, "__iter__", lambda self: pytest.fail("one by one"))
    monkeypatch.setattr(pd.Series, "tolist", lambda self: pytest.fail("one by one"))
    assert Votes.from_records(items=pd.Series(ITEMS), labels=pd.Series(LABELS)).n_votes == 3


def test_a_column_of_two_kinds_is_told_of():
    with pytest.raises(InputError, match="labels must be of one kind, but position 0 is 'a' and position 1 is 1"):
        Votes.from_records(items=[1, 2], labels=pd.Series(["a", 1]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_no_column(frame):
    with pytest.raises(InputError, match=r"items must have the shape \(votes,\), but its shape is \(4, 1\)"):
        Votes.from_records(items=frame({"item": ITEMS}), labels=LABELS)


# -- blanks: looked for where they may be, and among different values, since to strip millions of texts takes long


def test_every_space_of_unicode_is_blank_and_nothing_else_is():
    every = pl.Series([chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000])
    blank = every.str.strip_chars() == ""
    assert blank.sum() == 25
    assert (without_blanks(every).is_null() == blank).all()
    spaces = [*every.filter(blank), "", " \u3000\t"]
    votes = Votes.from_records(items=[*range(len(spaces)), 0, 0], labels=[*spaces, "x", "y"])
    assert (votes.n_votes, votes.classes) == (2, ("x", "y"))


@pytest.mark.parametrize("blank", ["", "  ", "\u00a0"])
def test_a_blank_among_annotators_is_nobody(blank):
    shared = {"items": ["a", "a", "b"], "labels": ["x", "y", "y"]}
    with pytest.raises(InputError, match="position 1: the annotator is missing"):
        Votes.from_records(**shared, annotators=["ann", blank, "bob"])
    assert Votes.from_records(**shared, annotators=[blank, None, blank]).annotators is None
    unvoted = Votes.from_records(items=["a", "a", "b"], labels=["x", blank, "y"], annotators=["ann", blank, "bob"])
    assert unvoted.annotator_names.tolist() == ["ann", "bob"]


@pytest.mark.parametrize("blanks", [1, 2000])
def test_numbers_among_blanks_are_numbers(blanks, tmp_path):
    """Also where the first thousand labels are nothing but blanks."""
    path = tmp_path / "votes.csv"
    path.write_text("item,label\n" + "".join(f"{i}, \n" for i in range(blanks)) + "a,1.0\nb,2\n")
    assert read_votes(path).classes == (1, 2)
