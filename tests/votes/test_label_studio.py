from __future__ import annotations

import json

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes


def result(choices, name="mood", kind="choices"):
    return {"from_name": name, "to_name": "text", "type": kind, "value": {kind: choices}}


def annotation(who, *results, **more):
    return {"id": 1, "completed_by": who, "was_cancelled": False, "ground_truth": False, "result": [*results], **more}


def task(number, *annotations):
    return {"id": number, "data": {"text": "so", "ref": f"r{number}"}, "annotations": [*annotations], "predictions": []}


@pytest.fixture
def read(write):
    return lambda content, **keywords: read_votes(write(json.dumps(content), "project.json"), **keywords)


def test_tasks_with_their_annotations(read):
    votes = read(
        [
            task(5, annotation(1, result(["good"])), annotation({"id": 2, "email": "b@c.de"}, result(["bad"]))),
            task(6, annotation(1, result(["good"]), was_cancelled=True), annotation(2, result(["bad"]))),
            task(7),
            task(8, annotation(1), annotation(2, result(["bad"]), ground_truth=True)),
        ]
    )
    assert votes.items.tolist() == [5, 6, 7, 8]
    assert votes.counts().tolist() == [[1, 1], [1, 0], [0, 0], [1, 0]]
    assert votes.annotator_names.tolist() == [1, 2]
    assert not votes.multilabel
    assert votes.notes == (
        "1 answer is no vote: 1 cancelled.",
        "1 annotation is marked as ground truth, and counted as any.",
        "1 row has no label and is no vote (first: project.json, task 8).",
        "1 item has no votes (first: 7).",
    )


def test_predictions_are_no_votes(read):
    one = task(1, annotation(1, result(["a"])), annotation(2, result(["b"])))
    one["predictions"] = [{"result": [result(["a"])]}]
    assert read([one]).n_votes == 2


def test_items_by_a_key_of_their_data(read):
    tasks = [task(1, annotation(1, result(["a"]))), task(2, annotation(1, result(["b"])))]
    assert read(tasks, item="ref").items.tolist() == ["r1", "r2"]
    with pytest.raises(InputError, match=r"project.json: task 1 has no 'url' among its data \(text, ref\)"):
        read(tasks, item="url")


def test_several_choices_make_votes_multi_label(read):
    votes = read([task(1, annotation(1, result(["a", "b"])), annotation(2, result(["b"])))])
    assert (votes.multilabel, votes.counts().tolist()) == (True, [[1, 2]])


def test_ratings(read):
    rated = [task(1, annotation(1, result(4, kind="rating")), annotation(2, result(2, kind="rating")))]
    assert read(rated, ordered=True).classes == (2, 4)


def test_a_project_with_several_controls(read):
    both = [task(1, annotation(1, result(["a"]), result(["x"], "tone")), annotation(2, result(["b"])))]
    with pytest.raises(InputError, match=r"several controls .*: 'mood', 'tone'; say which holds .* with label="):
        read(both)
    assert read(both, label="mood").counts().tolist() == [[1, 1]]
    with pytest.raises(InputError, match="unknown control 'mod'; did you mean 'mood'"):
        read(both, label="mod")


ROWS = [
    {"text": "t", "id": 3, "mood": "good", "annotator": 1, "annotation_id": 8, "lead_time": 2.5},
    {"text": "t", "id": 3, "mood": {"choices": ["bad", "good"]}, "annotator": 2, "annotation_id": 9, "lead_time": 2.5},
]


def test_a_row_an_annotation(read, write):
    cells = [[json.dumps(v) if isinstance(v, dict) else str(v) for v in row.values()] for row in ROWS]
    quoted = ["\t".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    table = write("\n".join(["\t".join(ROWS[0]), *quoted]) + "\n", "project.tsv")
    for votes in (read(ROWS, label="mood"), read_votes(table, label="mood"), read(ROWS), read_votes(table)):
        assert votes.items.tolist() == [3]
        assert votes.multilabel
        assert votes.counts().tolist() == [[1, 2]]
        assert votes.annotator_names.tolist() == [1, 2]
    told = "'text' is not read as labels, being the same in all rows of a task; if it holds them, name it."
    assert read(ROWS).notes == read_votes(table).notes == (told,)
    assert not read(ROWS, label="mood").notes


def row(number, who, **more):
    return {"text": f"t{number}", "id": number, "annotator": who, "annotation_id": number, "lead_time": 1.0, **more}


def comma_separated(rows):
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])


