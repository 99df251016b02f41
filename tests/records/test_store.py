import errno
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import PART
from dissensus.records import RunStore, Wanted

NAMES = [f"{i:016x}" for i in range(12)]
A, B = "0123456789abcdef", "0123ffffffffffff"


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


def make(store, name, text="{}"):
    with store.claim(name) as staging:
        if staging is not None:
            (staging / "plan.json").write_text(text)
    return staging is not None


def leftovers(store):
    staging = store.path / ".staging"
    return sorted(path.name for path in staging.iterdir()) if staging.exists() else []


def test_a_store_that_is_not_there_is_empty_and_is_not_made_by_looking(store):
    assert store.names() == list(store) == []
    assert len(store) == 0
    assert A not in store
    assert not store.busy(A)
    assert not store.path.exists()


def test_a_run_is_there_when_the_block_ends_and_not_before(store):
    with store.claim(A) as staging:
        (staging / "plan.json").write_text('{"method": "soft"}')
        assert store.path in staging.parents  # one file system, so that renaming is atomic
        assert A not in store
        assert store.busy(A)
    assert A in store
    assert not store.busy(A)
    assert store.names() == [A]
    assert store.read(A).plan == {"method": "soft"}
    assert leftovers(store) == []


def test_a_run_that_is_done_just_before_the_lock_is_ours_is_not_made_again(store, monkeypatch):
    locked = store._locked

    def late(name):
        (store.path / name).mkdir()
        return locked(name)

    monkeypatch.setattr(store, "_locked", late)
    with store.claim(A) as staging:
        assert staging is None


def test_a_run_that_is_done_is_not_made_again(store):
    assert make(store, A, '{"first": 1}')
    assert not make(store, A, '{"second": 2}')
    assert store.read(A).plan == {"first": 1}


def test_an_exception_discards_everything(store):
    with pytest.raises(TypeError), store.claim(A) as staging:
        (staging / "plan.json").write_text(None)
    assert A not in store
    assert leftovers(store) == []
    assert make(store, A)


def test_a_block_that_writes_nothing_makes_no_run(store):
    with store.claim(A):
        pass
    assert A not in store
    assert leftovers(store) == []


def test_a_name_is_claimed_once_at_a_time_and_names_do_not_wait_for_each_other(store):
    with store.claim(A) as first, store.claim(A) as second, store.claim(B) as other:
        assert first is not None
        assert second is None
        assert other is not None


def test_a_place_that_was_taken_meanwhile_is_left_alone(store):
    """Another machine merged the run in without a claim."""
    with store.claim(A) as staging:
        (staging / "plan.json").write_text('{"mine": 1}')
        (store.path / A).mkdir()
        (store.path / A / "plan.json").write_text('{"theirs": 1}')
    assert store.read(A).plan == {"theirs": 1}
    assert leftovers(store) == []


def test_names_are_sorted_and_other_things_are_not_runs(store):
    for name in (B, A):
        make(store, name)
    (store.path / "notes").mkdir()
    (store.path / "README.md").touch()
    (store.path / ("f" * 16)).touch()
    assert store.names() == [A, B]


@pytest.mark.parametrize("name", ["", "abc", "../../etc/passwd", A.upper(), A + "0", "g" * 16])
def test_what_is_no_name_is_refused(store, name):
    assert name not in store
    with pytest.raises(InputError, match="a run's name has 16 hex digits"), store.claim(name):
        pass
    for method in (store.read, store.remove):
        with pytest.raises(InputError, match="no run"):
            method(name)


def test_a_prefix_that_is_unique_is_enough(store):
    make(store, A)
    make(store, B)
    assert store.resolve("01234") == A
    assert store.resolve(B) == B
    assert store.resolve("f", [A, "f" * 16]) == "f" * 16
    with pytest.raises(InputError, match=f"2 runs start with '0123': {A}, {B}. Give more digits."):
        store.resolve("0123")
    with pytest.raises(InputError, match=f"no run starts with '9' in .*; it holds {A}, {B}."):
        store.resolve("9")
    with pytest.raises(InputError, match="no run starts with ''"):
        store.resolve("")


def test_names_that_are_near_come_first(store):
    names = ["0" * 16, "3f00" + "0" * 12, "3f2a" + "0" * 12, "3f2b" + "0" * 12]
    with pytest.raises(InputError, match=f"it holds {names[2]}, {names[3]}, {names[1]}, {names[0]}."):
        store.resolve("3f2ab", names)


def test_a_long_list_is_cut(store):
    for name in NAMES:
        make(store, name)
    with pytest.raises(InputError, match=r"12 runs start with '0': .* and 4 more"):
        store.resolve("0")
    with pytest.raises(InputError, match=r"it holds none\. Runs that are kept in another folder are found by --store"):
        RunStore(store.path / "empty").resolve("0")


