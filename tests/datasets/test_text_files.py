from __future__ import annotations

import json
import zipfile

import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import own_data, own_items
from dissensus.datasets.text_files import Columns, Likely, likely_texts, read_texts
from dissensus.votes import Votes

ROWS = [{"id": "b", "text": "Second, one."}, {"id": "a", "text": " First "}, {"id": "c", "text": "second one"}]


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), "utf-8")
    elif path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        pl.DataFrame(rows).write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_texts_come_by_id(tmp_path, ending):
    path = write(tmp_path / f"texts.{ending}", ROWS)
    data = own_data(Votes.from_counts([[2, 1], [0, 3], [1, 0]], items=["a", "b", "c"]), texts=path)
    assert data.inputs.first == (" First ", "Second, one.", "second one")
    assert data.groups.tolist() == [0, 1, 1]
    assert data.name == "own"


def test_pairs_and_groups(tmp_path):
    rows = [row | {"text_pair": f"and {row['id']}", "group": place} for row, place in zip(ROWS, "xyx", strict=True)]
    found = read_texts(write(tmp_path / "texts.csv", rows), Columns())
    assert found.texts.second == ("and b", "and a", "and c")
    assert found.groups.tolist() == [0, 1, 0]


def test_other_columns_are_named(tmp_path):
    rows = [{"pid": number, "premise": "p", "hypothesis": f"h{number}", "thread": 3} for number in (4, 7)]
    columns = Columns("pid", "premise", "hypothesis", "thread")
    found = read_texts(write(tmp_path / "texts.jsonl", rows), columns)
    assert (found.ids, found.texts.second, found.groups.tolist()) == (["4", "7"], ("h4", "h7"), [0, 0])


def test_the_votes_file_may_hold_the_texts(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('task,who,answer,text\n1,x,no,"a, b"\n1,y,yes,"a, b"\n2,x,no,c\n\n')
    data = own_data(path, texts=path, item="task", annotator="who", label="answer")
    assert data.inputs.first == ("a, b", "c")
    assert data.votes.counts().tolist() == [[1, 1], [1, 0]]


def test_the_tasks_of_label_studio_hold_their_texts(tmp_path):
    def said(choice):
        result = {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [choice]}}
        return {"completed_by": 1, "result": [result]}

    tasks = [
        {"id": 8, "data": {"text": "so it is", "score": 2}, "annotations": [said("yes"), said("no")]},
        {"id": 9, "data": {"text": "never", "score": 3}, "annotations": [said("no")]},
    ]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(tasks))
    data = own_data(path, texts=path)
    assert data.votes.items.tolist() == [8, 9]
    assert data.inputs.first == ("so it is", "never")
    tasks[1]["data"]["text"] = 1984
    path.write_text(json.dumps(tasks))
    with pytest.raises(
        InputError, match="text must be of one kind, but position 0 is 'so it is' and position 1 is 1984"
    ):
        own_data(path, texts=path)


def argilla_export(folder):
    users = ("ann", "bob")
    records = [
        {
            "id": row["id"],
            "fields": {"text": row["text"]},
            "responses": {"mood": [{"value": said, "user_id": who} for said, who in zip("xy", users, strict=True)]},
        }
        for row in ROWS
    ]
    (folder / "records.json").write_text(json.dumps(records))
    return folder / "records.json"


def label_studio_min_export(folder):
    """An annotation a row; one control that takes one choice, and one that takes several."""
    rows = [
        row | {"annotator": who, "annotation_id": 9, "lead_time": 1.5, "mood": said, "topics": {"choices": ["p", "q"]}}
        for row in ROWS
        for who, said in ((1, "x"), (2, "y"))
    ]
    return write(folder / "rows.json", rows)


def doccano_export(folder):
    for who, said in (("ann", "x"), ("bob", "y")):
        write(folder / f"{who}.jsonl", [row | {"label": [said]} for row in ROWS])
    return folder


def doccano_zip(folder):
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        for path in sorted(doccano_export(folder).glob("*.jsonl")):
            archive.write(path, path.name)
    return folder / "export.zip"


