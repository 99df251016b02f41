from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.votes import read_votes

HEAD = "INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
POOL = HEAD + (
    "1.jpg\tcat\t\tt1\tw1\tAPPROVED\n"
    "9.jpg\tcat\tdog\tt9\tw1\tAPPROVED\n"
    "\t\t\t\t\t\n"
    "1.jpg\tdog\t\tt1\tw2\tAPPROVED\n"
    "2.jpg\tdog\t\tt2\tw2\tREJECTED\n"
    "2.jpg\t\t\tt2\tw3\tSKIPPED\n"
)


def test_only_approved_answers_to_tasks_that_are_no_controls(write):
    votes = read_votes(write(POOL, "pool.tsv"))
    assert votes.items.tolist() == ["t1", "t9", "t2"]
    assert votes.counts().tolist() == [[1, 1], [0, 0], [0, 0]]
    assert votes.notes[0] == "3 answers are no votes: 2 not approved, 1 on control tasks."
    assert len(votes.notes) == 2  # and the items without votes: a rejected row is not told of twice


def test_several_outputs(write):
    path = write(POOL.replace("INPUT:image", "OUTPUT:image"), "pool.tsv")
    with pytest.raises(InputError, match=r"pool\.tsv has several columns 'OUTPUT:': 'OUTPUT:image', 'OUTPUT:result'"):
        read_votes(path)
    assert read_votes(path, label="OUTPUT:result").n_votes == 2


def test_the_line_of_a_mistake_is_right_after_blank_lines(write):
    with pytest.raises(InputError, match=r"pool\.tsv, line 5: the label 'dog' is not one of the classes"):
        read_votes(write(POOL, "pool.tsv"), classes=["cat", "eel"])
