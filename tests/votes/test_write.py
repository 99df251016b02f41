from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.base.errors import InputError, StoreError
from dissensus.votes import Votes, read_votes

# surrogates are no text, and NumPy's text cannot end in NUL
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
# a CSV cell knows no type: text that reads as a number comes back as one
WORD = TEXT.map(lambda text: "w" + text)
NUMBER = st.integers(-(2**63), 2**63 - 1)


@st.composite
def tables(draw, word=WORD):
    """Votes with ids of either kind, with or without annotators, with gaps, one or several labels a vote."""
    kind = draw(st.sampled_from([word, NUMBER]))
    items = draw(st.lists(kind, min_size=1, max_size=5, unique=True))
    classes = draw(
        st.one_of(
            st.lists(word.filter(lambda name: "|" not in name), min_size=2, max_size=4, unique=True),
            st.lists(st.integers(-99, 99), min_size=2, max_size=4, unique=True),
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=4, unique=True),
        )
    )
    n = draw(st.integers(1, 10))
    several = draw(st.booleans())
    label = st.sets(st.sampled_from(classes), min_size=1) if several else st.sampled_from(classes)
    labels = draw(st.lists(st.one_of(label, label, st.none()), min_size=n, max_size=n))
    if several and all(value is None for value in labels):
        labels[0] = {classes[0]}
    people = draw(
        st.one_of(st.none(), st.lists(word, min_size=1, max_size=3), st.lists(NUMBER, min_size=1, max_size=3))
    )
    return Votes.from_records(
        items=draw(st.lists(st.sampled_from(items), min_size=n, max_size=n)),
        labels=labels,
        annotators=people and draw(st.lists(st.sampled_from(people), min_size=n, max_size=n)),
        classes=classes,
        ordered=draw(st.booleans()),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("votes")


@settings(max_examples=60)
@given(votes=tables(TEXT.filter(bool)))
def test_parquet_keeps_everything(folder, votes):
    votes.write(folder / "votes.parquet")
    assert read_votes(folder / "votes.parquet") == votes


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@settings(max_examples=40)
@given(votes=tables())
def test_text_files_keep_everything_but_classes(folder, suffix, votes):
    path = folder / f"votes{suffix}"
    votes.write(path)
    cut = "|" if votes.multilabel and suffix != ".jsonl" else None
    assert read_votes(path, classes=votes.classes, ordered=votes.ordered, separator=cut) == votes


def test_text_that_reads_as_numbers_comes_back_as_numbers_from_csv(tmp_path):
    votes = Votes.from_records(items=["1", "2"], labels=["a", "b"])
    votes.write(tmp_path / "votes.csv")
    assert read_votes(tmp_path / "votes.csv").items.tolist() == [1, 2]
    votes.write(tmp_path / "votes.jsonl")
    assert read_votes(tmp_path / "votes.jsonl") == votes


def test_an_item_without_votes_is_a_row_without_a_label(tmp_path):
    votes = Votes.from_counts([[1, 0], [0, 0], [0, 1]], classes=["no", "yes"], items=["a", "b", "c"])
    votes.write(tmp_path / "votes.csv")
    assert (tmp_path / "votes.csv").read_text() == "item,label\na,no\nb,\nc,yes\n"
    again = read_votes(tmp_path / "votes.csv")
    assert again == votes
    assert again.notes == ("1 item has no votes (first: 'b').",)


def test_no_votes_at_all(tmp_path):
    votes = Votes.from_counts([[0, 0], [0, 0]], classes=["no", "yes"])
    votes.write(tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet") == votes


def test_parquet_is_a_plain_long_table(tmp_path):
    votes = Votes.from_records(items=[1, 1], labels=["a", "b"], annotators=["p", "q"])
    votes.write(tmp_path / "votes.parquet")
    expected = {"item": [1, 1], "annotator": ["p", "q"], "label": ["a", "b"]}
    assert pl.read_parquet(tmp_path / "votes.parquet").to_dict(as_series=False) == expected


@pytest.mark.parametrize(
    ("votes", "name", "message"),
    [
        (
            Votes.from_counts([[1, 1]]),
            "votes.xlsx",
            "unknown suffix '.xlsx'. Choose one of: .parquet, .csv, .tsv, .jsonl",
        ),
        (
            Votes.from_counts([[1, 1]], classes=["a", 1]),
            "votes.csv",
            "classes of text and numbers cannot share a column",
        ),
        (
            Votes.from_records(items=[1], labels=[["a|b", "c"]]),
            "votes.csv",
            "the class 'a|b' holds '|', .* write .parquet",
        ),
        (
            Votes.from_records(items=[1, 2], labels=[["a", "c"], []]),
            "votes.tsv",
            "a vote for no class at all cannot be told",
        ),
    ],
)
def test_what_cannot_be_written(tmp_path, votes, name, message):
    with pytest.raises(InputError, match=message):
        votes.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_vote_for_no_class_survives_where_lists_are(tmp_path):
    votes = Votes.from_records(items=[1, 2], labels=[["a", "c"], []])
    for name in ("votes.parquet", "votes.jsonl"):
        votes.write(tmp_path / name)
        assert read_votes(tmp_path / name) == votes


def test_order_of_votes_and_annotators_survives(tmp_path):
    rng = np.random.default_rng(0)
    votes = Votes.from_records(
        items=rng.integers(0, 50, 500), labels=rng.integers(0, 5, 500), annotators=rng.integers(0, 9, 500)
    )
    votes.write(tmp_path / "votes.csv")
    assert read_votes(tmp_path / "votes.csv") == votes


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_a_full_disk_is_told_in_one_sentence_and_leaves_nothing(tmp_path, suffix):
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    votes = Votes.from_counts(np.random.default_rng(0).multinomial(20, [0.3, 0.3, 0.4], size=20_000))
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # a file that may not grow stands for a full disk
    try:
        with pytest.raises(StoreError, match=f"cannot write .*votes{suffix}: "):
            votes.write(tmp_path / f"votes{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


def test_each_way_of_writing_names_the_other(tmp_path):
    votes = Votes.from_counts([[1, 2]])
    with pytest.raises(InputError, match=r"votes\.save writes \.npz, .* '\.csv'; tables are written by votes\.write"):
        votes.save(tmp_path / "votes.csv")
    with pytest.raises(InputError, match=r"\.npz is written by votes\.save"):
        votes.write(tmp_path / "votes.npz")
    assert not list(tmp_path.iterdir())
