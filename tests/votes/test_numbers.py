from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dissensus.votes import read_votes
from dissensus.votes.numbers import SAMPLE, numbers_or_text, whole_numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.booleans())
def test_whole_numbers_are_seen_and_odd_writings_kept(numbers, odd):
    text = [str(number) for number in numbers]
    text += ["0" + text[0].lstrip("-")] if odd else []
    found = whole_numbers(pl.Series(text))
    assert found.to_list() == (text if odd else numbers)


def test_infinity_is_text_and_nan_is_a_number_that_is_missing():
    assert numbers_or_text(pl.Series(["1", "inf"])).dtype == pl.String
    assert numbers_or_text(pl.Series(["1", "NaN", "x"])).to_list() == ["1", "NaN", "x"]
    assert numbers_or_text(pl.Series(["1", "nan"])).dtype == pl.Float64
    assert numbers_or_text(pl.Series(["1", None, "2.5"])).to_list() == [1, None, 2.5]


def test_what_comes_after_the_sample_counts_too():
    for odd in ("x", "007", "1.5"):
        text = ["7"] * SAMPLE + [odd]
        assert whole_numbers(pl.Series(text)).to_list() == text


def test_codes_with_a_leading_zero_stay_apart(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,label\na,010\na,10\nb,10\nb,020\n")
    assert read_votes(file).classes == ("010", "10", "020")
    assert read_votes(file, ordered=True).classes == ("010", "10", "020")  # in numeric order, all the same
    file.write_text("item,label\na,0.5\na,0\nb,10\n")
    assert read_votes(file).classes == (0, 0.5, 10)
