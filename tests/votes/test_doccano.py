"""doccano's export: one JSON Lines file an annotator, in a folder or zip."""

from __future__ import annotations

import json
import zipfile

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes


def lines(*labels, key="label", data="text"):
    """All examples of the project, as they stand in every annotator's file."""
    rows = [{"id": 40 + n, data: f"text {n}", key: said, "Comments": []} for n, said in enumerate(labels)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FILES = {
    "ann.jsonl": lines(["good"], ["bad"], []),
    "bob.b.jsonl": lines(["bad"], [], []),
    "cem.jsonl": "",  # nothing was confirmed
}


@pytest.fixture(params=["folder", "zip", "zip of a folder"])
def pack(tmp_path, request):
    """Writes files to a folder or a zip and gives its path."""

    def pack(files):
        if request.param == "folder":
            folder = tmp_path / "export"
            folder.mkdir(exist_ok=True)
            for name, content in files.items():
                (folder / name).write_text(content, encoding="utf-8")
            return folder
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for name, content in files.items():
                archive.writestr(name if request.param == "zip" else f"project/{name}", content)
            archive.writestr("__MACOSX/._ann.jsonl", b"\x00\xff")
        return tmp_path / "export.zip"

    return pack


def test_a_file_is_an_annotator(pack):
    votes = read_votes(pack(FILES))
    assert votes.items.tolist() == [40, 41, 42]
    assert (votes.classes, votes.counts().tolist()) == (("bad", "good"), [[1, 1], [1, 0], [0, 0]])
    assert votes.annotator_names.tolist() == ["ann", "bob.b"]
    assert not votes.multilabel
    assert votes.notes[0].startswith("1 row has no label and is no vote (first: export")
    assert "bob.b.jsonl, line 2" in votes.notes[0]
    assert votes.notes[1:] == ("1 item has no votes (first: 42).",)


def test_no_label_is_no_vote_though_others_have_several(pack):
    votes = read_votes(pack({"ann.jsonl": lines(["a", "b"], ["a"]), "bob.jsonl": lines(["b"], [])}))
    assert votes.multilabel
    assert (votes.counts().tolist(), votes.n_votes) == ([[1, 2], [1, 0]], 3)


@pytest.mark.parametrize(("key", "data"), [("label", "filename"), ("labels", "data"), ("cats", "text")])
def test_keys_of_other_projects_and_versions(pack, key, data):
    files = {f"{who}.jsonl": lines([said], key=key, data=data) for who, said in (("ann", "a"), ("bob", "b"))}
    assert read_votes(pack(files)).counts().tolist() == [[1, 1]]
    assert read_votes(pack(files), item=data).items.tolist() == ["text 0"]
    with pytest.raises(InputError, match=r"export.*: unknown key 'url'"):
        read_votes(pack(files), item="url")


def test_what_nobody_labelled_stands_under_unknown_and_is_an_item(pack):
    unlabelled = lines(["x"], []).splitlines()[1]
    votes = read_votes(pack({"ann.jsonl": lines(["a"]), "bob.jsonl": lines(["b"]), "unknown.jsonl": unlabelled}))
    assert votes.items.tolist() == [40, 41]
    assert votes.annotator_names.tolist() == ["ann", "bob"]


def test_shared_labels_have_lost_their_annotators(pack, tmp_path):
    lost = r"all.jsonl is what doccano writes of a project whose annotators share .*does not say who said what"
    with pytest.raises(InputError, match=rf"{lost}.* does not share them exports a zip with one file an annotator"):
        read_votes(pack({"all.jsonl": lines(["a", "b"], ["a"])}))
    with pytest.raises(InputError, match=rf"{lost}.* Leave it out of the folder\.$"):
        read_votes(pack(FILES | {"all.jsonl": lines(["a", "b"], ["a"])}))
    (tmp_path / "all.jsonl").write_text(lines(["a", "b"], ["a"]))
    with pytest.raises(InputError, match=lost):
        read_votes(tmp_path / "all.jsonl")
    assert read_votes(tmp_path / "all.jsonl", layout="long", item="id").n_votes == 2


def test_a_table_that_is_called_all_is_a_table(tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text('{"item": 1, "label": "a"}\n{"item": 1, "label": "b"}\n')
    assert read_votes(path).counts().tolist() == [[1, 1]]


def test_the_file_of_one_annotator_is_a_table_like_others(tmp_path):
    (tmp_path / "ann.jsonl").write_text(FILES["ann.jsonl"])
    with pytest.raises(InputError, match=r"ann.jsonl has no column 'item' or 'task'; its columns are id, text, label"):
        read_votes(tmp_path / "ann.jsonl")


@pytest.mark.parametrize("label", [[[0, 4, "PER"]], [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 4}]])
def test_spans_are_no_labels(pack, label):
    with pytest.raises(InputError, match=r"bob.jsonl, line 2: 'label' holds .*, but names of labels were expected"):
        read_votes(pack({"ann.jsonl": lines([], []), "bob.jsonl": lines([], label)}))


def test_texts_that_people_wrote_are_no_labels(pack):
    written = {f"{who}.jsonl": lines(*([f"{who} says {n}"] for n in range(6))) for who in ("ann", "bob")}
    with pytest.raises(InputError, match="of what 'label' holds 12 of 12 differ"):
        read_votes(pack(written))


def test_other_files_are_told_of(pack):
    votes = read_votes(pack(FILES | {"readme.txt": "hello"}))
    assert votes.n_votes == 3
    assert votes.notes[0].startswith("1 other file is not read, being no .jsonl (first: '")


def test_files_that_share_no_item_are_told_of(pack):
    parts = lines(["a"], ["b"]).splitlines()
    votes = read_votes(pack({"part-0.jsonl": parts[0], "part-1.jsonl": parts[1]}))
    assert votes.notes[0].startswith("No item is in two files; if these are parts of one table and no annotators")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ('{"id": 1, "text"', r"export.*, dan.jsonl, line 1 is not JSON \(.*\)\. Export it again\."),
        ('\n{"id": 1, "text": "t"}', "dan.jsonl, line 2 is not as doccano writes it"),
        ('{"id": 1, "text": "t", "label": "a"}', "dan.jsonl, line 1 is not as doccano writes it"),
        ("[1]", "dan.jsonl, line 1 is not as doccano writes it, .* Leave other files out"),
    ],
)
def test_damaged_files_are_named(pack, broken, message):
    with pytest.raises(InputError, match=message):
        read_votes(pack(FILES | {"dan.jsonl": broken}))


