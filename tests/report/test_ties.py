"""Ties among the votes: how many, and what accuracy is when none of the tied classes is chosen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dissensus import metrics
from dissensus.report import collect, glossary, summary, to_json, write_page
from dissensus.report.ties import ties
from dissensus.targets import majority
from dissensus.votes import Votes


def two_votes(predictions):
    votes = Votes.from_counts(predictions["counts"]).subsample(2, seed=0)
    predictions["counts"] = votes.counts().astype(np.int32)
    predictions["labels"] = predictions["counts"].argmax(1)


@pytest.fixture
def tied(make_run):
    return [make_run(method, seed, edit=two_votes) for method in ("soft", "majority") for seed in range(2)]


def test_a_shared_tie_is_what_lots_give_on_average(tied):
    """Against accuracy with labels that training on the majority draws, a thousand times."""
    (panel,) = collect(tied).panels
    found = ties(panel.runs)
    for method, runs in panel.runs.items():
        drawn = [
            metrics.accuracy(np.eye(4)[run.predictions["best_logits"].argmax(1)], labels)
            for run in runs
            for seed in range(1000)
            for labels in [majority(Votes.from_counts(run.predictions["counts"]), seed=seed)]
        ]
        assert found.accuracy[method] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(len(drawn)))
    counts = np.concatenate([run.predictions["counts"] for run in panel.runs["soft"]])
    assert found.share == np.mean(counts.max(1) == 1)
    assert found.most == pytest.approx(1 - found.share / 2)
    last = ties(panel.runs, "last").accuracy
    assert last != found.accuracy


def test_where_nothing_ties_it_is_accuracy_itself(make_run):
    def certain(predictions):
        predictions["counts"] = 3 * np.eye(4, dtype=np.int32)[predictions["counts"].argmax(1)]

    run = make_run("soft", edit=certain)
    found = ties({"soft": [run]})
    assert (found.share, found.most) == (0, 1)
    logits = run.predictions["best_logits"]
    assert found.accuracy["soft"] == metrics.accuracy(np.eye(4)[logits.argmax(1)], run.predictions["labels"])
    assert found.rule(of_files=True) == ""
    run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy"}
    assert "Accuracy is against the most frequent vote." in summary(collect([run]))[0].notes
    assert not any("tie" in note for note in summary(collect([run]))[0].notes)


def test_both_rules_are_told_of_ones_own_data_and_what_the_choice_makes_of_it(tied, outline_of, tmp_path):
    for run in tied:
        run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy"}
    found = collect(tied)
    share = found.panels[0]
    seen = ties(share.runs)
    rule = (
        f"Several classes have most votes on {100 * seen.share:.0f} % of the evaluation items: right is the first of "
        "them in the order of the classes (cat, dog, owl, fox), while training on the majority draws one of them by "
        "lot."
    )
    told = (
        f"With a tie shared among its classes, accuracy is {seen.accuracy['soft']:.3f} for soft and "
        f"{seen.accuracy['majority']:.3f} for majority, of {seen.most:.3f} at most."
    )
    text = outline_of(write_page(found, tmp_path).read_text("utf-8")).text
    assert f"Accuracy and ECE are against the most frequent vote. {rule} {told}" in text
    notes = summary(found)[0].notes
    assert notes[notes.index(told) - 1] == f"Accuracy is against the most frequent vote. {rule}"
    assert json.loads(to_json(found))["panels"][0]["ties"]["accuracy"] == seen.accuracy
    assert "a tie is drawn by lot, once" in glossary.METHODS["majority"]
    assert glossary.METHODS["majority"] in text


def test_a_label_of_the_datas_own_comes_first(tied):
    (table,) = summary(collect(tied))
    (note,) = [note for note in table.notes if note.startswith("Accuracy")]
    assert note.endswith(
        " % of the evaluation items: right is the data's own label if it is one of them, else the first of them, while "
        "training on the majority draws one of them by lot."
    )
    assert not any(note.startswith("With a tie shared") for note in table.notes)


def test_a_method_that_diverged_has_no_accuracy(make_run):
    def diverged(predictions):
        two_votes(predictions)
        predictions["last_logits"][:] = np.nan

    runs = {"soft": [make_run("soft", edit=two_votes)], "sls": [make_run("sls", edit=diverged)]}
    assert list(ties(runs).accuracy) == ["soft", "sls"]
    assert list(ties(runs, "last").accuracy) == ["soft"]
    alone = ties({"sls": runs["sls"]}, "last")
    assert "in the order of the classes, while" in alone.rule(of_files=True, classes=list("abcdefg"))
    assert alone.told().endswith(f"accuracy is {alone.most:.3f} at most.")


def test_of_several_numbers_of_votes_the_rule_is_told_once(make_run):
    runs = [make_run(method, votes=n, edit=two_votes) for method in ("soft", "majority") for n in (1, "all")]
    for run in runs:
        run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy"}
    one, other = ([n for n in table.notes if "ccuracy" in n] for table in summary(collect(runs)))
    assert one[0] == other[0]
    assert one[1].startswith("With a tie shared among its classes, accuracy with 1 vote an item is ")
    assert other[1].startswith("With a tie shared among its classes, accuracy with all votes is ")


def test_of_votes_drawn_with_replacement_and_classes_that_end_in_spaces(make_run):
    changes = {"draw": "resample", "data": {"classes": ["cat", "cat ", "owl", "fox"]}}
    runs = [make_run("soft", votes=n, edit=two_votes, **changes) for n in (2, "all")]
    for run in runs:
        run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy"}
    rule, told = (note for note in summary(collect(runs))[0].notes if "ccuracy" in note)
    assert "in the order of the classes (cat, 'cat ', owl, fox), while" in rule
    assert "accuracy with 2 votes an item, drawn with replacement, is " in told