@pytest.mark.parametrize("export", [argilla_export, doccano_export, doccano_zip, label_studio_min_export])
def test_exports_hold_their_texts(tmp_path, export):
    path = export(tmp_path)
    data = own_data(path, texts=path, **({"label": "mood"} if export is label_studio_min_export else {}))
    assert data.votes.items.tolist() == ["b", "a", "c"]
    assert data.votes.counts().tolist() == [[1, 1]] * 3
    assert data.inputs.first == ("Second, one.", " First ", "second one")


def test_the_numbers_that_tasks_come_with_may_be_their_ids(tmp_path):
    result = {"from_name": "mood", "type": "choices", "value": {"choices": ["x"]}}
    tasks = [
        {"id": 8 - at, "data": {"text": row["text"], "pid": at}, "annotations": [{"result": [result]}]}
        for at, row in enumerate(ROWS)
    ]
    tasks[0]["annotations"].append({"result": [result | {"value": {"choices": ["y"]}}]})
    path = write(tmp_path / "project.json", tasks)
    data = own_data(path, texts=path, item="pid")
    assert (data.votes.items.tolist(), data.inputs.first[2]) == ([0, 1, 2], "second one")


def prodigy_export(folder, **more):
    """A line a task and session, with ids that nobody votes by."""
    lines = [
        {"text": row["text"], "id": f"mine {row['id']}", "_input_hash": at - 1, "_task_hash": 100 + at, **more}
        | {"accept": [said], "answer": "accept", "_session_id": who}
        for at, row in enumerate(ROWS)
        for who, said in (("ann", "x"), ("bob", "y"))
    ]
    return write(folder / "annotations.jsonl", lines)


@pytest.mark.parametrize(
    ("reading", "items"),
    [
        ({}, [-1, 0, 1]),
        ({"item": "id"}, ["mine b", "mine a", "mine c"]),
        ({"item": "_task_hash"}, [100, 101, 102]),
    ],
)
def test_the_tasks_of_prodigy_hold_their_texts_by_the_ids_of_their_votes(tmp_path, reading, items):
    path = prodigy_export(tmp_path)
    data = own_data(path, texts=path, **reading)
    assert data.votes.items.tolist() == items
    assert data.votes.counts().tolist() == [[1, 1]] * 3
    assert data.inputs.first == ("Second, one.", " First ", "second one")


def test_where_prodigy_offers_a_label_the_task_is_the_item(tmp_path):
    lines = [
        {"text": row["text"], "label": "SPORTS", "_input_hash": at, "_task_hash": 100 + at, "answer": said}
        | {"_session_id": said}
        for at, row in enumerate(ROWS)
        for said in ("accept", "reject")
    ]
    path = write(tmp_path / "annotations.jsonl", lines)
    for reading, items in (({}, [100, 101, 102]), ({"label": "answer"}, [100, 101, 102])):
        data = own_data(path, texts=path, **reading)
        assert (data.votes.items.tolist(), data.inputs.first[1]) == (items, " First ")
    assert own_items(texts=path)[0] == ["100", "101", "102"]
    path.write_text(path.read_text().replace('"reject", "_s', '"accept", "_s').replace("SPORTS", "NEWS", 1))
    assert own_data(path, texts=path, label="label").votes.items.tolist() == [0, 1, 2]


def test_new_texts_of_an_export_come_once(tmp_path):
    told = []
    ids, texts = own_items(texts=prodigy_export(tmp_path), say=told.append)
    assert (ids, texts.first) == (["-1", "0", "1"], ("Second, one.", " First ", "second one"))
    assert told == [
        f"3 of 6 rows in {tmp_path}/annotations.jsonl repeat an id and its text; each is read once: 3 items."
    ]
    assert own_items(texts=label_studio_min_export(tmp_path))[0] == ["b", "a", "c"]


def test_rows_that_are_read_once_are_told_of(tmp_path):
    told = []
    rows = [{"id": name, "text": f"text {name}"} for name in (1, 2, 1)]
    ids, _ = own_items(texts=write(tmp_path / "new.csv", rows), say=told.append)
    assert ids == ["1", "2"]
    assert told == [f"1 of 3 rows in {tmp_path}/new.csv repeats an id and its text; each is read once: 2 items."]
    assert own_items(texts=write(tmp_path / "new.csv", rows[:2]), say=pytest.fail)[0] == ["1", "2"]


