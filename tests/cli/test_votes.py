"""``dissensus votes``: what it says of a file, and of one that is wrong."""

import inspect
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest


def test_votes_says_what_is_in_a_file(run, tmp_path):
    (tmp_path / "labels.csv").write_text("task,worker,answer\nx,p,cat\nx,q,dog\ny,p,cat\ny,q,cat\n")
    code, out, err = run("votes", "labels.csv", "--label", "answer", "--save", "votes.parquet")
    assert code == 0, err
    assert "50.0%" in out  # unanimous
    assert "cat: 1, dog: 1" in out
    assert (tmp_path / "votes.parquet").exists()
    code, out, _ = run("votes", "votes.parquet", "--json")
    told = json.loads(out)
    assert (told["items"], told["votes"], told["annotators"]) == (2, 4, 2)
    assert told["most_divided"][0]["item"] == "x"


def same(near, votes):
    return f"{next(one for one in near if one['votes'] == votes)['same_majority']:.0%}"


@pytest.mark.parametrize(
    ("votes", "told"),
    [
        (1.4, "With 1 vote an item it is .*%, with 3 it would be .*%"),
        (4, "With 4 votes an item it is .*%, with 20 it would be .*%"),
        (40, "With 40 votes an item it is .*%, with 100 it would be .*%"),
        (60, None),
    ],
)
def test_votes_are_set_beside_thrice_as_many(run, tmp_path, votes, told):
    each = [int(votes), int(np.ceil(votes))]
    np.save(tmp_path / "counts.npy", [[1, each[item % 2] - 1] for item in range(80)])
    words = " ".join(run("votes", "counts.npy")[1].split())
    assert "most people would. " in words
    assert re.search(told, words) if told else "it would be" not in words


def test_what_more_votes_would_tell_is_guessed(run, tmp_path):
    rows = [
        f"i{n},{label}" for n in range(40) for label in ("cat", "cat" if n % 3 else "dog", "dog" if n % 2 else "cat")
    ]
    (tmp_path / "labels.csv").write_text("\n".join(["item,label", *rows]))
    out = run("votes", "labels.csv")[1]
    assert "What so many votes an item tell: a guess from these" in out
    near = json.loads(run("votes", "labels.csv", "--json")[1])["nearness"]
    assert f"{near[3]['kl']:.3f} [{near[3]['kl_low']:.3f}, {near[3]['kl_high']:.3f}]" in out
    words = " ".join(out.split())
    assert f"With 3 votes an item it is {same(near, 3)}, with 10 it would be {same(near, 10)}." in words
    assert "Of ratings" not in words
    ordered = run("votes", "labels.csv", "--ordered", "--classes", "cat,dog")[1]
    assert "Of ratings this is often guessed too high" in " ".join(ordered.split())
    (tmp_path / "few.csv").write_text("\n".join(["item,label", *rows[:60]]))
    assert "a guess" not in run("votes", "few.csv")[1]


