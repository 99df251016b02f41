import errno
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from dissensus.base.errors import StoreError
from dissensus.evaluation import records_of
from dissensus.records import Diagnosis, Merged, RunStore, content_name, merge, pack


@pytest.fixture
def other(tmp_path):
    return RunStore(tmp_path / "other")


def contents(store):
    return {name: {p.name: p.read_bytes() for p in (store.path / name).iterdir()} for name in store}


def counted(merged):
    return len(merged.new), len(merged.here), len(merged.busy), len(merged.other), len(merged.problems)


@pytest.fixture
def archives(other, tmp_path, add):
    """Seven runs in three archives."""
    for seed in range(7):
        add(other, seed, features=16)
    packed = pack(other, tmp_path / "packed", most=20_000)
    assert [len(archive.runs) for archive in packed] == [3, 3, 1]
    return [archive.path for archive in packed]


def test_runs_that_were_packed_and_merged_score_the_same(store, other, archives):
    merged = merge(store, archives)
    assert merged == Merged(new=other.names())
    assert store.names() == other.names()
    for name in store:
        ours, theirs = store.read(name), other.read(name)
        assert records_of(ours) == records_of(theirs)
        assert len(records_of(ours)) > 50
        assert (ours.plan, ours.about) == (theirs.plan, theirs.about)
        np.testing.assert_allclose(ours.predictions["best_features"], theirs.predictions["best_features"], rtol=2**-10)


def test_merging_twice_does_nothing(store, archives):
    merge(store, archives)
    before = contents(store)
    merged = merge(store, archives)
    assert counted(merged) == (0, 7, 0, 0, 0)
    assert contents(store) == before
    assert not list((store.path / ".staging").iterdir())


def test_a_store_knows_its_own_runs_when_they_come_back(other, archives):
    assert counted(merge(other, archives)) == (0, 7, 0, 0, 0)  # though their features are half as precise


def test_a_folder_of_archives_and_a_store_do_as_well(store, other, archives, tmp_path, add):
    assert counted(merge(store, [archives[0].parent])) == (7, 0, 0, 0, 0)
    add(other, 9)
    (other.read(other.names()[0]).path / "model.safetensors").write_bytes(b"weights")
    assert counted(merge(store, [other.path])) == (1, 7, 0, 0, 0)
    fresh = RunStore(tmp_path / "fresh")
    assert counted(merge(fresh, [other.path, archives[0]])) == (8, 0, 0, 0, 0)  # a run is counted once
    assert (fresh.path / other.names()[0] / "model.safetensors").read_bytes() == b"weights"
    assert counted(merge(fresh, [fresh.path])) == (0, 8, 0, 0, 0)


def test_what_is_here_with_other_numbers_is_kept(store, other, archives, add):
    add(store, 0)
    name = add(store, 1, best_logits=np.zeros((30, 3), np.float32))
    before = contents(store)
    merged = merge(store, archives)
    assert counted(merged) == (5, 2, 0, 1, 0)
    assert merged.other == [name]
    assert before.items() <= contents(store).items()
    assert merge(store, [*archives, other.path]).other == [name]


def test_a_run_that_was_made_again_takes_the_place_of_the_one_that_is_here(store, other, archives, add):
    name = add(store, 1, best_logits=np.zeros((30, 3), np.float32))
    same = add(store, 0)
    merged = merge(store, archives, replace=True)
    assert (merged.replaced, merged.here, len(merged.new), merged.other) == ([name], [same], 5, [])
    ours, theirs = (one.read(name).predictions["best_logits"] for one in (store, other))
    np.testing.assert_array_equal(ours, theirs)
    assert counted(merge(store, archives, replace=True)) == (0, 7, 0, 0, 0)


@pytest.mark.parametrize("kept", ["weights", "features", "diagnostics"])
def test_a_run_that_kept_more_does_not_give_way(store, other, add, kept):
    name = add(store, 1, features=4 * (kept == "features"), best_logits=np.zeros((30, 3), np.float32))
    if kept == "weights":
        (store.read(name).path / "model.safetensors").write_bytes(b"weights")
    if kept == "diagnostics":
        store.read(name).write_diagnostics([Diagnosis("trace", 9.0, 8.0, 10.0, 30, weights="best")])
    assert add(other, 1) == name
    before = contents(store)
    merged = merge(store, [other.path], replace=True)
    assert (merged.fuller, merged.replaced) == ([name], [])
    assert contents(store) == before


def test_what_is_said_of_a_run_that_gave_way_goes_with_it(store, other, add):
    """By runs that stay as they are; one that came along speaks of the one that is here now, if it does."""
    name = add(store, 1, best_logits=np.zeros((30, 3), np.float32))
    assert add(other, 1) == name
    stays, silent, comes = add(store, 2), add(store, 4), add(other, 3)
    add(other, 4)
    line, own = Diagnosis("barrier", 1.0, 0.9, 1.1, 30, other=name), Diagnosis("trace", 9.0, 8.0, 10.0, 30)
    for run in (stays, silent):
        store.read(run).write_diagnostics([own, line])
    other.read(comes).write_diagnostics([line])
    merge(store, [other.path])
    assert store.read(stays).diagnostics() == [own, line]
    merge(store, [other.path], replace=True)
    assert store.read(stays).diagnostics() == store.read(silent).diagnostics() == [own]
    assert store.read(comes).diagnostics() == [line]


def test_the_same_bits_in_another_shape_are_other_numbers(store, other, add):
    name = add(other, 1)
    logits = other.read(name).predictions["best_logits"]
    assert add(store, 1, best_logits=logits.reshape(logits.shape[::-1])) == name
    assert merge(store, [other.path]).other == [name]


