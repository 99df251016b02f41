"""Diagnostics beside a run: lossless on disk, replaced by later ones about the same, handed over with the run."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dissensus.base.errors import StoreError
from dissensus.records import Diagnosis, RunStore, merge, pack, read_diagnostics, renewed, write_diagnostics, write_run

NAME = "0123456789abcdef"
FOUND = [
    Diagnosis("trace", 1 / 3, 0.1, 0.7, items=2000, slice="disputed", weights="best"),
    Diagnosis("cka", 0.9, math.nan, math.nan, items=400, weights="best", other="fedcba9876543210"),
]


def same(one, other):
    return [repr(found) for found in one] == [repr(found) for found in other]  # nan is not itself


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    with store.claim(NAME) as staging:
        write_run(staging, {"a": 1}, {}, {"epoch": [0]}, {"best_logits": np.zeros((2, 2))})
    return store


def test_they_come_back_as_they_were(tmp_path):
    write_diagnostics(tmp_path / "diagnostics.csv", FOUND)
    assert same(read_diagnostics(tmp_path / "diagnostics.csv"), FOUND)


def test_a_later_one_about_the_same_takes_the_place_of_the_first():
    better = replace(FOUND[0], value=0.4, items=100)
    last = replace(FOUND[0], weights="last")
    assert same(renewed(FOUND, [better, last]), [better, FOUND[1], last])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name,value\ntrace,1\n", "its columns are name, value"),
        ("name,value,low,high,items,slice,weights,other\ntrace,x,1,1,5,all,best,\n", "could not convert"),
        ("name,value,low,high,items,slice,weights,other\ntrace,1,1,1,5,most,best,\n", "'most' is no slice"),
        ("name,value,low,high,items,slice,weights,other\ntrace,1,1,1,5,all,first,\n", "'first' is no weights"),
        ("name,value,low,high,items,slice,weights,other\ntrace,1\n", "damaged"),
    ],
)
def test_damage_is_told(store, text, reason):
    run = store.read(NAME)
    (run.path / "diagnostics.csv").write_text(text)
    with pytest.raises(StoreError, match=f"damaged.*{reason}|{reason}"):
        run.diagnostics()
    with pytest.raises(StoreError, match="diagnose the run again"):
        run.check()


def test_nobody_has_looked(store):
    assert store.read(NAME).diagnostics() == []


def test_they_travel_with_the_run(store, tmp_path):
    store.read(NAME).write_diagnostics(FOUND)
    (archive,) = pack(store, tmp_path / "packed")
    there = RunStore(tmp_path / "there")
    assert merge(there, [archive.path]).new == [NAME]
    assert same(there.read(NAME).diagnostics(), FOUND)


def test_packed_without_them_a_run_is_as_it_was(store, tmp_path):
    (archive,) = pack(store, tmp_path / "packed")
    there = RunStore(tmp_path / "there")
    merge(there, [archive.path])
    assert not (there.read(NAME).path / "diagnostics.csv").exists()


def test_those_of_a_run_that_is_here_are_added_and_none_is_changed(store, tmp_path):
    pack(store, tmp_path / "before")
    there = RunStore(tmp_path / "there")
    merge(there, [tmp_path / "before"])
    mine = replace(FOUND[0], value=9.0)
    there.read(NAME).write_diagnostics([mine])
    store.read(NAME).write_diagnostics(FOUND)
    pack(store, tmp_path / "after")
    for _ in range(2):
        assert merge(there, [tmp_path / "after"]).here == [NAME]
        assert same(there.read(NAME).diagnostics(), [mine, FOUND[1]])
