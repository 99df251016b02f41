"""Exports of labelling tools, folders and zips among them, in ``votes`` and ``compare``."""

import json
import zipfile

import numpy as np
import pytest

PEOPLE = ("ann", "bob", "cem")
ITEMS = 24


def label(item, person):
    """What everybody says, but that one person, now this and now that, contradicts."""
    return ("cat", "dog")[(item % 2) ^ (item % 4 == person)]


def answers(item):
    return [label(item, person) for person in range(3)]


def argilla(path):
    path = path / "records.jsonl"
    records = [
        {
            "id": f"i{item}",
            "text": f"text {item}",
            "animal.responses": answers(item),
            "animal.responses.users": [*PEOPLE],
            "animal.responses.status": ["submitted"] * 3,
        }
        for item in range(ITEMS)
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def argilla_nested(path):
    path = path / "records.json"
    records = [
        {
            "id": f"i{item}",
            "fields": {"text": f"text {item}"},
            "responses": {
                "animal": [{"value": said, "user_id": who} for said, who in zip(answers(item), PEOPLE, strict=True)]
            },
        }
        for item in range(ITEMS)
    ]
    path.write_text(json.dumps(records))
    return path


def doccano_files():
    for person, name in enumerate(PEOPLE):
        rows = [{"id": f"i{item}", "text": f"text {item}", "label": [label(item, person)]} for item in range(ITEMS)]
        yield f"{name}.jsonl", "\n".join(map(json.dumps, rows))


def doccano_folder(path):
    (path / "export").mkdir()
    for name, content in doccano_files():
        (path / "export" / name).write_text(content)
    return path / "export"


def doccano_zip(path):
    with zipfile.ZipFile(path / "export.zip", "w") as archive:
        for name, content in doccano_files():
            archive.writestr(name, content)
    return path / "export.zip"


def manifest(path):
    path = path / "output.manifest"
    rows = []
    for item in range(ITEMS):
        said = [
            {"workerId": who, "annotationData": {"content": json.dumps({"animal": {"label": said}})}}
            for said, who in zip(answers(item), PEOPLE, strict=True)
        ]
        rows.append({"source-ref": f"i{item}", "job": {"annotationsFromAllWorkers": said}})
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def responses(path):
    for item in range(ITEMS):
        folder = path / "worker-response" / "iteration-1" / f"i{item}"
        folder.mkdir(parents=True)
        said = zip(answers(item), PEOPLE, strict=True)
        sent = [{"workerId": who, "answerContent": {"animal": {"label": one}}} for one, who in said]
        (folder / "2023.json").write_text(json.dumps({"answers": sent}))
    return path / "worker-response"


EXPORTS = (argilla, argilla_nested, doccano_folder, doccano_zip, manifest, responses)


@pytest.mark.parametrize("export", EXPORTS)
def test_votes_and_compare_take_exports(run, tmp_path, export):
    file = export(tmp_path).name
    code, out, err = run("votes", file, "--json", "--save", "votes.parquet")
    assert code == 0, err
    told = json.loads(out)
    assert (told["items"], told["votes"], told["annotators"], told["classes"]) == (ITEMS, 72, 3, ["cat", "dog"])
    assert told["unanimous"] == pytest.approx(0.25)
    assert run("votes", "votes.parquet", "--json")[0] == 0
    code, out, _ = run("votes", file)
    items = "--inputs INPUTS" if export in (manifest, responses) else f"--texts {file}"  # texts stand in the others
    assert f"dissensus compare --votes {file} {items}" in out
    names = np.array([f"i{item}" for item in range(ITEMS)])
    np.savez(tmp_path / "x.npz", inputs=np.random.default_rng(0).normal(size=(ITEMS, 3)), ids=names)
    few = ("--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, _, err = run("compare", "--votes", file, "--inputs", "x.npz", *few)
    assert code == 0, err


def test_a_damaged_export_gets_one_clear_sentence(run, tmp_path):
    (doccano_folder(tmp_path) / "dan.jsonl").write_text('{"id": "i0", ')
    for arguments in (("votes", "export"), ("compare", "--votes", "export", "--inputs", "x.npz")):
        code, _, err = run(*arguments)
        assert code == 2
        assert "export, dan.jsonl, line 1 is not JSON" in err
        assert "Traceback" not in err
