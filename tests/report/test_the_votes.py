"""The votes on the page: from those at hand, else from what the runs know, and nothing where neither is there."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dissensus.datasets import Dataset
from dissensus.report import collect, to_json, write_page
from dissensus.report.the_votes import TheVotes, without_folders
from dissensus.votes import Votes
from dissensus.votes.summary import glance

VOTES = Votes.from_counts([[4, 0, 0, 0], [2, 2, 0, 0], [0, 0, 1, 0], [0, 1, 2, 0]], ordered=True)
EMPTY = "2 rows of /home/ann/labels.csv have no label."


@pytest.fixture
def told(make_run):
    """Two runs that know their votes, as those of today do."""
    runs = [make_run(method, seed) for method in ("soft", "sls") for seed in range(2)]
    for run in runs:
        run.about["votes"] = {**glance(VOTES).as_json, "notes": [EMPTY]}
        run.about["source"] = {"votes": "/home/ann/labels.csv", "inputs": "x.npy"}
    return runs


def test_stored_runs_tell_of_them_when_the_files_are_gone(told, outline_of, tmp_path):
    found = collect(told)
    assert found.votes == TheVotes(glance(VOTES), ("2 rows of labels.csv have no label.",))
    text = outline_of(write_page(found, tmp_path / "page").read_text("utf-8")).text
    assert "The votes items 4 votes 12 (1 to 4 an item, 3.0 on average) annotators not known classes 4, ordered" in text
    for words in ("unanimous items 33.3% of the 3 with two votes or more", "Krippendorff's alpha (ordinal)"):
        assert words in text
    assert "What was left out, and what is odd: 2 rows of labels.csv have no label." in text
    assert "/home/ann" not in text
    kept = json.loads((tmp_path / "page" / "tables" / "comparison.json").read_text())["votes"]
    assert (kept["items"], kept["sizes"], kept["notes"]) == (4, {"1": 1, "3": 1, "4": 2}, list(found.votes.notes))


def test_votes_at_hand_come_before_what_the_runs_knew(told, make_run):
    now = Votes.from_counts([[1, 1], [2, 0]])
    assert collect(told, votes=now).votes == TheVotes(glance(now), ())
    assert collect(told[:1], votes=now).votes != collect(told[:1]).votes


def test_runs_of_an_earlier_release_do_not_know_them(make_run, outline_of, tmp_path):
    run = make_run("soft")
    assert collect([run]).votes is None
    assert json.loads(to_json(collect([run])))["votes"] is None
    run.about["votes"] = {"items": 3}
    assert collect([run]).votes is None
    assert "The votes items" not in outline_of(write_page([run], tmp_path / "without").read_text("utf-8")).text
    first = run.predictions
    data = Dataset("pets", np.zeros((60, 2), np.float32), Votes.from_counts(first["counts"], items=list(first["ids"])))
    assert "The votes items 60" in outline_of(write_page([run], tmp_path / "with", data).read_text("utf-8")).text
    assert json.loads((tmp_path / "with/tables/comparison.json").read_text())["votes"]["votes"] == 1200


def test_the_longest_place_is_shortened_first():
    source = {"votes": "mine/a", "texts": "mine/a/b.csv", "options": {"item": "mine/a"}, "name": ""}
    assert without_folders(["in mine/a/b.csv and mine/a"], source) == ("in b.csv and a",)
