"""What is said of data by an option of its own, or by ``--option``, is the same in all commands that read them."""

import json
from collections.abc import Mapping, Sequence

import pytest

from dissensus.base.errors import InputError
from dissensus.cli import reading
from dissensus.cli.reading import as_options, keywords


@pytest.fixture
def messy(own_data):
    rows = (own_data / "labels.csv").read_text().splitlines()[1:]
    lines = [";".join([*row.split(",")[:2], f"{row[-1]} " if n % 7 == 0 else row[-1]]) for n, row in enumerate(rows)]
    (own_data / "messy.txt").write_text("\n".join(["the item;who;said", *lines, "0;a9;?", "1;a9;A"]) + "\n")
    return own_data


SAID = (
    *("--item", "the item", "--annotator=who", "--label", "said", "--classes", "a,b,c", "--ordered"),
    *("--ignore", "?", "--rename", "a =a", "--rename", "A=a", "--fold", "spaces", "--repeats", "first"),
)


@pytest.mark.parametrize("command", ["train", "compare"])
def test_what_votes_is_told_the_others_take_as_it_is(run, messy, command):
    code, _, err = run("votes", "messy.txt", *SAID)
    assert code == 0, err
    notes = [line for line in err.splitlines() if line.startswith("Note: ")]
    assert any("1 answer is no vote: 1 '?'" in note for note in notes)
    how = ("--epochs", 1) if command == "train" else ("--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, _, err = run(command, "--votes", "messy.txt", "--inputs", "features.npy", *SAID, *how)
    assert code == 0, err
    assert all(note in err for note in notes)
    (kept,) = {path for path in (messy / "runs").iterdir() if not path.name.startswith(".")}
    told = json.loads((kept / "about.json").read_text())["source"]["options"]
    assert told["item"] == "the item"
    assert told["classes"] == ["a", "b", "c"]
    assert (told["ordered"], told["rename"], told["fold"]) == (True, {"a ": "a", "A": "a"}, "spaces")


def test_what_the_others_are_told_votes_takes_as_it_is(run, messy):
    words = as_options(SAID, set(), keywords("compare"))
    assert set(words[::2]) == {"--option"}
    for arguments in (words, ("--item", "the item", *words[2:])):
        assert run("votes", "messy.txt", *arguments, "--json") == run("votes", "messy.txt", *SAID, "--json")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--option", "itm=x"), "unknown option of votes 'itm'; did you mean 'item'?"),
        (("--item", "x", "--option", "item=x"), "--item and --option item=... were both given; give one of them."),
        (("--option", "ordered=yes"), "option ordered must be true or false, but is 'yes'."),
        (("--option", "label=true"), "option label is not true or false, but True was given."),
    ],
)
def test_mistakes_in_options_of_votes(run, messy, words, told):
    code, _, err = run("votes", "messy.txt", *words)
    assert (code, told in err) == (2, True), err


@pytest.mark.parametrize("command", ["compare", "train", "predict"])
def test_an_option_without_a_value_and_one_that_nobody_knows(run, command):
    first = ("3f2a",) if command == "predict" else ("--votes", "labels.csv")
    word = "--text" if command == "predict" else "--item"
    assert f"{word} needs a value." in run(command, *first, word)[2]
    code, _, err = run(command, *first, "--itm", "x")
    assert code == 2
    assert "--itm" in err


@pytest.mark.parametrize("command", ["compare", "train", "predict"])
def test_help_asks_no_reader_what_it_takes(run, monkeypatch, command):
    """Readers import Polars and what is beside it: help took 0.7 seconds in place of 0.3."""
    monkeypatch.setattr(reading, "keywords", lambda name: pytest.fail("the readers were imported"))
    assert run(command, "--help")[0] == 0


def test_kinds_are_those_of_the_readers():
    kinds = keywords("compare")
    assert (kinds["ordered"], kinds["item"], kinds["classes"], kinds["rename"], kinds["size"]) == (
        bool,
        str,
        Sequence,
        Mapping,
        tuple,
    )
    assert "say" not in keywords("predict")
    assert as_options(["--size", "32x24", "--others", "drop"], set(), kinds) == [
        "--option",
        "size=[32, 24]",
        "--option",
        'others="drop"',
    ]
    with pytest.raises(InputError, match="--rename takes OLD=NEW"):
        as_options(["--rename", "x"], set(), kinds)
