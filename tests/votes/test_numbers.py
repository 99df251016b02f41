from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

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
