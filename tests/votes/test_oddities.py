"""What looks like a slip is told, and nothing is changed."""

from dissensus import Votes, read_votes
from dissensus.votes.oddities import odd_classes


def test_classes_that_are_spelled_in_two_ways(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,label\na,Cat\na,cat\na,dog\nb,dog \nb,dog\n")
    votes = read_votes(file)
    assert votes.classes == ("Cat", "cat", "dog", "dog ")
    assert votes.notes == (
        "The classes 'Cat' and 'cat' differ in capitals or spaces alone; if they are one, write it in one way "
        "(2 classes are written in several ways).",
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


def test_ordinary_classes_are_not_remarked_upon():
    assert odd_classes(["no", "none", "not sure", "yes"]) == []
    assert odd_classes([1, 2, 3.5, True]) == []
    assert odd_classes(["a", "a, perhaps", "and/or", ",", "c#"]) == []


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
    file.write_text("item,ann,bob,cai\na,ok,ok,unsure\nb,ok,bad,unsure\nc,bad,ok,\n")
    assert read_votes(file).notes == ()


def test_one_annotator_has_nobody_to_share_a_label_with(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("item,ann\na,ok\nb,bad\nc,ok\n")
    assert read_votes(file, layout="wide").notes == ()
