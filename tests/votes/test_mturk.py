from __future__ import annotations

import json

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes

HEAD = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.text,Answer.mood.label\n"
BATCH = HEAD + (
    'h1,a1,W1,Approved,"one, two",good\n'
    'h1,a2,W2,Submitted,"one, two",bad\n'
    'h1,a3,W3,Rejected,"one, two",awful\n'
    "h2,a4,W1,Approved,three,good\n"
    "h3,a5,W3,Rejected,four,bad\n"
    "\n"
)


def packed(*answers):
    cells = (json.dumps([answer]).replace('"', '""') for answer in answers)
    rows = (f'h{i // 2},W{i},Approved,"{cell}"\n' for i, cell in enumerate(cells))
    return "HITId,WorkerId,AssignmentStatus,Answer.taskAnswers\n" + "".join(rows)


def test_rejected_assignments_are_no_votes_but_their_items_stay(write):
    votes = read_votes(write(BATCH))
    assert votes.classes == ("bad", "good")  # nobody who counts said awful
    assert votes.items.tolist() == ["h1", "h2", "h3"]
    assert votes.counts().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert votes.annotator_names.tolist() == ["W1", "W2"]
    assert votes.notes == ("2 answers are no votes: 2 rejected.", "1 item has no votes (first: 'h3').")


def test_workers_that_are_missing_may_be_left_out(write):
    content = BATCH.replace("a4,W1", "a4,")
    with pytest.raises(InputError, match=r"line 5: the annotator is missing\. .* with anonymous=True$"):
        read_votes(write(content))
    votes = read_votes(write(content), anonymous=True)
    assert votes.counts().tolist() == [[1, 1], [0, 1], [0, 0]]
    assert votes.annotators is None


def test_items_by_a_column_of_the_input(write):
    assert read_votes(write(BATCH), item="Input.text").items.tolist() == ["one, two", "three", "four"]


def test_a_plain_table_if_it_is_said_to_be_one(write):
    asked = {"layout": "long", "item": "HITId", "label": "Answer.mood.label", "annotator": "WorkerId"}
    assert read_votes(write(BATCH), **asked).n_votes == 5


@pytest.mark.parametrize(
    ("answers", "counts", "multilabel"),
    [
        ([{"q": {"label": "a"}}, {"q": {"label": "b"}}], [[1, 1]], False),
        ([{"q": {"a": True, "b": False}}, {"q": {"a": False, "b": True}}], [[1, 1]], False),
        ([{"q": {"labels": ["a", "b"]}}, {"q": {"labels": ["b"]}}], [[1, 2]], True),
        ([{"q": "a"}, {"q": "b"}], [[1, 1]], False),
    ],
)
def test_answers_in_one_cell_of_json(write, answers, counts, multilabel):
    votes = read_votes(write(packed(*answers)))
    assert (votes.counts().tolist(), votes.multilabel) == (counts, multilabel)


def test_several_questions(write):
    path = write(packed({"mood": {"label": "a"}, "tone": "x"}, {"mood": {"label": "b"}, "tone": "y"}))
    with pytest.raises(InputError, match=r"several questions in Answer.taskAnswers: 'mood', 'tone'; say .* label="):
        read_votes(path)
    assert read_votes(path, label="tone").classes == ("x", "y")


@pytest.mark.parametrize(
    ("content", "keywords", "message"),
    [
        (BATCH.replace("Input.text", "Answer.note"), {}, "several columns 'Answer.': 'Answer.note', 'Answer.mood.lab"),
        (BATCH.replace("Answer.", "Reply."), {}, "votes.csv has no columns 'Answer.'"),
        (BATCH, {"label": "Answer.moot.label"}, "unknown column 'Answer.moot.label'; did you mean 'Answer.mood.label'"),
        (packed({}).replace("[{}]", "oops"), {}, "votes.csv, line 2: Answer.taskAnswers is not a list of one JSON"),
        (packed({}).replace("[{}]", '[""x""]'), {}, "votes.csv, line 2: Answer.taskAnswers is not a list of one JSON"),
        (packed({"mood": "a"}), {"label": "mod"}, "unknown question 'mod'; did you mean 'mood'"),
        (packed({"mood": "a", "tone": "b"}), {"label": "mod"}, "unknown question 'mod'; did you mean 'mood'"),
        (BATCH.replace("h2,", ","), {}, "votes.csv, line 5: the item is missing"),
    ],
)
def test_batches_that_cannot_be_used(write, content, keywords, message):
    with pytest.raises(InputError, match=message):
        read_votes(write(content), **keywords)