def test_a_removed_run_is_gone_and_can_be_made_again(store):
    make(store, A, '{"first": 1}')
    store.remove(A)
    assert store.names() == []
    assert leftovers(store) == []
    assert make(store, A, '{"second": 1}')
    with pytest.raises(InputError, match=r"no run '0123ffffffffffff' in .*, which holds 1."):
        store.remove(B)


def test_a_file_that_a_killed_process_was_writing_is_nothing_to_go_on_from(store):
    with store.claim(A):
        (store.unfinished(A) / ".part-k3j2checkpoint").write_text("half of")
    assert store.unfinished_names() == []
    with store.claim(A):
        (store.unfinished(A) / "checkpoint").write_text("epoch 3")
    assert store.unfinished_names() == [A]
    store.remove(A)
    assert list(store.path.glob(".unfinished/*")) == []


def test_what_is_unfinished_outlives_its_claim_and_is_gone_when_the_run_is_done(store):
    with store.claim(A):
        (store.unfinished(A) / "checkpoint").write_text("epoch 3")
    with pytest.raises(TypeError), store.claim(A) as staging:
        (staging / "plan.json").write_text(None)
    assert store.unfinished_names() == [A]
    assert store.names() == []
    with store.claim(A) as staging:
        assert (store.unfinished(A) / "checkpoint").read_text() == "epoch 3"
        (staging / "plan.json").write_text("{}")
        assert store.unfinished_names() == [A]
    assert store.unfinished_names() == []
    assert store.names() == [A]
    assert not (store.path / ".unfinished" / A).exists()


def test_a_checkpoint_that_was_being_written_when_its_process_died_is_swept_up(store):
    with store.claim(A):
        folder = store.unfinished(A)
        (folder / "checkpoint").write_text("epoch 3")
        (folder / f"{PART}k3x9checkpoint").write_text("epo")
        store.unfinished(A)
        assert len(list(folder.iterdir())) == 2, "whoever only asks for the folder sweeps nothing"
    with store.claim(A):
        assert [path.name for path in folder.iterdir()] == ["checkpoint"]


def test_only_what_can_go_on_is_unfinished(store):
    assert store.unfinished_names() == []
    store.unfinished(B)  # asked for, but nothing was left in it
    (store.unfinished(A) / "checkpoint").touch()
    (store.path / ".unfinished" / "notes").mkdir()
    (store.path / ".unfinished" / "notes" / "todo").touch()
    assert store.unfinished_names() == [A]
    make(RunStore(store.path / "other"), A)
    shutil.copytree(store.path / "other" / A, store.path / A)  # done, by a process that died before it cleaned up
    assert store.unfinished_names() == []
    store.remove(A)
    assert not (store.path / ".unfinished" / A).exists()
    with pytest.raises(InputError, match=r"a run's name has 16 hex digits, but '../outside' was given"):
        store.unfinished("../outside")


def test_an_unfinished_run_can_be_given_up_unless_it_is_under_way(store):
    with store.claim(A):
        (store.unfinished(A) / "checkpoint").touch()
        with pytest.raises(InputError, match=f"run {A} is being made by another process at this moment; stop that one"):
            store.remove(A)
        assert store.unfinished_names() == [A]
    store.remove(A)
    assert store.unfinished_names() == []
    with pytest.raises(InputError, match=f"no run '{A}'"):
        store.remove(A)


def test_a_disk_that_refuses_the_unfinished_folder_is_named(store):
    store.path.mkdir()
    (store.path / ".unfinished").touch()
    with pytest.raises(StoreError, match=r"cannot write to the run store .*runs: "):
        store.unfinished(A)
    assert store.unfinished_names() == []


@pytest.mark.parametrize(("deed", "after"), [("mkdir", 0), ("mkdir", 1), ("rename", 0)])
@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_cannot_be_written_is_named_and_nothing_stays(store, monkeypatch, deed, after, code):
    """Root may write anywhere, so the disk's refusal is played: at the first step, at staging, and at the end."""
    real, calls = getattr(Path, deed), []

    def refuse(self, *args, **kwargs):
        if self.is_relative_to(store.path):
            calls.append(self)
            if len(calls) > after:
                raise OSError(code, os.strerror(code))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, deed, refuse)
    with pytest.raises(StoreError, match=f"cannot write to the run store .*runs: {os.strerror(code)}."):
        make(store, A)
    monkeypatch.undo()
    assert store.names() == leftovers(store) == []
    assert make(store, A)


def test_a_store_that_is_a_file_is_named(tmp_path):
    (tmp_path / "runs").touch()
    store = RunStore(tmp_path / "runs")
    with pytest.raises(StoreError, match=r"cannot write to the run store .*runs: "):
        make(store, A)
    with pytest.raises(StoreError, match=r"cannot read the run store .*runs: Not a directory"):
        store.names()


