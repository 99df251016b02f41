"""SageMaker Ground Truth: output manifests of custom jobs, and the responses of workers."""

from __future__ import annotations

import json
import zipfile

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes


def worker(who, **form):
    return {"workerId": who, "annotationData": {"content": json.dumps(form)}}


def entry(number, *workers, job="mood-job", **more):
    said = {"annotationsFromAllWorkers": [*workers]}
    about = {"type": "groundtruth/custom", "job-name": job, "human-annotated": "yes"}
    return {"source-ref": f"s3://bucket/{number}.png", job: said, f"{job}-metadata": about, **more}


def lines(*entries):
    return "".join(json.dumps(one) + "\n" for one in entries)


GOOD, BAD = {"mood": {"label": "good"}}, {"mood": {"label": "bad"}}
MANIFEST = [
    entry(0, worker("w1", **GOOD), worker("w2", **BAD)),
    entry(1, worker("w1", **GOOD), worker("w3", **GOOD)),
    {"source-ref": "s3://bucket/2.png", "mood-job-metadata": {"failure-reason": "expired", "job-name": "mood-job"}},
]


@pytest.mark.parametrize("dump", [lambda rows: lines(*rows), json.dumps, lambda rows: json.dumps(rows, indent=1)])
def test_a_manifest_with_what_all_workers_said(write, dump):
    votes = read_votes(write(dump(MANIFEST), "output.manifest"))
    assert votes.items.tolist() == [f"s3://bucket/{n}.png" for n in range(3)]
    assert (votes.classes, votes.counts().tolist()) == (("bad", "good"), [[1, 1], [0, 2], [0, 0]])
    assert votes.annotator_names.tolist() == ["w1", "w2", "w3"]
    assert votes.notes == ("1 item has no votes (first: 's3://bucket/2.png').",)


def test_items_are_texts_or_what_is_named(write):
    rows = [entry(n, worker("w1", **GOOD), worker("w2", **BAD), source=f"text {n}", ref=n) for n in range(2)]
    for row in rows:
        del row["source-ref"]
    path = write(lines(*rows), "output.manifest")
    assert read_votes(path).items.tolist() == ["text 0", "text 1"]
    assert read_votes(path, item="ref").items.tolist() == [0, 1]
    with pytest.raises(
        InputError, match=r"output.manifest, line 1: there is no 'id'; name the key of the items with item="
    ):
        read_votes(path, item="id")


@pytest.mark.parametrize(
    ("first", "second", "counts", "multilabel"),
    [
        ({"q": {"labels": ["a", "b"]}}, {"q": {"labels": ["b"]}}, [[1, 2]], True),
        ({"q": {"a": True, "b": False}}, {"q": {"a": False, "b": True}}, [[1, 1]], False),
        ({"q": 3}, {"q": 1}, [[1, 1]], False),
        ({"q": "a"}, {"q": "b"}, [[1, 1]], False),
    ],
)
def test_shapes_of_answers(write, first, second, counts, multilabel):
    votes = read_votes(write(lines(entry(0, worker("w1", **first), worker("w2", **second))), "output.manifest"))
    assert (votes.counts().tolist(), votes.multilabel) == (counts, multilabel)


def test_several_questions(write):
    rows = [entry(0, worker("w1", tone="x", **GOOD), worker("w2", tone="y", **BAD))]
    path = write(lines(*rows), "output.manifest")
    with pytest.raises(InputError, match=r"output.manifest has several questions: 'tone', 'mood'; say .* label="):
        read_votes(path)
    assert read_votes(path, label="tone").classes == ("x", "y")
    with pytest.raises(InputError, match="unknown question 'tune'; did you mean 'tone'"):
        read_votes(path, label="tune")


def test_jobs_that_follow_each_other(write):
    second = entry(0, worker("w8", **GOOD), worker("w9", **GOOD), job="again")
    path = write(lines({**MANIFEST[0], **second}, MANIFEST[1]), "output.manifest")
    with pytest.raises(InputError, match="several questions: 'mood-job:mood', 'again:mood'"):
        read_votes(path)
    first = read_votes(path, label="mood-job:mood")
    assert (first.counts().tolist(), first.notes) == ([[1, 1], [0, 2]], ())
    again = read_votes(path, label="again:mood", classes=["bad", "good"])
    assert again.annotator_names.tolist() == ["w8", "w9"]


BOXES = {"annotatedResult": {"boundingBoxes": [{"label": "cat", "top": 1}]}}


