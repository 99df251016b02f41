"""What looks like a slip is told, and nothing is changed."""

import pytest

from dissensus import Votes, read_votes
from dissensus.votes.oddities import odd_classes


def test_classes_that_are_spelled_in_two_ways(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,label\na,Cat\na,cat\na,dog\nb,dog \nb,dog\n")
    votes = read_votes(file)
    assert votes.classes == ("Cat", "cat", "dog", "dog ")
    assert votes.notes == (
        "The classes 'Cat' and 'cat' differ in capitals or spaces alone; if they are one, write it in one way, or fold "
        "them (2 classes are written in several ways).",
    )


def test_classes_that_somebody_named_are_meant():
    assert Votes.from_records(items=["a", "a"], labels=["Cat", "cat"]).notes
    assert not Votes.from_records(items=["a", "a"], labels=["Cat", "cat"], classes=["cat", "Cat"]).notes


def test_words_for_an_empty_cell(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,label\na,yes\na,N/A\nb,none\n")
    assert read_votes(file).notes == (
        "The class 'N/A' may stand for no vote; if so, leave those cells empty, or ignore it.",
    )
    file.write_text("item,label\na,yes\na,N/A\nb,?\n")
    told = "The classes '?' and 'N/A' may stand for no vote; if so, leave those cells empty, or ignore them."
    assert read_votes(file).notes == (told,)


@pytest.mark.parametrize("word", ["unsure", "Not Sure", "don't know", "Don\u2019t know", "IDK"])
def test_answers_that_may_say_nothing(word):
    assert odd_classes(["no", word, "yes"]) == [
        f"The class {word!r} counts as the others do; if it says nothing of the item, ignore it."
    ]
    assert odd_classes(["no", "skip", word]) == [
        f"The classes 'skip' and {word!r} count as the others do; if they say nothing of the item, ignore them."
    ]


def test_numbers_with_a_decimal_comma():
    told = "The classes '1,5', '10,0' are read as text; if they are numbers, write them with a point."
    assert odd_classes(["1,5", "10,0", "2"]) == [told]
    assert "the separator is ','" in odd_classes(["1", "1,2", "2"])[0]
    assert not odd_classes(["1,5", "2", "high"])
    assert not odd_classes(["1", "2"])


def test_items_and_annotators_that_are_written_in_two_ways(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,annotator,label\na,Ann,x\na ,bob,y\nA,ann,x\nb,bob ,y\n")
    votes = read_votes(file)
    assert (votes.n_items, votes.n_annotators) == (4, 4)
    assert votes.notes == (
        "The items 'a' and 'a ' differ in spaces alone; if they are one, write it in one way.",
        "The annotators 'Ann' and 'ann' differ in capitals or spaces alone; if they are one, write it in one way "
        "(2 annotators are written in several ways).",
    )
    file.write_text("item,annotator,label\n a,1,x\n b,2,y\n")  # spaces that make nothing two
    assert not read_votes(file).notes


COMPOSED, IN_PARTS = "s\u00fc\u00df", "su\u0308\u00df"  # which look alike


def test_classes_items_and_annotators_that_look_alike(write):
    rows = f"{COMPOSED},{COMPOSED},{COMPOSED}\n{IN_PARTS},{IN_PARTS},{IN_PARTS}\n{IN_PARTS},x,herb\n"
    votes = read_votes(write(f"item,annotator,label\n{rows}"))
    assert (votes.n_items, votes.n_annotators, votes.n_classes) == (2, 3, 3)
    alone = "differ in the encoding of accents (NFC or NFD) alone; if they are one, write it in one way."
    told = rf"'s\xfc\xdf' and 'su\u0308\xdf' {alone}"
    in_order = rf"'su\u0308\xdf' and 's\xfc\xdf' {alone[:-1]}, or fold them."
    assert votes.notes == (f"The classes {in_order}", f"The items {told}", f"The annotators {told}")
    both = read_votes(write(f"item,label\n{IN_PARTS},{COMPOSED.title()}\n {COMPOSED},{IN_PARTS}\n"))
    capitals, spaces = both.notes
    assert "differ in capitals or spaces alone" in capitals
    assert "differ in spaces alone" in spaces


def test_accents_that_are_written_in_one_way_are_not_remarked_upon(write):
    for one in (COMPOSED, IN_PARTS):
        assert not read_votes(write(f"item,annotator,label\n{one},{one},{one}\nb,{one},herb\n")).notes


def majority_table(most):
    people = [["x", "x", "y"], ["x", "y", "y"], ["y", "x", "y"]]
    rows = [[*people[row % 3], max(people[row % 3], key=people[row % 3].count)] for row in range(15)]
    rows[4][3] = most or rows[4][3]
    return "\n".join(["item,ann,bob,cem,most", *(",".join([str(at), *row]) for at, row in enumerate(rows))])


def test_a_column_that_was_computed_from_the_others(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text(majority_table(None))
    assert read_votes(file).notes == (
        "The column 'most' always says what most of the others do; if it was computed from them, leave the column out, "
        "or name the annotators.",
    )
    assert not read_votes(file, annotators=["ann", "bob", "cem"]).notes
    file.write_text(majority_table("x"))  # once not
    assert not read_votes(file).notes
    file.write_text(majority_table(None).rpartition("\n")[0])  # fewer items than could not be luck
    assert not read_votes(file).notes


def test_classes_that_are_several_others(tmp_path):
    file = tmp_path / "votes.json"
    file.write_text('{"7": {"annotations": {"Ann1": "no", "Ann2": "no,yes", "Ann3": "yes"}, "text": {"a": "b"}}}')
    told = "The class 'no,yes' is made of others; if a vote may name several, say that the separator is ','."
    assert read_votes(file).notes == (told,)
    several = read_votes(file, separator=",")
    assert (several.classes, several.counts().tolist(), several.notes) == (("no", "yes"), [[2, 2]], ())
    assert odd_classes(["a", "a; b", "b", "b; a"]) == [
        "The classes 'a; b' and 'b; a' are made of others; if a vote may name several, say that the separator is ';'."
    ]


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        (["x,y,x", "x,x", "y,y"], "The classes 'x,x', 'x,y,x' and 'y,y' look like lists; if they hold"),
        (["x|y", "y|x", "z"], "The classes 'x|y' and 'y|x' look like lists; if they hold"),
        (["x", "x; x", "y"], "The class 'x; x' looks like a list; if it holds"),  # one vote names a class once
        (["['x', 'y']", "z"], "The class \"['x', 'y']\" looks like a list; if it holds"),
        (["a,b", "b,c", "c,d", "d,a"], "The classes 'a,b', 'b,c', 'c,d', ... look like lists; if they hold"),
    ],
)
def test_classes_that_look_like_lists_of_votes(classes, told):
    assert odd_classes(classes) == [f"{told} several votes, say that the layout is 'lists'."]


def test_ordinary_classes_are_not_remarked_upon():
    assert odd_classes(["no", "none", "unclear", "yes"]) == []
    assert odd_classes([1, 2, 3.5, True]) == []
    assert odd_classes(["a", "a, perhaps", "and/or", ",", "c#"]) == []
    assert odd_classes(["Smith, J", "Smith, K", "[sic]", "a,"]) == []


def test_a_column_of_texts_among_the_annotators(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,comment,ann,bob\na,hello there,ok,bad\nb,bye,ok,ok\nc,bye,bad,ok\n")
    votes = read_votes(file)
    assert votes.n_annotators == 3
    assert votes.notes == (
        "No label in the column 'comment' is in another one; if that is no annotator, leave the column out, or name "
        "the annotators.",
    )


def test_an_annotator_who_always_says_one_thing_is_an_annotator(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,ann,bob,cai\na,ok,ok,new\nb,ok,bad,new\nc,bad,ok,\n")
    assert read_votes(file).notes == ()


def test_one_annotator_has_nobody_to_share_a_label_with(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,ann\na,ok\nb,bad\nc,ok\n")
    assert read_votes(file, layout="wide").notes == ()
