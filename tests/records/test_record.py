import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.base.errors import StoreError
from dissensus.records import Record, read_records, write_records

NAME = "0123456789abcdef"
records = st.builds(
    Record,
    run=st.just(NAME),
    metric=st.sampled_from(["kl", "entropy_correlation"]),
    value=st.floats(allow_nan=False),
    checkpoint=st.sampled_from(["best", "last"]),
    tempered=st.booleans(),
    against=st.sampled_from(["human", "truth"]),
    items=st.integers(0, 10**9),
)


@given(st.lists(records, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("records") / "records.csv"
    write_records(path, rows)
    assert read_records(path) == rows


def test_the_file_is_plain_csv(tmp_path):
    path = tmp_path / "records.csv"
    write_records(path, [Record(NAME, "kl", 0.1, "best", tempered=True, against="human", items=5)])
    assert path.read_text() == (
        "run,metric,value,checkpoint,tempered,against,items\n0123456789abcdef,kl,0.1,best,1,human,5\n"
    )


def test_an_undefined_value_stays_undefined(tmp_path):
    path = tmp_path / "records.csv"
    write_records(path, [Record(NAME, "kl", math.nan, "best", False, "human", 5)])
    assert math.isnan(read_records(path)[0].value)


@pytest.mark.parametrize(
    "text",
    ["run,metric\nx,kl\n", "run,metric,value,checkpoint,tempered,against,items\nx,kl,0.1,be", "\x00\n\xff"],
    ids=["columns", "cut", "bytes"],
)
def test_a_damaged_file_says_that_it_can_be_deleted(tmp_path, text):
    path = tmp_path / "records.csv"
    path.write_text(text)
    if text.startswith("\x00"):
        path.write_bytes(b"run,metric,value,checkpoint,tempered,against,items\n\xff\xfe")
    with pytest.raises(StoreError, match=r"records.csv is damaged .* delete it, and it is made again"):
        read_records(path)