def test_boxes_are_no_labels(write):
    path = write(lines(entry(0, worker("w1", **BOXES))), "output.manifest")
    with pytest.raises(InputError, match=r"output.manifest: the answers to 'annotatedResult' are no labels"):
        read_votes(path)
    path = write(lines(entry(0, worker("w1", **BOXES, **GOOD), worker("w2", **BAD))), "output.manifest")
    assert read_votes(path).counts().tolist() == [[1, 1]]
    with pytest.raises(InputError, match="the answers to 'annotatedResult' are no labels"):
        read_votes(path, label="annotatedResult")


@pytest.mark.parametrize("content", ['{"mood": ', '"good"', "[1]"])
def test_what_is_no_json_within_json(write, content):
    broken = {"workerId": "w7", "annotationData": {"content": content}}
    path = write(lines(MANIFEST[0], entry(1, broken)), "output.manifest")
    with pytest.raises(InputError, match=r"output.manifest, line 2: what worker 'w7' sent is no JSON object, but"):
        read_votes(path)


def test_an_annotation_without_data(write):
    path = write(json.dumps([entry(0, {"workerId": "w1"})]), "output.json")
    with pytest.raises(InputError, match=r"output.json, entry 0: annotationsFromAllWorkers holds"):
        read_votes(path)


def test_who_answered_cannot_be_named(write):
    with pytest.raises(InputError, match="'sub', but Ground Truth names workers in 'workerId'"):
        read_votes(write(lines(*MANIFEST), "output.manifest"), annotator="sub")


# -- the responses of workers


def response(*answers):
    said = [
        {
            "acceptanceTime": "2023-05-01T10:00:00Z",
            "answerContent": form,
            "submissionTime": "2023-05-01T10:00:09Z",
            "timeSpentInSeconds": 9.1,
            "workerId": who,
            "workerMetadata": {"identityData": {"identityProviderType": "Cognito", "sub": "x"}},
        }
        for who, form in answers
    ]
    return json.dumps({"answers": said})


def choice(label):
    return {"crowd-image-classifier": {"label": label}}


JOB = {
    "annotations/worker-response/iteration-1/0/2023-05-01_10:00:09.json": response(
        ("w1", choice("cat")), ("w2", choice("dog"))
    ),
    "annotations/worker-response/iteration-1/10/2023-05-01_10:01:09.json": response(("w1", json.dumps(choice("cat")))),
    "annotations/worker-response/iteration-2/2/2023-05-01_11:00:09.json": response(
        ("w2", choice("dog")), ("w3", choice("dog"))
    ),
    "annotations/worker-response/iteration-2/3/2023-05-01_11:00:09.json": response(),
    "annotations/consolidated-annotation/consolidation-request/iteration-1/2023-05-01_10:00:10.json": "[]",
    "manifests/output/output.manifest": '{"source-ref": "s3://b/0.png", "job": 0}\n',
}


@pytest.fixture(params=["job", "worker-response", "zip"])
def pack(tmp_path, request):
    def pack(files):
        if request.param == "zip":
            with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
            return tmp_path / "job.zip"
        for name, content in files.items():
            path = tmp_path / "job" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path / "job" if request.param == "job" else tmp_path / "job/annotations/worker-response"

    return pack


def test_responses_of_workers(pack):
    votes = read_votes(pack(JOB))
    assert sorted(votes.items.tolist()) == [0, 2, 3, 10]
    by_item = dict(zip(votes.items.tolist(), votes.counts().tolist(), strict=True))
    assert by_item == {0: [1, 1], 10: [1, 0], 2: [0, 2], 3: [0, 0]}
    assert (votes.classes, sorted(votes.annotator_names.tolist())) == (("cat", "dog"), ["w1", "w2", "w3"])
    assert votes.notes == ("1 item has no votes (first: 3).",)


@pytest.mark.parametrize("content", ["{", "[]", '{"answers": {}}', '{"answers": [{"workerId": "w1"}]}'])
def test_responses_that_are_damaged_are_named(pack, content):
    file = "annotations/worker-response/iteration-1/7/broken.json"
    with pytest.raises(InputError, match=r"iteration-1/7/broken.json is not \{'answers': .*Download it again"):
        read_votes(pack(JOB | {file: content}))


def test_items_of_responses_cannot_be_named(pack):
    with pytest.raises(InputError, match="items are named by the folders of their responses"):
        read_votes(pack(JOB), item="source-ref")