def test_who_labelled_cannot_be_named(pack):
    with pytest.raises(InputError, match="annotator is said to be in 'user', but doccano names annotators by their"):
        read_votes(pack(FILES), annotator="user")


def test_folders_that_are_no_export(pack):
    with pytest.raises(
        InputError, match=r"It holds .*notes.txt\. Of folders and zips, those of doccano .* name the file"
    ):
        read_votes(pack({"notes.txt": "hello"}))


def test_annotators_in_several_folders_are_not_taken_for_one_project(tmp_path):
    for project in ("one", "two"):
        (tmp_path / "export" / project).mkdir(parents=True)
        (tmp_path / "export" / project / "ann.jsonl").write_text(lines(["a"], ["b"]))
    with pytest.raises(InputError, match="is a directory, but a file of votes was expected"):
        read_votes(tmp_path / "export")


def test_a_file_in_another_encoding(tmp_path):
    (tmp_path / "ann.jsonl").write_text(lines(["a"]))
    (tmp_path / "bob.jsonl").write_bytes(lines(["caf\u00e9"]).encode("latin-1"))
    with pytest.raises(InputError, match=r"bob.jsonl is not UTF-8 text"):
        read_votes(tmp_path)


def test_a_damaged_zip(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content * 20)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(InputError, match=r"export.zip is not a whole zip or npz file"):
        read_votes(path)
    path.write_bytes(whole[:45] + b"\0\0\0\0" + whole[49:])
    with pytest.raises(InputError, match=r"export.zip, ann.jsonl cannot be read \(.*\)\. Unpack or download it again"):
        read_votes(path)