def test_a_run_that_is_being_made_here_is_left_alone(store, archives, other):
    with store.claim(other.names()[0]):
        merged = merge(store, archives)
    assert counted(merged) == (6, 0, 1, 0, 0)
    assert merged.busy == [other.names()[0]]


def test_a_place_that_another_process_has_taken_meanwhile_is_left_to_it(store, other, add, monkeypatch):
    """The run here has gone to give way, and somebody makes it anew at that moment."""
    name = add(store)
    add(other, best_logits=np.ones((30, 3), np.float32))
    remove = store.remove
    with ExitStack() as claimed:

        def removed(run):
            remove(run)
            claimed.enter_context(store.claim(run))

        monkeypatch.setattr(store, "remove", removed)
        merged = merge(store, [other.path], replace=True)
    assert (merged.busy, merged.replaced) == ([name], [])


def test_a_merged_run_is_no_longer_unfinished(store, archives, other):
    (store.unfinished(other.names()[0]) / "checkpoint").touch()
    merge(store, archives)
    assert store.unfinished_names() == []


def test_a_broken_archive_keeps_nothing_else_out(store, archives, other):
    """Its last run is damaged, so its first two are whole; they do not come in either."""
    content = archives[1].read_bytes()
    before, _, after = content.rpartition(b"soft_nll")
    archives[1].write_bytes(before + b"hard_nll" + after)
    merged = merge(store, archives)
    assert counted(merged) == (4, 0, 0, 0, 1)
    damaged = f"history.csv of run {other.names()[5]} cannot be read"
    assert merged.problems[0].startswith(f"{archives[1]} is not a whole archive of runs: {damaged}")
    archives[1].write_bytes(content)
    assert counted(merge(store, archives)) == (3, 4, 0, 0, 0)
    assert store.names() == other.names()


def test_a_damaged_run_of_a_store_keeps_nothing_else_out(store, other, add):
    names = sorted(add(other, seed) for seed in range(3))
    (other.path / names[1] / "history.csv").write_text("epoch")
    merged = merge(store, [other.path])
    assert store.names() == merged.new == [names[0], names[2]]
    assert f"run {names[1]} is damaged: history.csv cannot be read" in merged.problems[0]


def test_a_run_that_is_damaged_here_is_told(store, archives, other):
    merge(store, archives)
    name = store.names()[3]
    (store.path / name / "predictions.npz").unlink()
    merged = merge(store, archives)
    assert counted(merged) == (0, 7, 0, 0, 1)
    assert f"run {name} is damaged: predictions.npz is missing in {store.path / name}" in merged.problems[0]
    store.remove(name)  # as the message says
    assert counted(merge(store, archives)) == (1, 6, 0, 0, 0)


@pytest.mark.parametrize("kind", ["archive", "store"])
def test_a_plan_must_have_the_name_of_its_run(store, other, tmp_path, add, kind):
    names = [add(other, seed) for seed in range(3)]
    other.read(names[1]).path.rename(other.path / ("f" * 16))
    sources = [other.path] if kind == "store" else [archive.path for archive in pack(other, tmp_path / "packed")]
    merged = merge(store, sources, name_of=content_name)
    # an archive comes in whole or not at all
    assert counted(merged) == ((2, 0, 0, 0, 1) if kind == "store" else (0, 0, 0, 0, 1))
    assert merged.problems == [
        f"run {'f' * 16} of {sources[0]} is not taken: its plan is that of run {names[1]}. Either its plan.json was "
        "changed, or it was made by another release: merge with that one."
    ]


def test_what_is_nothing_to_merge_is_told(store, tmp_path, archives):
    (tmp_path / "empty").mkdir()
    merged = merge(store, [tmp_path / "empty", tmp_path / "missing.zip", archives[0]])
    assert counted(merged) == (3, 0, 0, 0, 2)
    assert merged.problems[0].startswith(
        f"{tmp_path / 'empty'} holds neither runs nor archives of runs. Give an archive that `dissensus runs pack` made"
    )
    assert "missing.zip does not exist" in merged.problems[1]


def test_a_full_disk_ends_it_and_leaves_whole_runs_only(store, archives, monkeypatch):
    copytree, calls = shutil.copytree, []

    def full(source, target, **options):
        calls.append(source)
        if len(calls) > 2:
            Path(target, "plan.json").touch()
            raise OSError(errno.ENOSPC, "No space left on device")
        return copytree(source, target, **options)

    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(StoreError, match=r"cannot copy run .* to .*runs: .*No space left on device"):
        merge(store, archives)
    monkeypatch.undo()
    assert len(store) == 2
    assert not list((store.path / ".staging").iterdir())
    assert counted(merge(store, archives)) == (5, 2, 0, 0, 0)


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from dissensus.records import RunStore, merge
copytree, calls = shutil.copytree, []
def killed(source, target, **options):
    calls.append(source)
    if len(calls) > 4:
        Path(target, "plan.json").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return copytree(source, target, **options)
shutil.copytree = killed
merge(RunStore(sys.argv[1]), sys.argv[2:])
"""


def test_a_killed_merge_is_taken_up_by_merging_again(store, other, archives, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", KILLED, store.path, *archives], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(store) == 4
    for name in store:
        store.read(name).check()
    assert counted(merge(store, archives)) == (3, 4, 0, 0, 0)
    assert store.names() == other.names()
    for name in store:
        store.read(name).check()