def test_a_control_that_the_first_row_lacks(read):
    rows = [row(1, 1), row(1, 2, mood="good"), row(2, 1, mood="bad")]
    votes = read(rows)
    assert votes == read(rows, label="mood")
    assert (votes.classes, votes.counts().tolist()) == (("bad", "good"), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("rows", "several"),
    [
        ([row(1, 1, mood="good"), row(2, 1, mood="bad")], "'text', 'mood'"),  # nothing has a second row
        ([row(1, 1, mood="good"), row(1, 2, mood="good")], "'text', 'mood'"),
        (
            [row(1, 1, mood="good", tone="warm"), row(1, 2, mood="bad", tone="cold")],
            "'text', 'mood', 'tone'",
        ),
        (  # of the one task with two rows they agree on the mood, and not on how sure they are
            [row(n, 1, mood="good" if n % 2 else "bad", sure=1) for n in range(1, 5)]
            + [row(1, 2, mood="good", sure=2)],
            "'text', 'mood', 'sure'",
        ),
        (
            [row(n, who, mood=f"good {n}", why=f"since {n} {who}") for n in range(1, 7) for who in (1, 2)],
            "'text', 'mood', 'why'",
        ),
    ],
)
def test_rows_that_do_not_tell_which_key_is_the_control(read, write, rows, several):
    for wrong in (lambda: read(rows), lambda: read_votes(write(comma_separated(rows), "project.csv"))):
        with pytest.raises(
            InputError, match=f"that may be a control: {several}; say which holds the labels with label="
        ):
            wrong()


def test_data_of_several_fields_are_no_controls(read, write):
    rows = [row(1, 1, ref=["r"], mood="good"), row(1, 2, ref=["r"], mood="bad"), row(2, 2, ref=["s"], mood="bad")]
    votes = read(rows)
    assert votes == read(rows, label="mood")
    told = "'text' and 'ref' are not read as labels, being the same in all rows of a task; if one holds them, name it."
    assert votes.notes == (told,)
    assert read_votes(write(comma_separated(rows), "project.csv")) == votes


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"label": "mod"}, "unknown control 'mod'; did you mean 'mood'"),
        ({"label": "mood", "annotator": "nope"}, "unknown key 'nope'"),
        ({"label": "mood", "item": "nope"}, "unknown key 'nope'"),
    ],
)
def test_keys_that_no_row_has(read, keywords, message):
    with pytest.raises(InputError, match=rf"project.json: {message}"):
        read(ROWS, **keywords)


def test_an_annotation_that_answers_twice(read):
    same = [task(5, annotation(1, result(["a"]), result(["a"])), annotation(2, result(["b"])))]
    assert read(same).counts().tolist() == [[1, 1]]
    other = [task(5, annotation(1, result(["a"]), result(["b"])))]
    with pytest.raises(InputError, match=r"project.json: task 5: one annotation answers 2 times, not always the same"):
        read(other)
    other[0]["annotations"][0]["was_cancelled"] = True
    assert read([*same, task(6, *other[0]["annotations"])]).n_votes == 2
    rows = [row(1, 1, mood=[{"rating": 4}, {"rating": 2}]), row(1, 2, mood=[{"rating": 4}])]
    with pytest.raises(InputError, match=r"project.json, annotation 1: one annotation answers 2 times"):
        read(rows, label="mood")


def test_who_annotated_cannot_be_named(read):
    with pytest.raises(InputError, match=r"annotator is said to be in 'email', but tasks name who annotated them"):
        read([task(1, annotation(1, result(["a"])))], annotator="email")


@pytest.mark.parametrize(
    "change", [{"annotations": None}, {"data": None}, {"annotations": ["x"]}, {"annotations": [{"result": ["x"]}]}]
)
def test_documents_that_are_no_tasks(read, change):
    with pytest.raises(InputError, match="a shape that is not known here"):
        read([task(1, annotation(1, result(["a"]))), task(2) | change])


def test_a_task_without_an_id_is_none(read):
    one = task(1, annotation(1, result(["a"])))
    del one["id"]
    with pytest.raises(InputError, match="a shape that is not known here"):
        read([one])


def test_an_annotation_without_results_is_no_vote(read):
    empty = annotation(3) | {"result": None}
    assert read([task(1, annotation(1, result(["a"])), annotation(2, result(["b"])), empty)]).n_votes == 2
