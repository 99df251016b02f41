import json
import os
import shutil

import numpy as np
import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.records import Record, StoredRun, write_run

NAME = "0123456789abcdef"
PLAN = {"method": "soft", "recipe": {"lr": 0.1, "mean": None}, "data": {"name": "mine", "classes": ["a", "ä"]}}
ABOUT = {"seconds": 1.5, "packages": {"numpy": "2.0"}}
HISTORY = [{"epoch": 0, "lr": 0.1, "kl": 1 / 3}, {"epoch": 1, "lr": 0.05, "kl": 0.25}]
PREDICTIONS = {
    "ids": np.array(["a", "bc"]),
    "counts": np.array([[1, 2], [3, 0]], np.int32),
    "best_logits": np.array([[0.1, 0.2], [0.3, 0.4]], np.float32),
    "best_epoch": 7,
}


@pytest.fixture
def run(tmp_path):
    write_run(tmp_path, PLAN, ABOUT, HISTORY, PREDICTIONS)
    return StoredRun(NAME, tmp_path)


def test_a_run_is_found_by_its_folder(run, tmp_path):
    assert StoredRun.at(str(tmp_path)) == StoredRun(tmp_path.name, tmp_path)
    with pytest.raises(InputError, match=r"is not the folder of a run: it holds no plan\.json"):
        StoredRun.at(tmp_path / "nowhere")


def test_what_is_written_is_read(run):
    assert run.plan == PLAN
    assert run.about == ABOUT
    assert run.history["epoch"].dtype == np.int64
    assert run.history["kl"].dtype == np.float64
    assert {name: column.tolist() for name, column in run.history.items()} == {
        "epoch": [0, 1],
        "lr": [0.1, 0.05],
        "kl": [1 / 3, 0.25],
    }
    for name, array in PREDICTIONS.items():
        np.testing.assert_array_equal(run.predictions[name], array)
        assert run.predictions[name].dtype == np.asarray(array).dtype
    run.check()


@pytest.mark.parametrize("told", [{}, {"source": None}, {"source": {}}])
def test_the_data_of_a_run_that_was_not_told_of_it_are_called_as_in_its_plan(run, told):
    run.about.update(told)
    assert (run.source, run.votes_file) == ({"name": "mine"}, "")


def test_where_the_data_of_a_run_came_from(run):
    run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy"}
    assert (run.source, run.votes_file) == ({"votes": "labels.csv", "inputs": "x.npy"}, "labels.csv")


def test_every_file_is_on_the_disk_before_it_is_called_a_run(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    write_run(tmp_path, PLAN, ABOUT, HISTORY, PREDICTIONS)
    assert sorted(synced) == sorted(path.stat().st_ino for path in tmp_path.iterdir())


def test_files_are_plain_and_strict(run):
    assert sorted(p.name for p in run.path.iterdir()) == ["about.json", "history.csv", "plan.json", "predictions.npz"]
    assert json.loads((run.path / "plan.json").read_text()) == PLAN
    assert (run.path / "history.csv").read_text() == f"epoch,lr,kl\n0,0.1,{1 / 3!r}\n1,0.05,0.25\n"


def test_columns_do_as_well_as_rows(tmp_path, run):
    other = tmp_path / "columns"
    other.mkdir()
    write_run(other, PLAN, ABOUT, run.history, PREDICTIONS)
    assert (other / "history.csv").read_text() == (run.path / "history.csv").read_text()


def test_what_is_missing_in_a_row_or_not_finite_is_nan(tmp_path):
    rows = [{"epoch": 0, "kl": float("inf")}, {"epoch": 1, "kl": np.nan, "select_nll": None}, {"epoch": 2, "kl": 1}]
    write_run(tmp_path, PLAN, ABOUT, rows, PREDICTIONS)
    history = StoredRun(NAME, tmp_path).history
    np.testing.assert_array_equal(history["kl"], [np.inf, np.nan, 1])
    np.testing.assert_array_equal(history["select_nll"], [np.nan] * 3)


def test_a_run_without_epochs_has_an_empty_history(tmp_path):
    write_run(tmp_path, PLAN, ABOUT, {"epoch": [], "kl": []}, PREDICTIONS)
    assert {name: len(column) for name, column in StoredRun(NAME, tmp_path).history.items()} == {"epoch": 0, "kl": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": {"lr": np.nan}}, "content.lr is nan"),
        ({"about": {"path": object()}}, "content.path is of the type object"),
        ({"history": [{"epoch": "one"}]}, "history must hold numbers, but epoch holds 'one'"),
        ({"history": {"a": [1], "b": [1, 2]}}, "a has 1, b has 2"),
        ({"predictions": {"ids": np.array([{}])}}, r"predictions\['ids'\] must hold numbers or text, .* object"),
    ],
)
def test_what_cannot_be_stored_is_named_and_nothing_is_written(tmp_path, change, message):
    arguments = {"plan": PLAN, "about": ABOUT, "history": HISTORY, "predictions": PREDICTIONS} | change
    with pytest.raises(InputError, match=message):
        write_run(tmp_path, **arguments)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def savez(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", savez)
    with pytest.raises(StoreError, match=r"cannot write a run to .*: No space left on device."):
        write_run(tmp_path, PLAN, ABOUT, HISTORY, PREDICTIONS)


FILES = {"plan.json": "plan", "about.json": "about", "history.csv": "history", "predictions.npz": "predictions"}


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_named_with_what_to_do(run, file):
    (run.path / file).unlink()
    with pytest.raises(
        StoreError, match=f"run {NAME} is damaged: {file} is missing in .*`dissensus runs rm {NAME}` and run its plan"
    ):
        getattr(run, FILES[file])
    with pytest.raises(StoreError, match=file):
        StoredRun(run.name, run.path).check()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_named(run, file, keep):
    content = (run.path / file).read_bytes()
    (run.path / file).write_bytes(content[: int(keep * len(content))])
    with pytest.raises(StoreError, match=rf"{NAME} is damaged: {file} cannot be read \(.+\)"):
        getattr(run, FILES[file])


def test_flipped_bytes_in_predictions_are_noticed(run):
    path = run.path / "predictions.npz"
    content = bytearray(path.read_bytes())
    position = content.find(b"best_logits.npy") + 60
    content[position] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"predictions.npz cannot be read"):
        _ = run.predictions


@pytest.mark.parametrize("text", ['{"lr": NaN}', "[1]", "{", "\x00", "[" * 100_000])
def test_json_that_is_none_is_named(run, text):
    (run.path / "plan.json").write_text(text)
    with pytest.raises(StoreError, match=r"plan.json cannot be read"):
        _ = run.plan


def test_a_table_that_csv_cannot_read_is_named(run):
    (run.path / "history.csv").write_text("epoch\n" + "1" * 200_000 + "\n")  # csv has a limit for one field
    with pytest.raises(StoreError, match=r"history.csv cannot be read \(field larger"):
        _ = run.history


def test_pickles_are_not_opened(run):
    np.savez(run.path / "predictions.npz", ids=np.array([{"code": 1}], object))
    with pytest.raises(StoreError, match=r"predictions.npz cannot be read"):
        _ = run.predictions


def test_files_are_read_when_they_are_asked_for_and_once(run):
    (run.path / "predictions.npz").unlink()
    plan = run.plan
    shutil.rmtree(run.path)
    assert run.plan is plan


def test_records_stand_beside_the_run(run):
    assert run.records() == []
    record = Record(NAME, "kl", 0.5, "best", False, "human", 2)
    run.write_records([record])
    assert run.records() == [record]
