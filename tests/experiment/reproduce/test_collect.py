"""What is told of how a run was made."""

from __future__ import annotations

from pathlib import Path

from dissensus.experiment.papers import Cell
from dissensus.experiment.reproduce.collect import about
from dissensus.records import StoredRun, write_run

PLAIN = Cell("published", "majority", "all", 1, 0)
PLAN = {
    "data": {"name": "glyphs"},
    "model": {"name": "mlp"},
    "recipe": {"epochs": 3, "precision": "fp32"},
    "votes": "all",
}


def told(folder: Path, votes: int | str = "all", **changes: object) -> dict[str, object]:
    made = {"seconds": 100.0, "looking": 40.0, "width": 4, "device": "NVIDIA H200", "packages": {"torch": "2.0"}}
    write_run(folder, PLAN | {"votes": votes}, made | changes, [], {"ids": ["a"]})
    return about(PLAIN, StoredRun("0123456789abcdef", folder))


def test_how_a_run_was_made(tmp_path: Path) -> None:
    """Its share of the training of four side by side, and all of the look inside, for which the others waited."""
    assert told(tmp_path, dissensus="0.1.0", commit="abc", python="3.11") == {
        "data": "glyphs",
        "model": "mlp",
        "version": "0.1.0",
        "commit": "abc",
        "torch": "2.0",
        "device": "NVIDIA H200",
        "precision": "fp32",
        "seconds": 60 / 4 + 40,
    }


def test_what_an_earlier_release_did_not_record_is_left_out(tmp_path: Path) -> None:
    write_run(tmp_path, PLAN, {"seconds": 100.0}, [], {"ids": ["a"]})
    found = about(PLAIN, StoredRun("0123456789abcdef", tmp_path))
    assert found == {"data": "glyphs", "model": "mlp", "precision": "fp32", "seconds": 100.0}


def test_few_votes_that_count_as_all_and_runs_that_diverged_are_told(tmp_path: Path) -> None:
    found = told(tmp_path, votes=5, diverged=2)
    assert (found["given"], found["diverged"]) == (5, 2)
