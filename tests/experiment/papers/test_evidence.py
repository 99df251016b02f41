"""Evidence: what was measured is found under its training, and survives its files to the last byte."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.experiment.papers import Cell, Evidence, RunNumber

SLS = [Cell("published", "sls", "all", 1, seed) for seed in range(3)]
SOFT = [Cell("published", "soft", "all", 1, seed) for seed in range(3)]
CONTROL = Cell("published", "sls", "all", 1, 0, reorder=500)
FEW = Cell("audited", "sls", 5, 1, 0)
FILES = ["runs.csv", "numbers.csv.gz", "history.csv.gz", "curves.csv.gz"]


@pytest.fixture
def evidence() -> Evidence:
    return Evidence.from_rows(
        numbers=[
            {"cell": SLS[1], "name": "kl", "value": 1 / 3, "checkpoint": "best"},
            {"cell": SLS[0], "name": "kl", "value": 0.1, "checkpoint": "best"},
            {"cell": SLS[0], "name": "kl", "value": 0.2, "checkpoint": "last", "tempered": True},
            {"cell": SLS[0], "name": "best_epoch", "value": 170},
            {"cell": SLS[0], "name": "trace", "value": 1600.5, "checkpoint": "best", "slice": "disputed", "low": 1590},
            {"cell": SLS[0], "name": "knn_auroc", "value": 0.8, "checkpoint": "best", "other": "svhn"},
            {"cell": SLS[0], "name": "barrier", "value": 2.0, "checkpoint": "best", "other": SOFT[0]},
            {"cell": SLS[0], "name": "barrier", "value": 1.0, "checkpoint": "best", "other": CONTROL},
            {"cell": SLS[0], "name": "cka", "value": 0.9, "checkpoint": "best", "other": SLS[2]},
            {"cell": SLS[0], "name": "cka", "value": 0.7, "checkpoint": "best", "other": SOFT[1]},
            {"cell": FEW, "name": "js_gain", "value": 0.1, "checkpoint": "best", "other": "soft"},
            {"cell": FEW, "name": "js_gain", "value": 0.2, "checkpoint": "best", "other": "soft", "where": "training"},
            {"cell": FEW, "name": "tiny", "value": 3.3e-17},
        ],
        histories=[
            {"cell": SLS[0], "epoch": np.arange(3), "soft_nll": [2.3, 1 / 3, 0.25]},
            {"cell": FEW, "epoch": np.arange(2), "soft_nll": [2.3, 1.0], "select_nll": [2.2, 1.1]},
        ],
        curves=[
            {"cell": SLS[0], "name": "barrier", "x": [0, 0.5, 1], "y": [0.5, 2.5, 0.7], "other": SOFT[0]},
            {"cell": FEW, "name": "gain_by_js", "x": [0.1, 0.2], "y": [0, 1 / 3], "checkpoint": "best"},
        ],
        about={SLS[0]: {"version": "0.1.0", "commit": "abc", "device": "cpu", "precision": "tf32", "seconds": 12.5}},
    )


def told(evidence: Evidence) -> list[object]:
    """All of it, so that two can be compared; nan is nan."""
    lines = [(repr(line), line.curve.x.tolist(), line.curve.y.tolist()) for line in evidence.lines]
    histories = {run: {k: v.tolist() for k, v in columns.items()} for run, columns in evidence.histories.items()}
    return [dict(evidence.runs), dict(evidence.about), list(map(repr, evidence.findings)), histories, lines]


def test_numbers_are_found_by_seed_and_in_its_order(evidence: Evidence) -> None:
    found = evidence.numbers("kl", protocol="published", method="sls")
    assert list(found) == [0, 1]
    assert found == pytest.approx({0: 0.1, 1: 1 / 3}, rel=1e-7)
    assert evidence.numbers("kl", protocol="published", method="sls", checkpoint="last", tempered=True) == {0: 0.2}


def test_what_is_said_of_a_whole_run_is_found_under_both_checkpoints(evidence: Evidence) -> None:
    for checkpoint in ("best", "last"):
        assert evidence.numbers("best_epoch", protocol="published", method="sls", checkpoint=checkpoint) == {0: 170}


def test_numbers_of_two_runs_are_found_by_the_other_method(evidence: Evidence) -> None:
    of = {"protocol": "published", "method": "sls"}
    assert evidence.numbers("barrier", **of, other="soft") == {0: 2.0}
    assert evidence.numbers("barrier", **of, other="sls+reorder") == {0: 1.0}
    assert evidence.numbers("barrier", **of) == {}
    assert evidence.numbers("knn_auroc", **of, other="svhn") == {0: 0.8}
    assert evidence.pairs("cka", **of) == {(0, 2): 0.9}
    assert evidence.pairs("cka", **of, other="soft") == {(0, 1): 0.7}


def test_slices_items_and_intervals(evidence: Evidence) -> None:
    few = {"protocol": "audited", "method": "sls", "votes": 5, "other": "soft"}
    assert evidence.numbers("js_gain", **few) == {0: 0.1}
    assert evidence.numbers("js_gain", **few, where="training") == {0: 0.2}
    (trace,) = (one for one in evidence.findings if one.name == "trace" and one.slice == "disputed")
    assert trace.low == 1590
    assert np.isnan(trace.high)


def test_histories_and_curves(evidence: Evidence) -> None:
    (columns,) = evidence.history(protocol="audited", method="sls", votes=5).values()
    assert columns["select_nll"].tolist() == [2.2, 1.1]
    assert "select_nll" not in evidence.history(protocol="published", method="sls")[0]
    curve = evidence.curves("barrier", protocol="published", method="sls", other="soft")[0]
    assert curve.y.tolist() == [0.5, 2.5, 0.7]


def test_of_a_run_that_is_in_both_only_the_other_is_heard() -> None:
    cell = Cell("published", "sls", "all", 1, seed=0)
    before = [{"cell": cell, "name": name, "value": 0.1, "checkpoint": "best"} for name in ("kl", "accuracy")]
    after = [{"cell": cell, "name": "kl", "value": 0.2, "checkpoint": "best"}]
    both = Evidence.from_rows(before).joined(Evidence.from_rows(after))
    assert [(one.name, one.value) for one in both.findings] == [("kl", 0.2)]


@pytest.mark.parametrize("again", [False, True])
def test_what_was_said_of_a_run_and_one_that_was_made_again_is_gone(again: bool) -> None:
    """Of three runs the other knows the first, as it was or made again elsewhere; what is said of the others stays."""
    about = {cell: {"device": "cpu"} for cell in SLS[:3]}
    pairs = [(SLS[1], SLS[0]), (SLS[2], SLS[0]), (SLS[2], SLS[1])]
    said = [{"cell": one, "name": "cka", "value": 0.9, "checkpoint": "best", "other": other} for one, other in pairs]
    new = Evidence.from_rows(about={SLS[0]: {"device": "H200" if again else "cpu"}})
    both = Evidence.from_rows(said, about=about).joined(new)
    left = [(both.runs[one.run], both.runs[one.other]) for one in both.findings]
    assert sorted(left, key=pairs.index) == (pairs[2:] if again else pairs)


def test_what_was_not_run_is_not_there(evidence: Evidence) -> None:
    nowhere = {"protocol": "published", "method": "multipass"}
    for ask in (evidence.numbers, evidence.pairs, evidence.curves):
        assert ask("kl", **nowhere) == {}
    assert evidence.history(**nowhere) == {}
    assert Evidence({}).numbers("kl", protocol="published", method="sls") == {}


def test_the_round_trip_loses_nothing(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path)
    assert told(Evidence.read(tmp_path)) == told(evidence)


def test_nothing_is_written_and_read_as_nothing(tmp_path: Path) -> None:
    Evidence({}).write(tmp_path)
    assert told(Evidence.read(tmp_path)) == told(Evidence({}))


def test_a_run_that_diverged_is_there_without_numbers(evidence: Evidence, tmp_path: Path) -> None:
    lost = Evidence.from_rows(about={SOFT[2]: {"device": "cpu", "seconds": 3.0, "diverged": 0}})
    assert lost.diverged == {SOFT[2]: 0}
    assert lost.numbers("kl", protocol="published", method="soft") == {}
    both = evidence.joined(lost)
    both.write(tmp_path)
    assert (tmp_path / "runs.csv").read_text().splitlines()[0].endswith(",seconds,diverged")
    read = Evidence.read(tmp_path)
    assert told(read) == told(both)
    assert read.diverged == {SOFT[2]: 0}


def test_where_none_diverged_no_column_says_so(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path)
    path = tmp_path / "runs.csv"
    assert path.read_text().splitlines()[0].endswith(",seconds")
    assert Evidence.read(tmp_path).diverged == {}
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},why", *(f"{row}," for row in rows)]) + "\n")
    with pytest.raises(StoreError, match=r"its columns are .*why"):
        Evidence.read(tmp_path)


def test_few_votes_that_count_as_all_are_written_as_few(evidence: Evidence, tmp_path: Path) -> None:
    few = Evidence.from_rows(about={SOFT[2]: {"device": "cpu", "given": 5, "diverged": 3}})
    both = evidence.joined(few)
    both.write(tmp_path)
    rows = list(csv.DictReader((tmp_path / "runs.csv").read_text().splitlines()))
    assert [(row["votes"], row["counts_as"]) for row in rows if row["counts_as"]] == [("5", "all")]
    assert list(rows[0])[-3:] == ["seconds", "counts_as", "diverged"]
    read = Evidence.read(tmp_path)
    assert told(read) == told(both)
    assert SOFT[2] in read.runs.values()


def test_rewriting_changes_no_byte(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path / "one")
    Evidence.read(tmp_path / "one").write(tmp_path / "two")
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_order_in_which_it_came_changes_no_byte(tmp_path: Path) -> None:
    runs = {f"run{seed}": cell for seed, cell in enumerate(SLS)}
    found = [RunNumber(run, name, 1.0, "best") for run in runs for name in ("kl", "soft_nll")]
    Evidence(runs, findings=found).write(tmp_path / "one")
    Evidence(dict(reversed(runs.items())), findings=reversed(found)).write(tmp_path / "two")
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_numbers_are_those_of_single_precision_from_the_start(evidence: Evidence) -> None:
    (third,) = (one.value for one in evidence.findings if one.run == "published sls all 1 1 0")
    assert third == 0.33333334  # and not 0.3333333432674408, which takes twice the digits


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_named(evidence: Evidence, tmp_path: Path, file: str) -> None:
    evidence.write(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(StoreError, match=f"{file} is missing"):
        Evidence.read(tmp_path)


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_named(evidence: Evidence, tmp_path: Path, file: str) -> None:
    evidence.write(tmp_path)
    content = (tmp_path / file).read_bytes()
    for bad in (content[: len(content) // 2], b"", b"something else"):
        (tmp_path / file).write_bytes(bad)
        with pytest.raises(StoreError, match=f"{file} is damaged"):
            Evidence.read(tmp_path)


def test_damage_within_a_good_archive_is_told(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path)
    path = tmp_path / "numbers.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    for wrong, why in ((text.replace(",best,", ",worst,", 1), "'worst' is no checkpoint"), (text[:-4], "within a row")):
        path.write_bytes(gzip.compress(wrong.encode()))
        with pytest.raises(StoreError, match=why):
            Evidence.read(tmp_path)


def test_files_that_do_not_belong_together_are_told(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path)
    rows = (tmp_path / "runs.csv").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "runs.csv").write_text("".join(rows[:1]), "utf-8")
    with pytest.raises(StoreError, match=r"do not belong together \(.* not which training that is\)\. Take all four"):
        Evidence.read(tmp_path)


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no folder; one with the results of a paper was expected: runs\.csv"):
        Evidence.read(tmp_path / "nowhere")


def test_a_number_of_an_unknown_training_is_refused() -> None:
    with pytest.raises(InputError, match="kl is said of the run 0123, but not which training that is"):
        Evidence({}, findings=[RunNumber("0123", "kl", 0.3)])


def test_reading_needs_neither_torch_nor_pydantic() -> None:
    code = (
        "import sys; import dissensus.experiment.papers.evidence_files; "
        "print([name for name in ('torch', 'pydantic', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_is_said_of_two_runs_goes_with_either(evidence: Evidence) -> None:
    """Left in the files, it would be taken for a number of an outside set with a strange name."""
    soft = next(run for run, cell in evidence.runs.items() if cell == SOFT[0])
    few = evidence.only(evidence.runs.keys() - {soft})
    assert few.numbers("barrier", protocol="published", method="sls", other="soft") == {}
    assert few.numbers("barrier", protocol="published", method="sls", other="sls+reorder") == {0: 1.0}
    assert few.numbers("knn_auroc", protocol="published", method="sls", other="svhn") == {0: 0.8}
    assert soft not in {one.other for one in (*few.findings, *few.lines)}
