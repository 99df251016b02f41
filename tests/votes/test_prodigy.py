from __future__ import annotations

import json

import pytest

from dissensus.votes import read_votes


def task(item, session, answer="accept", **more):
    return {"text": f"text {item}", "_input_hash": item, "_task_hash": item + 100, "_session_id": session, **more} | {
        "answer": answer
    }


def lines(*tasks):
    return "".join(json.dumps(one) + "\n" for one in tasks)


@pytest.fixture
def read(write):
    return lambda *tasks, **keywords: read_votes(write(lines(*tasks), "annotations.jsonl"), **keywords)


OPTIONS = {"options": [{"id": "pos", "text": "+"}, {"id": "neg", "text": "-"}, {"id": "mixed", "text": "±"}]}


def test_choices_that_were_accepted(read):
    votes = read(
        task(1, "db-ann", accept=["neg"], **OPTIONS),
        task(1, "db-bob", accept=["pos"], **OPTIONS),
        task(1, "db-cem", "reject", accept=["pos"], **OPTIONS),
        task(2, "db-ann", "ignore", accept=[], **OPTIONS),
        task(2, "db-bob", accept=[], **OPTIONS),
    )
    assert votes.classes == ("pos", "neg", "mixed")  # as offered; nobody chose the last
    assert votes.counts().tolist() == [[1, 1, 0], [0, 0, 0]]
    assert not votes.multilabel
    assert votes.annotator_names.tolist() == ["db-ann", "db-bob"]
    assert votes.notes[0] == "2 answers are no votes: 1 rejected, 1 ignored."


def test_annotators_are_known_by_their_own_id_where_there_is_one(read):
    votes = read(
        task(1, "s1", accept=["neg"], _annotator_id="ann", **OPTIONS),
        task(1, "s2", accept=["pos"], _annotator_id="ann", **OPTIONS),
    )
    assert votes.annotator_names.tolist() == ["ann"]


@pytest.mark.parametrize(
    ("second", "more", "multilabel"),
    [(["pos", "neg"], {}, True), (["pos"], {}, False), (["pos"], {"config": {"choice_style": "multiple"}}, True)],
)
def test_several_choices(read, second, more, multilabel):
    votes = read(task(1, "a", accept=["neg"], **OPTIONS, **more), task(1, "b", accept=second, **OPTIONS, **more))
    assert votes.multilabel == multilabel


def test_a_label_that_is_offered_is_a_yes_or_no_vote_on_the_task(read):
    votes = read(
        task(1, "ann", "accept", label="SPORTS"),
        task(1, "bob", "reject", label="SPORTS"),
        task(2, "ann", "reject", label="SPORTS"),
        task(2, "bob", "ignore", label="SPORTS"),
    )
    assert votes.classes == ("reject", "accept")
    assert votes.items.tolist() == [101, 102]
    assert votes.counts().tolist() == [[1, 1], [1, 0]]
    assert votes.notes == ("1 answer is no vote: 1 ignored.",)


def test_the_labels_that_were_offered_may_be_the_votes_on_a_text(read):
    votes = read(
        task(1, "ann", label="SPORTS") | {"_task_hash": 7},
        task(1, "bob", label="NEWS") | {"_task_hash": 8},
        task(1, "cem", "reject", label="NEWS") | {"_task_hash": 8},
        task(2, "ann", label="NEWS") | {"_task_hash": 9},
        label="label",
    )
    assert votes.items.tolist() == [1, 2]
    assert (votes.classes, votes.counts().tolist()) == (("NEWS", "SPORTS"), [[1, 1], [1, 0]])
    assert votes.notes == ("1 answer is no vote: 1 rejected.",)


def test_options_are_the_classes_of_choices_alone(read):
    votes = read(
        task(1, "ann", accept=["pos"], kind="old", **OPTIONS),
        task(1, "bob", accept=["neg"], kind="new", **OPTIONS),
        label="kind",
    )
    assert votes.classes == ("new", "old")


@pytest.mark.parametrize(("ids", "classes"), [(["1", "2", "3"], ("1", "2", "3")), ([3, 2, 1], (3, 2, 1))])
def test_options_whose_ids_are_numbers(read, ids, classes):
    options = {"options": [{"id": one, "text": f"option {one}"} for one in ids]}
    votes = read(task(1, "ann", accept=[ids[0]], **options), task(1, "bob", accept=[ids[2]], **options))
    assert (votes.classes, votes.counts().tolist()) == (classes, [[1, 0, 1]])
