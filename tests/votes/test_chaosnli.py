"""ChaosNLI's files: counts of votes in a known order."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes

KEYS = ("e", "n", "c")


def item(uid, counts, keys=KEYS, **change):
    counter = {key: count for key, count in reversed([*zip(keys, counts, strict=True)]) if count}
    record = {"uid": uid, "label_counter": counter, "majority_label": "?", "label_count": counts, "entropy": 9.0}
    return record | {"label_dist": [0.9, 0.1, 0.0], "example": {"uid": uid, "source": "x"}, "old_label": "e"} | change


@pytest.fixture
def read(write):
    def read(*items, **keywords):
        return read_votes(write("".join(json.dumps(one) + "\n" for one in items), "chaos.jsonl"), **keywords)

    return read


def test_counts_in_their_order(read):
    votes = read(item("u1", [30, 70, 0]), item("u2", [3, 94, 3]))
    assert votes.classes == ("entailment", "neutral", "contradiction")
    assert (votes.items.tolist(), votes.counts().tolist()) == (["u1", "u2"], [[30, 70, 0], [3, 94, 3]])
    assert votes.annotators is None
    assert votes.frequencies()[0].tolist() == [0.3, 0.7, 0.0]  # of the votes, not the shares that the file tells


def test_abductive_inference_has_two_classes(read):
    votes = read(item("u1", [97, 3], ("1", "2")), item("u2", [0, 100], ("1", "2")))
    assert (votes.classes, votes.counts().tolist()) == ((1, 2), [[97, 3], [0, 100]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_count": [70, 30, 0]}, r"chaos.jsonl, line 2: 'label_count' \[70, 30, 0\] does not fit"),
        ({"label_count": [30, 70]}, "line 2: 'label_count' .* download it again"),
        (
            {"label_counter": {"e": 30, "x": 70}},
            "chaos.jsonl: 'label_counter' counts e, n, x, but e, n and c, or 1 and 2",
        ),
    ],
)
def test_counts_that_do_not_fit(read, change, message):
    with pytest.raises(InputError, match=message):
        read(item("u1", [50, 50, 0]), item("u2", [30, 70, 0], **change))


def test_an_item_without_an_id(read):
    with pytest.raises(InputError, match=r"chaos.jsonl, line 2: the item \('uid'\) is missing"):
        read(item("u1", [50, 50, 0]), item(None, [30, 70, 0]))


def test_what_cannot_be_said_of_it(read):
    with pytest.raises(InputError, match="do not name other classes"):
        read(item("u1", [50, 50, 0]), classes=["neutral", "entailment", "contradiction"])
    with pytest.raises(InputError, match="but ChaosNLI has items in 'uid'"):
        read(item("u1", [50, 50, 0]), label="old_label")
    with pytest.raises(InputError, match="'neutral' cannot be ignored"):
        read(item("u1", [50, 50, 0]), ignore=["neutral"])


def test_the_published_file():
    path = Path(os.environ.get("DISSENSUS_DATA", "")) / "chaosNLI_v1.0" / "chaosNLI_snli.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not in DISSENSUS_DATA")
    votes = read_votes(path)
    assert (votes.n_items, votes.n_votes) == (1_514, 151_400)
