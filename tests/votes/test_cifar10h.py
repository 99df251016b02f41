"""CIFAR-10H's raw table of answers."""

from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes

HEAD = "annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,correct_guess,"
RAW = HEAD + (
    "cifar10_test_test_idx,reaction_time\n"
    "0,0,0,cat,cat,3,3,1,7,812\n"
    "0,1,1,dog,cat,5,3,0,-99999,700\n"
    "0,2,0,dog,dog,5,5,1,9,640\n"
    "1,0,0,cat,dog,3,5,0,7,910\n"
    "1,1,1,dog,dog,5,5,1,-99999,540\n"
    "1,2,0,dog,dog,5,5,1,9,420\n"
)


def test_attention_checks_are_neither_votes_nor_items(write):
    votes = read_votes(write(RAW))
    assert (votes.items.tolist(), votes.classes) == ([7, 9], (3, 5))
    assert votes.counts().tolist() == [[1, 1], [0, 2]]
    assert votes.annotator_names.tolist() == [0, 1]
    assert votes.notes == ("2 answers are no votes: 2 of attention checks.",)


def test_classes_by_name(write):
    votes = read_votes(write(RAW), label="chosen_category")
    assert (votes.classes, votes.counts().tolist()) == (("cat", "dog"), [[1, 1], [0, 2]])


def test_a_label_that_is_no_class_is_named_by_its_line(write):
    with pytest.raises(InputError, match=r"votes.csv, line 4: the label 5 is not one of the classes"):
        read_votes(write(RAW), classes=[3, 4])