MISTAKES = {
    "unknown column": ("labels.csv", b"task,who,what\n1,2,3\n", ["--label", "wat"], ["wat", "what"]),
    "ragged": ("labels.csv", b"item,annotator,label\na,b,c\na,b,c,d,e\n", [], ["labels.csv", "line 3"]),
    "empty": ("labels.csv", b"", [], ["labels.csv", "empty"]),
    "header only": ("labels.csv", b"item,annotator,label\n", [], ["labels.csv"]),
    "binary": ("labels.csv", bytes(range(256)) * 8, [], ["labels.csv"]),
    "latin-1": ("labels.csv", "item,annotator,label\na,b,caf\u00e9\n".encode("latin-1"), [], ["labels.csv", "UTF-8"]),
    "not in classes": ("labels.csv", b"item,annotator,label\na,p,cat\na,q,cow\n", ["--classes", "cat,dog"], ["cow"]),
    "fraction": ("counts.csv", b"item,cat,dog\na,1,2\nb,1.5,0\n", ["--layout", "counts"], ["counts.csv", "1.5"]),
    "negative": ("counts.csv", b"item,cat,dog\na,1,2\nb,-1,0\n", ["--layout", "counts"], ["counts.csv", "-1"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_votes_file_gets_one_clear_sentence(run, tmp_path, mistake):
    name, content, options, words = MISTAKES[mistake]
    (tmp_path / name).write_bytes(content)
    code, out, err = run("votes", name, *options, "--save", "kept.parquet")
    assert code == 2
    assert out == ""
    assert err.startswith("InputError: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err
    assert not (tmp_path / "kept.parquet").exists()


def test_numbers_say_what_they_are_of(run, tmp_path):
    (tmp_path / "labels.csv").write_text("item,label\nx,cat\nx,dog\ny,cat\ny,cat\nz,dog\n")
    out = run("votes", "labels.csv")[1]
    assert "50.0% of the 2 with two votes or more" in out
    assert re.search(r"agreement of two votes +50\.0% on the same 2 ", out)
    assert "0.347 nats on the same 2 (0: all agree, 0.693: evenly divided)" in out
    assert re.search(r"alpha \(nominal\) +0\.000 on the same 2 \(1: full agreement, 0: as by chance\)", out)
    (tmp_path / "labels.csv").write_text("item,label\nx,cat\nx,dog\ny,cat\ny,cat\n")
    out = run("votes", "labels.csv")[1]
    assert "0.347 nats (0: all agree" in out
    assert "on the same" not in out


def test_what_to_do_next_is_told_with_all_that_was_said_of_the_file(run, tmp_path):
    (tmp_path / "my labels.csv").write_text("task,worker,answer\nx,p,cat\nx,q,dog\nx,r,?\n")
    said = ("votes", "my labels.csv", "--label", "answer", "--ignore", "?")
    out = run(*said)[1]
    told = """--votes 'my labels.csv' --option label=answer --option 'ignore=["?"]' --inputs INPUTS --per-item 2,all"""
    assert f"dissensus compare {told}\n" in out
    assert "dissensus compare" not in run(*said, "--json")[1]
    (tmp_path / "few.csv").write_text("item,label\nx,cat\nx,dog\ny,cat\n")
    out = run("votes", "few.csv")[1]
    assert (
        "--per-item 2,all --draw resample\nTwo votes are drawn with replacement there: 1 item has one vote, which"
        in out
    )


def test_a_column_whose_name_is_a_number_is_proposed_as_a_text(run, own_data):
    """``--option label=1`` is a number, which compare refuses as a name."""
    Path("numbered.csv").write_text(Path("labels.csv").read_text().replace("item,annotator,label", "true,annotator,1"))
    code, out, err = run("votes", "numbered.csv", "--item", "true", "--label", "1")
    assert code == 0, err
    (line,) = (line for line in out.splitlines() if line.startswith("dissensus compare"))
    words = shlex.split(line.replace("INPUTS", "features.npy"))[1:]
    code, _, err = run(*words, "--epochs", 1, "--seeds", 1, "--quiet")
    assert code == 0, err


TEXTS = {
    "long": ("labels.csv", "item,label,text\nx,cat,Meow\nx,dog,Meow\ny,dog,Wuff\ny,dog,Wuff\n", []),
    "named": ("labels.tsv", "nr\tlabel\tText\nx\tcat\tMeow\nx\tdog\tMeow\ny\tdog\tWuff\n", ["item"]),
    "wide": ("labels.csv", "item,ann,bob,text\nx,cat,dog,Meow\ny,dog,dog,Wuff\n", []),
}


@pytest.mark.parametrize("table", TEXTS)
def test_texts_beside_the_votes_are_seen(run, tmp_path, table):
    from dissensus.datasets import own_data

    name, content, named = TEXTS[table]
    (tmp_path / name).write_text(content)
    out = run("votes", name, *(["--item", "nr"] if named else []))[1]
    told = f"compare --votes {name} {'--option item=nr ' if named else ''}--texts {name} --per-item 2,all"
    assert told in out
    assert "INPUTS" not in out
    data = own_data(tmp_path / name, texts=tmp_path / name, **({"item": "nr"} if named else {}))
    assert data.inputs.first == ("Meow", "Wuff")


def test_texts_in_a_column_of_another_name_are_seen_and_proposed(run, own_texts, tiny_encoder):
    rows = (own_texts / "labels.csv").read_text().splitlines()[1:]
    texts = dict(line.split(",") for line in (own_texts / "texts.csv").read_text().splitlines()[1:])
    texts |= {item: f"{text} again {item}" for item, text in texts.items()} | {"7": ""}
    lines = [f"{row},{texts[row.split(',')[0]]},2024-05-0{n % 9 + 1} at {n}" for n, row in enumerate(rows)]
    (own_texts / "all.csv").write_text("\n".join(["item,annotator,label,Comment,when", *lines]) + "\n")
    out = run("votes", "all.csv")[1]
    assert "With what seem to be texts, in the column 'Comment' (else --inputs, or --texts TABLE):" in out
    line = next(line for line in out.splitlines() if line.startswith("dissensus compare"))
    told = (
        "dissensus compare --votes all.csv --option text=Comment --option others=drop --texts all.csv --per-item 2,all"
    )
    assert line == told
    words = shlex.split(line)[2:-2]
    code, _, err = run("train", *words, "--epochs", 1, "--encoder", tiny_encoder)
    assert code == 0, err
    assert "Items without texts are left out: 1 of 60 (first: '7')." in err


@pytest.mark.parametrize(
    ("header", "options"),
    [("item,text", ["--label", "text"]), ("nr,text", ["--item", "nr", "--label", "text"]), ("item,label", [])],
)
def test_a_column_of_votes_is_no_column_of_texts(run, tmp_path, header, options):
    (tmp_path / "labels.csv").write_text(f"{header}\nx,cat\nx,dog\ny,dog\ny,dog\n")
    out = run("votes", "labels.csv", *options)[1]
    assert "--inputs INPUTS" in out
    assert "--texts labels.csv" not in out


def test_texts_that_have_other_ids_than_the_votes_are_not_proposed(run, tmp_path):
    """The items of Mechanical Turk are its tasks, whatever ids these came with."""
    rows = [
        {"text": "Meow", "HITId": "h77", "AssignmentStatus": "Approved", "WorkerId": who, "Answer.mood": said}
        for who, said in (("p", "cat"), ("q", "dog"))
    ]
    for ids, told in (
        ({"id": 1}, "--inputs INPUTS"),
        ({"id": {"a": 1}}, "--inputs INPUTS"),
        ({"id": "h77"}, "--texts said.jsonl"),
    ):
        (tmp_path / "said.jsonl").write_text("".join(json.dumps(row | ids) + "\n" for row in rows))
        code, out, err = run("votes", "said.jsonl")
        assert code == 0, err
        assert told in out


def test_one_vote_an_item_leaves_nothing_to_compare(run, tmp_path):
    (tmp_path / "one.csv").write_text("item,label\nx,cat\ny,dog\nz,\n")
    out = run("votes", "one.csv")[1]
    words = " ".join(out.split())
    assert "No item has two votes, so soft labels, SLS, multipass and the majority vote teach the same." in words
    assert "Second votes on some of the items are needed; with 30 such items" in words
    assert "dissensus compare" not in out


def test_answers_to_ignore_are_no_votes(run, tmp_path):
    (tmp_path / "labels.csv").write_text("item,label\nx,cat\nx,unsure\nx,dog\ny,cat\ny,99\n")
    code, out, err = run("votes", "labels.csv", "--ignore", "unsure,99", "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == ["cat", "dog"]
    assert "Note: 2 answers are no votes: 1 'unsure', 1 '99'." in err


def test_classes_that_differ_in_spaces_are_told_apart_and_joined(run, own_data):
    rows = [f"{item},a{n},{'ok ' if (item + n) % 9 == 0 else 'bad'}\n" for item in range(60) for n in range(3)]
    (own_data / "labels.csv").write_text("item,annotator,label\n" + "".join(rows) + "0,a3,Ok\n1,a3,ok\n")
    out = run("votes", "labels.csv")[1]
    assert re.search(r"^'ok ' +10\.4% *$", out, re.M)
    assert re.search(r"^ok +0\.5% *$", out, re.M)
    code, out, err = run("votes", "labels.csv", "--rename", "ok =ok", "--rename", "Ok=ok")
    assert code == 0, err
    assert "Note: 20 labels are read as others: 19 'ok ' and 1 'Ok' as 'ok'." in err
    words = next(shlex.split(line) for line in out.splitlines() if line.startswith("dissensus compare"))
    assert words[4:6] == ["--option", 'rename={"ok " = "ok", "Ok" = "ok"}']
    code, _, err = run("train", *words[2:6], "--inputs", "features.npy", "--epochs", 1)
    assert code == 0, err
    assert "Note: 20 labels are read as others: 19 'ok ' and 1 'Ok' as 'ok'." in err
    code, out, _ = run("votes", "labels.csv", "--fold", "case", "--json")
    assert (code, json.loads(out)["classes"]) == (0, ["bad", "ok"])
    code, _, err = run("votes", "labels.csv", "--classes", "ok,bad")
    assert code == 2
    assert err.endswith('alone: join them with --fold "case"\n')
    for wrong, message in (
        ("Ok", "--rename takes OLD=NEW, such as okay=ok, but was given 'Ok'."),
        ("a=b", "'a' shall be"),
    ):
        code, _, err = run("votes", "labels.csv", "--rename", wrong)
        assert (code, message in err) == (2, True)


def test_of_several_votes_on_an_item_one_is_kept_by_an_option(run, own_data):
    with (own_data / "labels.csv").open("a") as file:
        file.write("0,a0,a\n0,a0,b\n")
    assert "2 votes are by an annotator who had voted on the item before" in run("votes", "labels.csv")[2]
    code, out, err = run("votes", "labels.csv", "--repeats", "last")
    assert code == 0, err
    assert "the last of each is kept, 2 are left out." in err
    words = next(shlex.split(line) for line in out.splitlines() if line.startswith("dissensus compare"))
    assert words[4:6] == ["--option", "repeats=last"]
    code, _, err = run("train", *words[2:6], "--inputs", "features.npy", "--epochs", 1)
    assert code == 0, err
    assert "the last of each is kept, 2 are left out." in err
    code, _, err = run("votes", "labels.csv", "--repeats", "lst")
    assert (code, "unknown way to keep repeats 'lst'; did you mean 'last'?" in err) == (2, True)


def test_classes_that_are_not_shown_are_counted(run, tmp_path):
    rows = [f"{item},c{(item + vote) % 12:02}" for item in range(24) for vote in (0, 0, 1)]
    (tmp_path / "labels.csv").write_text("\n".join(["item,label", *rows]) + "\n")
    assert "and 2 other classes, together 16.7%" in run("votes", "labels.csv")[1]


@pytest.mark.parametrize("kind", ["directory", "missing"])
def test_what_is_no_file_is_named(run, tmp_path, kind):
    if kind == "directory":
        (tmp_path / "labels.csv").mkdir()
    code, _, err = run("votes", "labels.csv")
    assert code == 2
    assert "directory" in err if kind == "directory" else "does not exist" in err


def test_counts_with_nan_name_their_cell(run, tmp_path):
    np.save(tmp_path / "counts.npy", np.array([[1.0, np.nan], [2.0, 1.0]]))
    code, _, err = run("votes", "counts.npy")
    assert code == 2
    assert "row 0, column 1" in err


WOULD_MEND = {
    "two items": ("labels.csv", "item,task,label\na,b,c\na,b,d\n", "item", "task"),
    "no label": ("labels.csv", "task,worker,answer\nx,p,cat\nx,q,dog\n", "label", "answer"),
    "two layouts": ("labels.csv", "item,cat,dog\na,1,2\nb,2,1\n", "layout", "counts"),
    "two delimiters": ("labels.txt", "item;x\tlabel\na;1\tcat\nb;2\tdog\n", "delimiter", "\t"),
    "no order": ("labels.csv", "item,label\na,low\na,high\n", "classes", "low,high"),
    "one class": ("labels.csv", "item,label\na,low\nb,low\n", "classes", "low,high"),
}


@pytest.mark.parametrize("mistake", WOULD_MEND)
def test_what_would_mend_it_is_told_as_an_option_and_does(run, tmp_path, mistake):
    name, content, option, value = WOULD_MEND[mistake]
    (tmp_path / name).write_text(content)
    arguments = ("votes", name, *(["--ordered"] if mistake == "no order" else []))
    code, _, err = run(*arguments)
    assert code == 2
    assert err.endswith(f" with --{option} ...\n")
    code, _, err = run(*arguments, f"--{option}", value, *(["--item", "item;x"] if option == "delimiter" else []))
    assert code == 0, err


def test_missing_annotators_are_left_out_by_an_option(run, tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\na,p,cat\na,,dog\n")
    code, _, err = run("votes", "labels.csv")
    assert code == 2
    assert err.endswith("leave all annotators out with --anonymous\n")
    code, out, err = run("votes", "labels.csv", "--anonymous")
    assert (code, err) == (0, "")
    assert "not known" in out


def test_lists_of_votes_are_read_by_an_option(run, tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"id": 1, "labels": ["x", "y", "x"]}\n{"id": 2, "labels": ["y", "y"]}\n')
    words = ["votes", "votes.jsonl", "--item", "id", "--label", "labels"]
    code, _, err = run(*words)
    assert (code, err.endswith('say so with --layout "lists"\n')) == (2, True)
    code, out, err = run(*words, "--layout", "lists", "--json")
    assert (code, json.loads(out)["votes"]) == (0, 5), err


def test_every_keyword_of_the_reader_is_an_option():
    from dissensus.cli.votes import votes
    from dissensus.votes import read_votes

    keywords = inspect.getfullargspec(read_votes).kwonlyargs
    assert "delimiter" in keywords
    assert set(keywords) <= set(inspect.signature(votes).parameters)


def test_the_file_that_is_read_is_never_overwritten(run, tmp_path):
    content = "item,annotator,label,note\na,p,cat,x\na,q,dog,y\n"
    (tmp_path / "labels.csv").write_text(content)
    code, out, err = run("votes", "labels.csv", "--save", "./labels.csv")
    assert (code, out) == (2, "")
    assert "would overwrite the file that is read" in err
    assert (tmp_path / "labels.csv").read_text() == content


def test_an_unknown_suffix_is_refused_before_anything_is_read(run):
    code, _, err = run("votes", "missing.csv", "--save", "votes.xlsx")
    assert code == 2
    assert "unknown suffix of --save '.xlsx'. Choose one of: .parquet, .csv, .tsv, .jsonl, .npz." in err


def test_what_cannot_be_told_of_agreement_is_said_in_words(run, tmp_path):
    (tmp_path / "one.csv").write_text("item,label\na,cat\nb,dog\n")
    out = run("votes", "one.csv")[1]
    assert "2 (1 an item)" in out
    assert "not known: no item has two votes" in out
    (tmp_path / "several.csv").write_text("item,label\na,cat;dog\na,dog\n")
    assert "not told where a vote may name several classes" in run("votes", "several.csv", "--separator", ";")[1]


def test_numbers_that_may_be_ratings_get_a_hint(run, tmp_path):
    (tmp_path / "rated.csv").write_text("item,label\na,1\na,2\nb,3\nb,3\n")
    assert "If they are ratings, say --ordered" in run("votes", "rated.csv")[2]
    assert "If they are ratings" in json.loads(run("votes", "rated.csv", "--json")[1])["notes"][-1]
    assert "ratings" not in run("votes", "rated.csv", "--ordered")[2]


def test_columns_that_hold_votes_are_named(run, tmp_path):
    (tmp_path / "wide.csv").write_text("item,ann,group,minutes\na,yes,no,3\nb,no,no,5\n")
    code, _, err = run("votes", "wide.csv")
    assert code == 2
    assert err.endswith(
        "since all that is in it are labels; to say whether it is, name all annotators with --annotators ...\n"
    )
    code, out, _ = run("votes", "wide.csv", "--annotators", "ann,group", "--json")
    assert (code, json.loads(out)["annotators"], json.loads(out)["votes"]) == (0, 2, 4)