def test_a_disk_without_locks_is_named(store, monkeypatch):
    import fcntl

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(
        StoreError, match=r"cannot lock a name in .*: No locks available. A store must lie on a local disk."
    ):
        make(store, A)


def make_all(path, order, diary):
    """Claim every name in turn, and note in the diary each run that this process has made."""
    store = RunStore(path)
    for i in order:
        with store.claim(NAMES[i]) as staging:
            if staging is not None:
                time.sleep(0.005)
                (staging / "plan.json").write_text(f'{{"by": {os.getpid()}}}')
                with Path(diary).open("a") as file:  # appends of one short line are atomic
                    file.write(NAMES[i] + "\n")


def test_several_processes_make_each_run_exactly_once(store, tmp_path):
    context = multiprocessing.get_context("fork")
    diary = tmp_path / "diary"
    orders = [range(12), range(12), reversed(range(12)), [*range(6, 12), *range(6)]]
    workers = [context.Process(target=make_all, args=(store.path, list(order), diary)) for order in orders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert store.names() == NAMES
    assert sorted(diary.read_text().split()) == NAMES
    assert all("by" in store.read(name).plan for name in store)
    assert leftovers(store) == []


HOLD = """
import sys, time
from dissensus.records import RunStore
with RunStore(sys.argv[1]).claim(sys.argv[2]) as staging:
    (staging / "half").write_text("half a run")
    (RunStore(sys.argv[1]).unfinished(sys.argv[2]) / "checkpoint").write_text("epoch 3")
    print("claimed", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(store):
    """Another process in the middle of a run."""
    with subprocess.Popen([sys.executable, "-c", HOLD, store.path, A], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


def test_a_run_in_the_hands_of_another_process_is_busy(store, holder):
    assert store.busy(A)
    assert A not in store
    assert not make(store, A)
    assert make(store, B)


def test_a_killed_process_frees_its_claim_and_its_leftovers_are_swept(store, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert leftovers(store) == [A]
    assert not store.busy(A)
    assert A not in store
    assert store.unfinished_names() == [A]
    assert (store.unfinished(A) / "checkpoint").read_text() == "epoch 3"
    assert make(store, A)
    assert store.unfinished_names() == []
    assert sorted(path.name for path in (store.path / A).iterdir()) == ["plan.json"]
    assert leftovers(store) == []


def test_runs_that_end_while_somebody_looks_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run that has just ended the folder for going on is gone, though it was listed a moment ago."""
    store = RunStore(tmp_path)
    for name in (A, B):
        with store.claim(name):
            (store.unfinished(name) / "checkpoint").write_text("epoch 3")
    whole = Path.iterdir

    def iterdir(folder: Path) -> Iterator[Path]:
        found = list(whole(folder))
        if folder.name == ".unfinished":
            shutil.rmtree(folder / A)
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert store.unfinished_names() == [B]


def test_a_run_that_lacks_what_is_wanted_is_replaced_when_another_is_done(store):
    make(store, A, '{"is": "old"}')
    wants = RunStore(store.path, Wanted(weights=True))
    assert A in store
    assert A not in wants
    assert wants.read(A).plan == wants.incomplete(A).plan == {"is": "old"}
    with suppress(RuntimeError), wants.claim(A) as staging:
        (staging / "plan.json").write_text("{}")
        raise RuntimeError
    assert store.read(A).plan == {"is": "old"}
    with wants.claim(A) as staging:
        (staging / "plan.json").write_text('{"is": "new"}')
        (staging / "model.safetensors").write_text("")
        assert store.read(A).plan == {"is": "old"}
    assert store.read(A).plan == {"is": "new"}
    assert A in wants
    assert wants.incomplete(A) is None
    assert not make(wants, A)
    assert leftovers(store) == []


def test_a_run_that_cannot_be_replaced_stays(store, monkeypatch):
    make(store, A, '{"is": "old"}')
    rename = Path.rename

    def refuse(path, target):
        if path.parent.name == ".staging" and Path(target).parent == store.path:
            raise OSError(errno.ENOSPC, "no space")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StoreError, match="no space"):
        make(RunStore(store.path, Wanted(weights=True)), A, '{"is": "new"}')
    assert store.read(A).plan == {"is": "old"}


def test_a_place_that_is_none_is_told_before_anything_is_written(store, tmp_path, monkeypatch):
    store.check_place(to_write=True)
    assert not store.path.exists()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(StoreError, match=f"cannot write to the run store {path}: {tmp_path}/file is a file"):
            RunStore(path).check_place()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    store.check_place()  # runs that are done can be read
    with pytest.raises(StoreError, match=f"{tmp_path} may not be written to"):
        store.check_place(to_write=True)