def test_the_column_of_votes_is_none_of_texts_whatever_it_is_called(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,group,text\na,x,no,one\na,y,yes,one\nb,x,no,two\n")
    assert own_data(path, texts=path, label="group").groups.tolist() == [0, 1]


def test_texts_of_an_export_by_another_key(tmp_path):
    for who, said in (("ann", "x"), ("bob", "y")):
        rows = [row | {"title": f"T {row['id']}", "label": [said]} for row in ROWS]
        write(tmp_path / f"{who}.jsonl", rows)
    assert own_data(tmp_path, texts=tmp_path, text="title").inputs.first == ("T b", "T a", "T c")


def test_folders_that_hold_no_texts(tmp_path):
    (tmp_path / "x.png").write_bytes(b"x")
    with pytest.raises(InputError, match="is no table of texts"):
        read_texts(tmp_path, Columns())


def test_ids_are_compared_as_they_are_written(tmp_path):
    path = write(tmp_path / "texts.csv", [{"id": "7", "text": "a"}, {"id": "8", "text": "b"}])
    data = own_data(Votes.from_counts([[1, 0], [0, 1]], items=[8, 7]), texts=path)
    assert data.inputs.first == ("b", "a")
    with pytest.raises(InputError, match=r"2 items \('007', '008'\) have votes but no text in .*No id is in both"):
        own_data(Votes.from_counts([[1, 0], [0, 1]], items=["007", "008"]), texts=path)


def test_texts_without_votes_are_left_out_and_told(tmp_path):
    votes = Votes.from_counts([[1, 0], [0, 1]], items=["a", "b"])
    data = own_data(votes, texts=write(tmp_path / "texts.csv", ROWS))
    assert data.inputs.first == (" First ", "Second, one.")
    assert data.votes.notes[0] == "Texts without votes are left out: 1 of 3 (first: 'c')."


def test_a_row_without_a_text_is_refused_only_if_there_are_votes_on_it(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("id,text\na,one\nb,two\nc,\n")
    assert own_data(Votes.from_counts([[1, 1], [0, 1]], items=["a", "b"]), texts=path).inputs.first == ("one", "two")
    votes = Votes.from_counts([[1, 1], [0, 1], [1, 0]], items=["a", "b", "c"])
    with pytest.raises(InputError, match="line 4: there is no text"):
        own_data(votes, texts=path)
    data = own_data(votes, texts=path, others="drop")
    assert data.inputs.first == ("one", "two")
    assert data.votes.notes == ("Items without texts are left out: 1 of 3 (first: 'c').",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,text\na,one\na,other\n", "texts.csv, line 3: item 'a' stood there before, with another text"),
        (
            "id,text\na,one\nb,\n",
            "texts.csv, line 3: there is no text. Leave such items out; .* with others=",
        ),
        ("id,text\na,one\n,two\n", "texts.csv, line 3: there is no id"),
        ("id,words\na,one\n", "has no column 'text'; its columns are id, words. .* with text=..."),
        ("name,text\na,one\n", "has no column 'id' or 'item' or 'task'; .* with ids=..."),
        ("id,item,text\na,a,one\n", "has the columns 'id' and 'item'; say which is the ids with ids=..."),
        ("id,text\na, \n", "line 2: there is no text"),
        ('[{"id": "a"}]', "has no column 'text'; its columns are id. .* with text=..."),
        ('[{"id": "a", "text": {"en": "one"}}]', r"is no table of texts: CSV, TSV, JSON \(a list of flat objects\)"),
        ("text\none\ntwo\n", "texts.csv has one column only, 'text'; a table has several, ids in one of them"),
        ("", "is empty, but a table of texts was expected"),
        (" \n\n", "texts.csv holds nothing but blanks, but a table was expected"),
        ("id,text\n,\n\n", "texts.csv has no rows but blank ones"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "texts.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_texts(tmp_path / "texts.csv", Columns())


NUMBERED = {
    "one column": ("x.csv", 'text\na man\n\n"a dog, too"\na man\n\n', ("a man", "a dog, too", "a man")),
    "other columns": ("x.csv", "text,from\na man,web\n,\na dog,\n\n", ("a man", "a dog")),
    "numbers": ("x.csv", "text\n42\n7\n", ("42", "7")),
    "JSON Lines": ("x.jsonl", '{"text": "a man"}\n{"text": "a dog"}\n', ("a man", "a dog")),
}


@pytest.mark.parametrize(("name", "text", "said"), NUMBERED.values(), ids=NUMBERED)
def test_rows_without_ids_are_numbered_where_nobody_voted(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    found = read_texts(tmp_path / name, Columns(), voted=False)
    assert (found.ids, found.texts.first) == ([str(row) for row in range(len(said))], said)
    with pytest.raises(InputError, match=r"one column only|has no column 'id'"):
        read_texts(tmp_path / name, Columns())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,from\na man,web\n,web\n", r"x, line 3: there is no text\. Leave .* with others=\"drop\"$"),
        (
            '{"text": "a man"}\n{"text": null}\n',
            r"x, line 2: there is no text\. Leave such items out with others=\"drop\"$",
        ),
        ("id,text\na,a man\n,a dog\n", r"x, line 3: there is no id\. Leave such items out\.$"),
        ("a man\na dog\n", "x has no column 'text'; its columns are a man. .* with text=..."),
        ("text\n\n\n", "x has no rows but blank ones"),
        ("id\na\n", "x has no column 'text'; its columns are id."),
    ],
)
def test_no_text_is_lost_where_rows_are_numbered(tmp_path, text, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        read_texts(tmp_path / "x", Columns(), voted=False)


def test_new_items_without_a_text_are_left_out_and_rows_that_are_numbered_are_told_of(tmp_path):
    told = []
    path = write(
        tmp_path / "new.csv", [{"id": "a", "text": "A dog."}, {"id": "b", "text": " "}, {"id": "c", "text": "No."}]
    )
    ids, texts = own_items(texts=path, others="drop", say=told.append)
    assert (ids, texts.first) == (["a", "c"], ("A dog.", "No."))
    assert told == ["Items without a text are left out: 1 of 3 (first: 'b')."]
    told.clear()
    path.write_text("key,text\na,A dog.\nb,\nc,No.\n")
    assert own_items(texts=path, others="drop", say=told.append)[0] == ["0", "2"]
    numbered = f"Rows of {path} are numbered from 0: no column is called id, item or task. If one holds ids, name it."
    assert told == [numbered, "Items without a text are left out: 1 of 3 (first: '1')."]
    told.clear()
    assert own_items(texts=path, ids="key", others="drop", say=told.append)[0] == ["a", "c"]
    path.write_text("text\nA dog.\n")
    assert own_items(texts=path, say=told.append)[0] == ["0"]  # there is nothing else that might hold ids
    assert told == ["Items without a text are left out: 1 of 3 (first: 'b')."]
    path.write_text("id,text\na,\n")
    with pytest.raises(InputError, match="has no rows but blank ones and those without a text"):
        own_items(texts=path, others="drop")
    with pytest.raises(InputError, match='others must be "error" or "drop", but it is \'skip\''):
        own_items(texts=path, others="skip")
    with pytest.raises(InputError, match=r"leaves items without a text out, but x\.npz is no table of texts"):
        own_items("x.npz", others="drop")


def test_numbers_are_texts_only_where_cells_have_no_types(tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\n1,42\n2,007\n")
    assert read_texts(tmp_path / "texts.csv", Columns()).texts.first == ("42", "007")
    (tmp_path / "texts.csv").write_text("id,text\n1,42\n2,7\n")
    assert read_texts(tmp_path / "texts.csv", Columns()).texts.first == ("42", "7")
    path = write(tmp_path / "texts.jsonl", [{"id": 1, "text": 3}])
    with pytest.raises(InputError, match="line 1: the text is 3, which is no text"):
        read_texts(path, Columns())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give one of the two"),
        ({"inputs": "x.npy", "texts": "t.csv"}, "give one of the two"),
        ({"texts": "t.csv", "size": (8, 8)}, "is for folders of images, but t.csv is a table of texts"),
        ({"inputs": "x.npy", "text": "premise"}, "name columns of a table of texts, but x.npy is none"),
        ({"inputs": "x.npy", "texts_delimiter": ";"}, "texts_delimiter=';' is for a table of texts, but x.npy is none"),
        ({"texts": "t.csv"}, "t.csv does not exist; a table of texts was expected"),
    ],
)
def test_inputs_and_texts_do_not_mix(given, message):
    with pytest.raises(InputError, match=message):
        own_data(Votes.from_counts([[1, 0], [0, 1]]), **given)


def test_an_annotator_called_group_makes_no_groups(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,text,ann,group\na,one,yes,no\nb,two,no,no\nc,three,yes,yes\n")
    data = own_data(path, texts=path, annotators=("ann", "group"))
    assert data.votes.votes_per_item.tolist() == [2, 2, 2]
    assert len(set(data.groups.tolist())) == 3
    data = own_data(path, texts=path, annotators=("ann",))
    assert data.groups.tolist() == [0, 0, 1]


def test_columns_of_texts_are_cut_where_it_is_said(tmp_path):
    votes = tmp_path / "labels.csv"
    votes.write_text("item,label\na,yes\nb,no\n")
    texts = tmp_path / "texts.txt"
    texts.write_text("id|text|as; written\na|one; two|x\nb|three|y\n")
    with pytest.raises(
        InputError, match=r"texts.txt can be cut at ';' or '\|'; say which with texts_delimiter=\.\.\.$"
    ):
        own_data(votes, texts=texts)
    assert own_data(votes, texts=texts, texts_delimiter="|").inputs.first == ("one; two", "three")
    assert own_data(Votes.from_counts([[1, 0], [0, 1]], items=["a", "b"]), texts=texts, texts_delimiter="|").texts
    with pytest.raises(InputError, match=r"a delimiter is one character, but '\|\|' was given"):
        own_data(votes, texts=texts, texts_delimiter="||")


def test_texts_and_votes_may_be_cut_at_different_places(tmp_path):
    (tmp_path / "labels.csv").write_text("item|label|a,b\na|yes|1\nb|no|2\n")
    (tmp_path / "texts.csv").write_text("id;text;so, why\na;one, two;1\nb;three;2\n")
    data = own_data(
        tmp_path / "labels.csv", texts=tmp_path / "texts.csv", delimiter="|", texts_delimiter=";", label="label"
    )
    assert data.inputs.first == ("one, two", "three")
    assert data.votes.counts().tolist() == [[0, 1], [1, 0]]


def test_a_file_of_votes_and_texts_has_one_delimiter(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item;label;text\na;yes;one\nb;no;two\n")
    with pytest.raises(InputError, match=r"holds the votes as well; say where its columns end with delimiter=\.\.\.$"):
        own_data(path, texts=path, texts_delimiter=";")
    assert own_data(path, texts=path, delimiter=";").inputs.first == ("one", "two")


LIKELY = {
    "texts": ([f"so it is with {n}" for n in range(20)], Likely("what", gaps=False)),
    "a gap": (["", *(f"so it is with {n}" for n in range(1, 20))], Likely("what", gaps=True)),
    "few words": ([f"item {n}" for n in range(20)], None),
    "few texts": (["at some other place", "at this very place"] * 10, None),
}


@pytest.mark.parametrize("held", LIKELY)
def test_a_column_that_reads_like_texts_is_likely_to_hold_them(tmp_path, held):
    texts, expected = LIKELY[held]
    rows = [
        {"nr": item, "who": who, "label": "xy"[item % 2], "what": text, "when": f"on day {2 * item} or {who}"}
        for item, text in enumerate(texts)
        for who in "pq"
    ]
    path = write(tmp_path / "votes.csv", rows)
    assert likely_texts(path, {"item": "nr", "annotator": "who"}) == expected
    assert likely_texts(path, {"item": "nr", "annotator": "who", "label": "what"}) is None
    assert likely_texts(path, {}) is None  # the items are not known
    if expected:
        longer = [{**row, "longer": f"{row['what']} and more of it"} for row in rows]
        assert likely_texts(write(tmp_path / "two.csv", longer), {"item": "nr"}).name == "longer"


@pytest.mark.parametrize("kind", ["texts", "comments"])
def test_of_votes_that_come_annotator_by_annotator_all_rows_are_looked_at(tmp_path, kind):
    """The first thousand were each a different item: comments on votes, one for each, were taken for texts."""
    rows = [
        {
            "item": item,
            "annotator": who,
            "label": "x",
            "said": f"so it is with {item} {who if kind == 'comments' else ''}",
        }
        for who in "pq"
        for item in range(1200)
    ]
    found = likely_texts(write(tmp_path / "votes.csv", rows), {})
    assert found == (Likely("said", gaps=False) if kind == "texts" else None)
