"""A row an item, its votes in a list."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.votes import Votes, read_votes

ITEMS = ["a", "a", "a", "b", "b", "c"]
LABELS = ["x", "y", "x", "y", "y", "z"]
PEOPLE = ["ann", "bob", "cem", "bob", "ann", "eve"]
UNSIGNED = Votes.from_records(items=ITEMS, labels=LABELS)
SIGNED = Votes.from_records(items=ITEMS, labels=LABELS, annotators=PEOPLE)

LISTS = [("a", ["x", "y", "x"], ["ann", "bob", "cem"]), ("b", ["y", "y"], ["bob", "ann"]), ("c", ["z"], ["eve"])]
IN_TEXT = [
    "{0}".format,
    lambda said: json.dumps(said),
    lambda said: ",".join(said),
    lambda said: ", ".join(said),
    lambda said: ";".join(said),
    lambda said: " | ".join(said),
]


def rows(*names):
    return [{name: row[at] for at, name in enumerate(names)} for row in LISTS]


def json_lines(table):
    return "".join(json.dumps(row) + "\n" for row in table)


def quoted(table, written=str):
    cells = [[cell if isinstance(cell, str) else written(cell) for cell in row.values()] for row in table]
    return "\n".join("\t".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [list(table[0]), *cells])


def test_every_entry_is_a_vote(write):
    table = rows("item", "labels")
    for source in (
        write(json_lines(table), "votes.jsonl"),
        write(json.dumps(table), "votes.json"),
        pl.DataFrame(table),
        pd.DataFrame(table),
    ):
        votes = read_votes(source, layout="lists")
        assert votes == UNSIGNED
        assert not votes.notes
    assert read_votes(pl.DataFrame(rows("id", "answer")), item="id", label="answer", layout="lists") == UNSIGNED


def test_annotators_stand_in_the_same_order(write):
    table = rows("item", "labels", "annotators")
    assert read_votes(write(json_lines(table), "votes.jsonl"), layout="lists") == SIGNED
    assert read_votes(write(json_lines(table), "votes.jsonl"), layout="lists", anonymous=True) == UNSIGNED
    named = pl.DataFrame(rows("id", "said", "who"))
    assert read_votes(named, item="id", label="said", annotator="who", layout="lists") == SIGNED


def test_lists_of_one_length_in_arrow(write, tmp_path):
    frame = pl.DataFrame({"item": [1, 2], "label": [[1, 2], [2, 2]]}, schema_overrides={"label": pl.Array(pl.Int64, 2)})
    frame.write_parquet(tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet", layout="lists").counts().tolist() == [[1, 1], [0, 2]]
    with pytest.raises(InputError, match=r"row 1: the label 2 is there twice"):
        read_votes(tmp_path / "votes.parquet")
    several = frame.with_columns(label=pl.Series([[1, 2], [2, 3]], dtype=pl.Array(pl.Int64, 2)))
    assert read_votes(several).counts().tolist() == [[1, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize("written", IN_TEXT)
def test_lists_in_text(write, written):
    assert read_votes(write(quoted(rows("item", "labels"), written), "votes.tsv"), layout="lists") == UNSIGNED
    table = rows("item", "labels", "annotators")
    assert read_votes(write(quoted(table, written), "votes.tsv"), layout="lists") == SIGNED
    texts = [{name: cell if isinstance(cell, str) else written(cell) for name, cell in row.items()} for row in table]
    assert read_votes(write(json_lines(texts), "votes.jsonl"), layout="lists") == SIGNED


def test_labels_and_annotators_may_be_written_in_two_ways(write):
    text = "item\tlabels\tannotators\na\t[x,y,x]\tann;bob;cem\nb\t[y,y]\tbob;ann\nc\t[z]\teve\n"
    text = text.replace("x", "'x'").replace("y", "'y'").replace("z", "'z'")
    assert read_votes(write(text), layout="lists") == SIGNED
    assert read_votes(write(text), layout="lists", separator=";") == SIGNED
    for keywords in ({}, {"separator": ";"}):
        with pytest.raises(InputError, match=r'as "wide" .* or "lists"'):
            read_votes(write(text), **keywords)


def test_lists_of_numbers_in_text(write):
    for cells in (('"1,2,1"', '"10,2"'), ('"[1, 2, 1]"', '"[10, 2]"'), ("\"['1', '2', '1']\"", "\"['10', '2']\"")):
        path = write("item,labels\n7,{}\n8,{}\n".format(*cells))
        votes = read_votes(path, layout="lists")
        assert (votes.items.tolist(), votes.classes) == ([7, 8], (1, 2, 10))
        assert votes.counts().tolist() == [[2, 1, 0], [0, 1, 1]]
        assert read_votes(path, layout="lists", classes=["10", "2", "1"]).classes == ("10", "2", "1")


def test_what_stands_between_votes_can_be_said(write):
    path = write('item,labels\na,"Paris, France; Rome, Italy"\nb,"Rome, Italy"\n')
    with pytest.raises(InputError, match=r"'labels' can be cut at ',' and ';'; say what .* with separator=\.\.\.$"):
        read_votes(path, layout="lists")
    assert read_votes(path, layout="lists", separator=";").classes == ("Paris, France", "Rome, Italy")
    path = write("item,labels\na,x y x\nb,y\n")
    with pytest.raises(InputError, match=r"'labels' is no list: .* with separator=\.\.\.$"):
        read_votes(path, layout="lists")
    assert read_votes(path, layout="lists", separator=" ").counts().tolist() == [[2, 1], [0, 1]]


def test_labels_may_have_brackets_of_their_own(write):
    path = write('item,labels\na,"(a), (b)"\nb,(b)\n')
    assert read_votes(path, layout="lists").counts().tolist() == [[1, 1], [0, 1]]


def test_items_without_votes_and_entries_without_a_label(write):
    table = [
        {"item": "a", "labels": ["x", None, "y"], "annotators": ["ann", "bob", "cem"]},
        {"item": "b", "labels": [], "annotators": []},
        {"item": "c", "labels": None, "annotators": None},
        {"item": "d", "labels": ["y", "unsure"], "annotators": ["ann", "bob"]},
    ]
    votes = read_votes(write(json_lines(table), "votes.jsonl"), layout="lists", ignore=["unsure"])
    assert votes.counts().tolist() == [[1, 1], [0, 0], [0, 0], [0, 1]]
    assert votes.notes == (
        "1 answer is no vote: 1 'unsure'.",
        "1 row has no label and is no vote (first: votes.jsonl, line 1, vote 2).",
        "2 items have no votes (first: 'b').",
    )
    votes = read_votes(write('item,labels\na,"x, ,y"\n\nb,\nc,y\n'), layout="lists")
    assert votes.counts().tolist() == [[1, 1], [0, 0], [0, 1]]


def test_each_vote_of_a_list_may_name_several_classes(write):
    table = [{"item": "a", "labels": [["x"], ["x", "y"]]}, {"item": "b", "labels": [["y"]]}]
    votes = read_votes(write(json_lines(table), "votes.jsonl"), layout="lists")
    assert (votes.multilabel, votes.counts().tolist(), votes.n_votes) == (True, [[2, 1], [0, 1]], 3)
    assert not votes.notes
    written = write(quoted(table, json.dumps), "votes.tsv")
    assert read_votes(written, layout="lists", classes=["x", "y"]) == votes


MISTAKES = {
    "lengths": (
        '{"item": 1, "labels": ["x", "y"], "annotators": ["ann"]}\n',
        {},
        r"line 1: there is a list of 2 labels for 1 annotator, .* with anonymous=True$",
    ),
    "no lists": ('{"item": 1, "labels": 2}\n{"item": 2, "labels": 3}\n', {}, "'labels' holds no lists, but Int64"),
    "no text": ('{"item": 1, "labels": ["x"]}\n', {"separator": ","}, "separator=',' cuts lists of text"),
    "no labels": ('{"item": 1, "votes": ["x"]}\n', {}, r"no column 'labels' or 'annotations' or 'label'; .*label="),
    "no item": ('{"id": 1, "labels": ["x"]}\n', {}, r"no column 'item' or 'task'; .*item="),
    "a class": (
        '{"item": 1, "labels": ["x"]}\n{"item": 2, "labels": ["y", "z"]}\n',
        {"classes": ["x", "y"]},
        "line 2, vote 2: the label 'z' is not one of the classes",
    ),
    "someone": (
        '{"item": 1, "labels": ["x", "y"], "annotators": ["ann", null]}\n',
        {},
        r"line 1, vote 2: the annotator is missing.* with anonymous=True$",
    ),
    "NumPy's": ("item,labels\na,\"['x' 'y']\"\nb,\"['x']\"\n", {}, r"line 2: \"\['x' 'y'\]\" is no list as JSON"),
    "code": ('item,labels\na,"[print(1)]"\n', {}, r"line 2: '\[print\(1\)\]' is no list as JSON or Python write it"),
    "two ways": (
        "item,labels\na,\"['x', 'y']\"\n\nb,x\n",
        {},
        r"line 4: 'x' is no list as JSON or Python write it, as cells .* are read of which one begins with '\['",
    ),
    "a tuple": (
        "item,labels\na,\"('x', 'y')\"\n",
        {},
        r"line 2: the list \"\('x', 'y'\)\" is in brackets that are not",
    ),
    "PostgreSQL's": ('item,labels\na,x\n\nb,"{x,y}"\n', {}, r"line 4: the list '\{x,y\}' is in brackets that are not"),
    "an item twice": (
        'item,labels\n7,"x,y"\n\n8,x\n7,y\n',
        {},
        r"line 5: item 7 was there before \(.*, line 2\), but a row is an item here",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told(write, mistake):
    content, keywords, message = MISTAKES[mistake]
    with pytest.raises(InputError, match=message):
        read_votes(write(content, "votes"), layout="lists", **keywords)


# -- where nobody said that lists hold votes


@pytest.mark.parametrize("name", ["label", "labels", "answer"])
def test_a_label_twice_in_a_list_is_no_vote_for_several_classes(write, name):
    path = write(json_lines(rows("item", name)), "votes.jsonl")
    keywords = {"label": name} if name == "answer" else {}
    with pytest.raises(InputError, match=r'line 1.*: the label \'x\' is there twice.* with layout="lists"$'):
        read_votes(path, **keywords)
    assert read_votes(path, layout="lists", **keywords) == UNSIGNED


def test_a_label_twice_between_separators_is_no_vote_for_several_classes(write):
    for content in ("item,label\na,x|y\nb,y|y\n", "item,ann,bob\na,x|y,x\nb,y|y,y\n"):
        with pytest.raises(InputError, match=r'line 3.*: the label \'y\' is there twice.* with layout="lists"$'):
            read_votes(write(content), separator="|")


def test_lists_that_may_be_votes_are_told_of(write):
    told = (
        "A list of labels is read as one vote for all in it; if it holds several votes, say that the layout is 'lists'."
    )
    table = [{"item": "a", "label": ["x", "y"]}, {"item": "b", "label": ["y"]}]
    assert read_votes(write(json_lines(table), "votes.jsonl")).notes == (told,)
    wide = [{"item": "a", "labels": ["x", "y"]}, {"item": "b", "labels": ["y"]}]
    assert read_votes(write(json_lines(wide), "votes.jsonl")).notes == (told,)
    assert read_votes(write("item,label\na,x|y\nb,y\n"), separator="|").notes == (told,)
    # several rows an item, or somebody who said it: votes for several classes
    assert not read_votes(write(json_lines([*table, *table]), "votes.jsonl")).notes
    signed = [{**row, "annotator": "ann"} for row in table]
    assert not read_votes(write(json_lines(signed), "votes.jsonl")).notes
    alone = [{"item": "a", "label": ["x"]}, {"item": "b", "label": ["y"]}]
    assert not read_votes(write(json_lines(alone), "votes.jsonl")).notes


def test_a_table_of_lists_that_is_not_recognised(write):
    path = write(json_lines(rows("id", "labels")), "votes.jsonl")
    with pytest.raises(
        InputError, match=r"In 'labels' are lists: where these hold all votes .* the layout is \"lists\""
    ):
        read_votes(path)
    assert read_votes(path, item="id", layout="lists") == UNSIGNED


@pytest.mark.parametrize("names", [("labels", "annotators"), ("label", "annotator")])
def test_lists_side_by_side_may_be_meant_so(write, names):
    path = write(json_lines(rows("item", *names)), "votes.jsonl")
    with pytest.raises(InputError, match=r'two ways, as .* or "lists" \(a row an item, its votes in a list\)'):
        read_votes(path)
    assert read_votes(path, layout="lists") == SIGNED


@pytest.mark.parametrize("written", IN_TEXT[:5])
def test_text_that_looks_like_lists_is_told_of(write, written):
    for name in ("label", "labels"):
        (note,) = read_votes(write(quoted(rows("item", name)[:2], written), "votes.tsv")).notes
        assert note.endswith("look like lists; if they hold several votes, say that the layout is 'lists'.")


@pytest.mark.parametrize("written", IN_TEXT)
@pytest.mark.parametrize(
    ("names", "other"),
    [(("labels", "annotators"), "wide"), (("Annotations", "Workers"), "wide"), (("label", "annotator"), "long")],
)
def test_lists_in_text_side_by_side_may_be_meant_so(write, names, other, written):
    """They were read as what two people, called labels and annotators, say of every item."""
    table = rows("item", *names)
    texts = [{name: cell if isinstance(cell, str) else written(cell) for name, cell in row.items()} for row in table]
    for source in (
        write(quoted(table, written), "votes.tsv"),
        write(json_lines(texts), "votes.jsonl"),
        pl.DataFrame(texts),
    ):
        with pytest.raises(
            InputError, match=rf'two ways, as "{other}" .* or "lists" \(a row an item, its votes in a list\); say which'
        ):
            read_votes(source)
        assert read_votes(source, layout="lists") == SIGNED
        assert read_votes(source, annotators=names).n_votes == 6  # if they are people


def test_lists_of_which_some_have_other_lengths_are_asked_about_too(write):
    path = write('item,labels,annotators\na,"x,y,x","ann,bob,cem"\nb,x,ann\nc,"x,y","bob,ann"\nd,"x,y",ann\n')
    with pytest.raises(InputError, match=r'as "wide" .* or "lists"'):
        read_votes(path)
    with pytest.raises(InputError, match="line 5: there is a list of 2 labels for 1 annotator"):
        read_votes(path, layout="lists")


def test_a_column_of_majorities_beside_lists_is_not_taken_for_all_votes(write):
    path = write('item,labels,annotators,label\na,"x,y,x","ann,bob,cem",x\nb,"y,y","bob,ann",y\n')
    with pytest.raises(InputError, match=r'as "long" .* or "lists"'):
        read_votes(path)


@pytest.mark.parametrize(
    ("content", "keywords", "people"),
    [
        ("item,annotator_1,annotator_2\na,x,y\nb,x,\n", {}, ["annotator_1", "annotator_2"]),
        ('item,labels,annotators\na,"x,y",y\nb,x,"x,y"\n', {"separator": ","}, ["labels", "annotators"]),
        ('item,label,annotator\na,x,"Doe, Jane"\nb,y,"Roe, Jim"\n', {}, ["Doe, Jane", "Roe, Jim"]),
        ('item,label,annotator\na,"x,y",ann\nb,"y,z",bob\n', {"separator": ","}, ["ann", "bob"]),
        (
            'item,label,annotator\na,"x,y","Doe, Jane"\na,"y,z","Roe, Jim"\n',
            {"separator": ","},
            ["Doe, Jane", "Roe, Jim"],
        ),
    ],
)
def test_people_are_no_lists_of_them(write, content, keywords, people):
    assert read_votes(write(content), **keywords).annotator_names.tolist() == people


def test_of_a_table_that_may_be_long_the_beginning_tells(write):
    rest = "".join(f"{at},x,ann\n" for at in range(2000))
    lists = '"x,y","ann,bob"\n'
    for content, keywords, other in (
        (f"item,label,annotator\na,{lists}{rest}", {}, "long"),
        (f"item,labels,annotators\n{rest}a,{lists}", {}, "wide"),  # by names it is no long one, and all of it is read
        (f"item,labels,annotators\n{rest}a,{lists}", {"item": "item"}, "wide"),
    ):
        with pytest.raises(InputError, match=f'as "{other}" .* or "lists"'):
            read_votes(write(content), **keywords)
    assert read_votes(write(f"item,label,annotator\n{rest}a,{lists}")).n_votes == 2001
