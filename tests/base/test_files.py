import errno
import os
import resource
import signal
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import existing_file, one_at_a_time, written_whole


def names(folder):
    return [path.name for path in folder.iterdir()]


@contextmanager
def no_file_larger_than(size):
    """A write beyond the limit fails as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_the_file_appears_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "deep" / "table.csv.gz"
    with written_whole(path) as part:
        part.write_text("half")
        assert not path.exists()
        assert part.name.endswith("table.csv.gz")
    assert path.read_text() == "half"
    assert names(path.parent) == ["table.csv.gz"]


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(TypeError), written_whole(path) as part:
        part.write_text(None)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_the_file_has_the_rights_that_any_new_file_has(tmp_path):
    before = os.umask(0o027)
    try:
        with written_whole(tmp_path / "a") as part:
            part.write_text("")
        with written_whole(tmp_path / "b") as part:
            part.with_suffix(".own").touch(mode=0o600)  # as safetensors writes
            part.with_suffix(".own").replace(part)
        assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"] == [0o640, 0o640]
    finally:
        os.umask(before)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot write .*file/table.csv: "),
        written_whole(tmp_path / "file/table.csv"),
    ):
        pass


def test_a_read_only_disk_is_named(tmp_path, monkeypatch):
    def replace(self, target):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "replace", replace)
    expected = pytest.raises(StoreError, match=r"cannot write .*table.csv: Read-only file system.")
    with expected, written_whole(tmp_path / "table.csv") as part:
        part.write_text("")
    assert names(tmp_path) == []


def test_a_disk_that_is_full_is_named(tmp_path):
    expected = pytest.raises(StoreError, match=r"cannot write .*table.csv: File too large.")
    with expected, written_whole(tmp_path / "table.csv") as part, no_file_larger_than(1000):
        part.write_bytes(b"0" * 2000)
    assert names(tmp_path) == []


def test_an_existing_file(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,label\n")
    assert existing_file(str(path)) == path


def test_what_is_not_a_readable_file_is_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is a directory, but a votes file was expected"):
        existing_file(tmp_path, "votes file")
    with pytest.raises(InputError, match=r"votes.csv does not exist; a votes file was expected there"):
        existing_file(tmp_path / "votes.csv", "votes file")
    (tmp_path / "votes.csv").touch()
    with pytest.raises(InputError, match="is empty, but a file was expected"):
        existing_file(tmp_path / "votes.csv")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be read: permission denied"):
        existing_file(tmp_path / "votes.csv")


def test_where_no_lock_can_be_had_all_go_on(tmp_path):
    (tmp_path / "file").touch()
    with one_at_a_time(tmp_path / "file" / "table.csv"):  # no folder, so no place for a lock
        pass
    assert names(tmp_path) == ["file"]
