from __future__ import annotations

import json

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes


@pytest.fixture
def read(write):
    def read(content, indent=None, **keywords):
        return read_votes(write(json.dumps(content, indent=indent), "answers.json"), **keywords)

    return read


@pytest.mark.parametrize("indent", [None, 2])
def test_an_entry_an_item(read, indent):
    votes = read({"a": {"ann": "no", "bob": "yes"}, "b": {"ann": "no"}, "c": {}}, indent)
    assert votes.items.tolist() == ["a", "b", "c"]
    assert votes.counts().tolist() == [[1, 1], [1, 0], [0, 0]]
    assert votes.annotator_names.tolist() == ["ann", "bob"]


def test_numbers_may_be_labels_or_votes_a_class_so_it_has_to_be_said(read):
    answers = {"a": {"0": 1, "1": 2}, "b": {"0": 2}}
    with pytest.raises(InputError, match=r'If it is \{item: \{annotator: label\}\}, say "nested" with layout='):
        read(answers)
    assert read(answers, layout="nested").counts().tolist() == [[1, 1], [0, 1]]


def test_entries_of_the_lewidi_tasks(read):
    strings = {"7": {"text": "t", "annotations": "0, 1,1", "annotators": "Ann1,Ann2,Ann1", "soft_label": {"0": 0.9}}}
    votes = read(strings)
    assert (votes.items.tolist(), votes.classes, votes.counts().tolist()) == ([7], (0, 1), [[1, 2]])
    objects = {"7": {"annotators": "Ann1,Ann2", "annotations": {"Ann1": "no", "Ann2": "no,yes"}}}
    assert read(objects, separator=",").counts().tolist() == [[2, 1]]
    strings["7"]["annotators"] = "Ann1,Ann2"
    with pytest.raises(InputError, match=r"answers\.json: item '7' has 3 annotations but 2 annotators"):
        read(strings)


def test_other_documents(read):
    for content in ({"a": {"x": [1]}}, {"a": 1, "b": {"x": "y"}}, [1, 2]):
        with pytest.raises(InputError, match=r"known here|was expected"):
            read(content, indent=1)
    with pytest.raises(InputError, match=r"answers.json: an object of the shape \{item: \{annotator: label\}\}"):
        read([1, 2], layout="nested")


@pytest.mark.parametrize("key", ["text", "label"])
def test_records_by_their_id_are_no_votes(read, key):
    records = {"1": {key: "hello", "topic": "x"}, "2": {key: "bye", "topic": "y"}}
    with pytest.raises(InputError, match="a shape that is not known here"):
        read(records)
    assert read(records, layout="nested").notes[0] == (
        f"No label in the key '{key}' is in another one; if that is no annotator, leave the key out."
    )


@pytest.mark.parametrize("role", ["item", "annotator", "label"])
def test_no_key_can_be_named(read, role):
    with pytest.raises(InputError, match=rf"answers.json: the {role} is said to be in 'x', but in JSON of the shape"):
        read({"a": {"ann": "no", "bob": "yes"}}, layout="nested", **{role: "x"})


def test_entries_of_lists_are_not_those_of_the_lewidi_tasks(read):
    with pytest.raises(InputError, match="a shape that is not known here"):
        read({"7": {"annotations": [0, 1], "annotators": ["Ann1", "Ann2"]}})
