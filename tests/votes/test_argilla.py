"""Exports of Argilla: records.to_list(flatten=True), to_datasets(), to_dict(orient=...) and to_json()."""

from __future__ import annotations

import json

import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes

ANN, BOB, CEM = (f"{n}a7d1f5e-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
DRAFTS = "The file does not say which answers were submitted, so drafts and discarded ones count as votes. "


def flat(number, answers, question="mood", **more):
    """A flattened record; answers are (user, value, status)."""
    users, values, statuses = (list(part) for part in zip(*answers, strict=True)) if answers else ([], [], [])
    said = {f"{question}.responses": values, f"{question}.responses.users": users}
    record = {"id": f"r{number}", "status": "pending", "_server_id": f"s{number}", "text": f"text {number}"}
    none = dict.fromkeys((*said, f"{question}.responses.status"))
    suggested = {f"{question}.suggestion": "bad", f"{question}.suggestion.score": None}
    return record | suggested | (said | {f"{question}.responses.status": statuses} if answers else none) | more


def nested(number, responses, **more):
    """A nested record; responses are {question: [(user, value)]}."""
    said = {name: [{"value": value, "user_id": user} for user, value in given] for name, given in responses.items()}
    record = {"id": f"r{number}", "fields": {"text": f"text {number}", "ref": f"x{number}"}, "metadata": {"n": number}}
    rest = {"suggestions": {"mood": {"value": "bad", "score": None, "agent": None}}, "vectors": {}, "status": "pending"}
    return record | {"responses": said} | rest | {"_server_id": f"s{number}"} | more


FLAT = [
    flat(1, [(CEM, "bad", "draft"), (ANN, "good", "submitted"), (BOB, "bad", "submitted")]),
    flat(2, [(ANN, "good", "submitted"), (BOB, "good", "discarded")]),
    flat(3, []),
]
NESTED = [
    nested(1, {"mood": [(ANN, "good"), (BOB, "bad"), (CEM, "bad")]}),
    nested(2, {"mood": [(ANN, "good")]}),
    nested(3, {}),
]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def columns(records):
    return {key: [record.get(key) for record in records] for key in records[0]}


FORMS = {
    "list": ("records.json", json.dumps),
    "indented list": ("records.json", lambda records: json.dumps(records, indent=1)),
    "lines": ("records.jsonl", lines),
    "by column": ("records.json", lambda records: json.dumps(columns(records))),
    "by column, indented": ("records.json", lambda records: json.dumps(columns(records), indent=1)),
    "by id": ("records.json", lambda records: json.dumps({record["id"]: record for record in records})),
}


@pytest.fixture
def read(write):
    return lambda records, **keywords: read_votes(write(json.dumps(records), "records.json"), **keywords)


@pytest.mark.parametrize("form", FORMS)
def test_submitted_answers_of_flattened_records(write, form):
    name, dump = FORMS[form]
    votes = read_votes(write(dump(FLAT), name))
    assert votes.items.tolist() == ["r1", "r2", "r3"]
    assert (votes.classes, votes.counts().tolist()) == (("bad", "good"), [[1, 1], [0, 1], [0, 0]])
    assert votes.annotator_names.tolist() == [ANN, BOB]
    assert votes.notes == ("2 answers are no votes: 1 draft, 1 discarded.", "1 item has no votes (first: 'r3').")


@pytest.mark.parametrize("form", FORMS)
def test_nested_records_do_not_tell_drafts(write, form):
    name, dump = FORMS[form]
    votes = read_votes(write(dump(NESTED), name))
    assert votes.items.tolist() == ["r1", "r2", "r3"]
    assert votes.counts().tolist() == [[2, 1], [0, 1], [0, 0]]
    assert votes.annotator_names.tolist() == [ANN, BOB, CEM]
    assert votes.notes[0].startswith(DRAFTS)


def test_tables_of_flattened_records(tmp_path):
    frame = pl.DataFrame(FLAT)
    frame.write_parquet(tmp_path / "train.parquet")
    frame.write_ipc_stream(tmp_path / "data.arrow")  # as a data set on disk is
    for source in (frame, tmp_path / "train.parquet", tmp_path / "data.arrow"):
        assert read_votes(source).counts().tolist() == [[1, 1], [0, 1], [0, 0]]


def test_records_are_those_of_the_same_votes_if_nothing_is_drafted(read):
    users = [(ANN, "good"), (BOB, "bad")]
    one = read([flat(1, [(*said, "submitted") for said in users])])
    other = read([nested(1, {"mood": users})])
    assert one.counts().tolist() == other.counts().tolist() == [[1, 1]]
    assert one.notes == ()
    assert len(other.notes) == 1


def test_a_flattened_export_without_statuses_does_not_tell_drafts_either(read):
    records = [{key: value for key, value in record.items() if "status" not in key} for record in FLAT]
    votes = read(records)
    assert votes.counts().tolist() == [[2, 1], [0, 2], [0, 0]]
    assert votes.notes[0].startswith(DRAFTS)


def test_an_answer_without_a_status_was_not_submitted(read):
    votes = read([flat(1, [(ANN, "good", "submitted"), (BOB, "bad", None), (CEM, "bad", "submitted")])])
    assert votes.counts().tolist() == [[1, 1]]
    assert votes.notes == ("1 answer is no vote: 1 without a status.",)


@pytest.mark.parametrize("shape", ["flat", "nested"])
def test_several_questions(read, shape):
    if shape == "flat":
        tone = {"tone.responses": ["x", "y"], "tone.responses.users": [ANN, BOB]}
        status = {"tone.responses.status": ["submitted"] * 2}
        records = [flat(1, [(ANN, "good", "submitted"), (BOB, "bad", "submitted")], **tone, **status)]
    else:
        records = [nested(1, {"mood": [(ANN, "good"), (BOB, "bad")], "tone": [(ANN, "x"), (BOB, "y")]})]
    with pytest.raises(
        InputError, match=r"several questions .*: 'mood', 'tone'; say which holds the labels with label="
    ):
        read(records)
    assert read(records, label="tone").classes == ("x", "y")
    with pytest.raises(InputError, match=r"records.json: unknown question 'tonne'; did you mean 'tone'"):
        read(records, label="tonne")


def test_a_question_may_be_named_as_its_column_is(read):
    assert read(FLAT, label="mood.responses").n_votes == 3


def test_several_labels_in_an_answer(read):
    votes = read([flat(1, [(ANN, ["good", "odd"], "submitted"), (BOB, ["odd"], "submitted")])])
    assert (votes.multilabel, votes.classes, votes.counts().tolist()) == (True, ("good", "odd"), [[1, 2]])


def test_ratings_are_votes_for_numbers(read):
    votes = read([flat(1, [(ANN, 4, "submitted"), (BOB, 2, "submitted"), (CEM, 4, "submitted")])], ordered=True)
    assert (votes.classes, votes.counts().tolist()) == ((2, 4), [[1, 2]])


SPANS = [{"start": 0, "end": 4, "label": "PER"}]
RANKS = [{"value": "a", "rank": 1}, {"value": "b", "rank": 2}]


@pytest.mark.parametrize("value", [SPANS, RANKS])
@pytest.mark.parametrize("shape", ["flat", "nested"])
def test_spans_and_ranks_are_no_labels(read, value, shape):
    other = {"where.responses": [value], "where.responses.users": [ANN], "where.responses.status": ["submitted"]}
    both = [
        flat(1, [(ANN, "good", "submitted"), (BOB, "bad", "submitted")], **other)
        if shape == "flat"
        else nested(1, {"mood": [(ANN, "good"), (BOB, "bad")], "where": [(ANN, value)]})
    ]
    assert read(both).classes == ("bad", "good")  # nothing to ask: one question can be meant
    with pytest.raises(InputError, match="the answers to 'where' are spans or ranks, and no labels"):
        read(both, label="where")
    alone = [flat(1, [(ANN, value, "submitted")]) if shape == "flat" else nested(1, {"mood": [(ANN, value)]})]
    with pytest.raises(InputError, match=r"records.json has no questions that may be answered by labels"):
        read(alone)


def test_a_ranking_that_looks_like_several_labels(read):
    ranked = [flat(1, [(ANN, ["a", "b"], "submitted"), (BOB, ["b", "a"], "submitted")])]
    with pytest.raises(InputError, match="all answers to 'mood' name 'a', 'b', as those do that rank them"):
        read(ranked)
    ranked.append(flat(2, [(ANN, ["a"], "submitted")]))
    assert read(ranked).counts().tolist() == [[2, 2], [1, 0]]


def test_texts_that_people_wrote(read):
    written = [flat(n, [(ANN, f"I felt {n}", "submitted"), (BOB, "good", "submitted")]) for n in range(12)]
    with pytest.raises(InputError, match=r"the answers to 'mood' 13 of 24 differ, .* name them with classes=\.\.\.$"):
        read(written)
    names = ["good", *(f"I felt {n}" for n in range(12))]
    assert read(written, classes=names).n_votes == 24
    assert read(written[:8]).n_votes == 16  # so few may be labels


def test_drafts_do_not_make_labels_a_text(read):
    labels = [flat(n, [(ANN, f"no {n}", "draft"), (BOB, "good" if n % 2 else "bad", "submitted")]) for n in range(30)]
    assert read(labels).classes == ("bad", "good")


@pytest.mark.parametrize("records", [FLAT, NESTED])
def test_items_by_another_key(read, records):
    assert read(records, item="text").items.tolist() == ["text 1", "text 2", "text 3"]
    with pytest.raises(InputError, match=r"records.json, record 'r1': there is no 'url'.*text"):
        read(records, item="url")


def test_items_by_metadata(read):
    assert read(NESTED, item="n").items.tolist() == [1, 2, 3]


def test_who_answered_cannot_be_named(read):
    with pytest.raises(InputError, match=r"annotator is said to be in 'x', but Argilla names users"):
        read(FLAT, annotator="x")


def test_lists_that_are_not_parallel(read):
    broken = flat(2, [(ANN, "good", "submitted")]) | {"mood.responses.users": [ANN, BOB]}
    with pytest.raises(InputError, match=r"record 'r2': 'mood.responses' has 1 answers for 2 users and 1 statuses"):
        read([FLAT[0], broken])


@pytest.mark.parametrize(
    "records",
    [
        [{"id": 1, "mood.responses": ["a", "b"]}],
        [{"id": 1, "fields": {}, "responses": {"mood": ["a", "b"]}}],
        [{"id": 1, "fields": {}, "responses": ["a", "b"]}],
        [{"id": 1, "responses": {"mood": [{"value": "a", "user_id": ANN}]}}],
    ],
)
def test_documents_that_are_no_records(read, records):
    with pytest.raises(InputError, match=r"(a shape that is not|no layout of votes that is) known here"):
        read(records)


def test_a_label_that_is_no_class_is_named_by_its_record(read):
    with pytest.raises(InputError, match=r"records.json, record 'r1': the label 'bad' is not one of the classes"):
        read([FLAT[2], FLAT[0], FLAT[1]], classes=["good", "odd"])


def test_suggestions_are_no_votes(read):
    assert read([flat(1, [(ANN, "good", "submitted"), (BOB, "good", "submitted")]), FLAT[0]]).n_votes == 4


def test_a_damaged_file(write):
    with pytest.raises(InputError, match=r"records.json is neither one JSON document nor one JSON object a line"):
        read_votes(write(json.dumps(NESTED)[:-5], "records.json"))
