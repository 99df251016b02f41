"""What travels to a GPU machine arrives whole, in any order and number of calls, and runs come home once."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dissensus.records import RunStore, merge

NOISE = np.random.default_rng(0).bytes(5000)  # does not get smaller


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    import kit

    (tmp_path / "data" / "cifar-10h").mkdir(parents=True)
    (tmp_path / "data" / "cifar-10h" / "counts.npy").write_bytes(NOISE)
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DISSENSUS_COMMIT", "abc123")
    return kit


@pytest.fixture
def parts(kit: ModuleType, tmp_path: Path) -> list[Path]:
    return kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")


def carry(parts: list[Path], to: Path) -> Path:
    """A call that takes these parts along, and no others."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for part in [*parts, parts[0].parent / "sources"]:
        shutil.copy(part, to / part.name)
    return to


def test_parts_may_come_one_after_the_other(kit: ModuleType, parts: list[Path], tmp_path: Path) -> None:
    there, room = tmp_path / "there", tmp_path / "room"
    assert len(parts) == 3
    assert all(part.stat().st_size <= 2000 for part in parts)
    assert kit.unpack(carry(parts[2:], there), room) == (1, 3)
    assert not (room / "data").exists()
    assert kit.unpack(carry(parts[:2], there), room) == (3, 3)
    assert (room / "data" / "cifar-10h" / "counts.npy").read_bytes() == NOISE
    assert (room / "site").is_dir()
    assert kit.unpack(carry(parts[:1], there), room) == (3, 3)  # open already: nothing to wait for
    (there / parts[0].name).unlink()
    assert kit.unpack(there, room) == (3, 3)


def test_another_kit_takes_the_place_of_one(kit: ModuleType, parts: list[Path], tmp_path: Path) -> None:
    there, room = tmp_path / "there", tmp_path / "room"
    kit.unpack(carry(parts, there), room)
    (tmp_path / "data" / "cifar-10h" / "counts.npy").write_bytes(NOISE[::-1])
    other = kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "other")
    assert kit.unpack(carry(parts[:1], there), room) == (3, 3)
    assert kit.unpack(carry(other[:1], there), room) == (1, 3)
    assert kit.unpack(carry(other[1:], there), room) == (3, 3)
    assert (room / "data" / "cifar-10h" / "counts.npy").read_bytes() == NOISE[::-1]


def test_more_than_nine_parts_stay_in_order(kit: ModuleType, tmp_path: Path) -> None:
    parts = kit.pack([], ["cifar-10h"], "3.12", 400, tmp_path / "here")
    assert len(parts) > 9
    kit.unpack(carry(parts, tmp_path / "there"), tmp_path / "room")
    assert (tmp_path / "room" / "data" / "cifar-10h" / "counts.npy").read_bytes() == NOISE


def test_a_commit_is_told_with_a_plus_where_the_sources_have_changed(
    kit: ModuleType, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, room = carry(parts, tmp_path / "there"), tmp_path / "room with spaces"
    kit.unpack(there, room)
    lines = kit.environment(there, room).splitlines()
    assert "export DISSENSUS_COMMIT=abc123" in lines
    assert f"export DISSENSUS_DATA={shlex.quote(str(room / 'data'))}" in lines
    source = tmp_path / "src" / "dissensus" / "changed.py"
    source.parent.mkdir(parents=True)
    source.write_text("changed = True\n")
    monkeypatch.setattr(kit, "SOURCES", tmp_path)
    assert "export DISSENSUS_COMMIT=abc123+" in kit.environment(there, room).splitlines()


def test_what_is_unpacked_is_imported_by_a_python_that_has_nothing(
    kit: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as members:
        members.writestr("small.py", "size = 7\n")
    monkeypatch.setattr(kit, "_wheels", lambda packages, python, folder: [wheel])
    there = carry(kit.pack(["small"], [], "3.12", 2000, tmp_path / "here"), tmp_path / "there")
    script = Path(kit.__file__)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    bare = [sys.executable, "-S"]  # without the packages of this environment
    lines = subprocess.run([*bare, script, "unpack", there], capture_output=True, text=True, check=True).stdout
    ask = f"{lines}\n{shlex.join(bare)} -c 'import small; print(small.size)'"
    assert subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout == "7\n"


def test_mistakes_are_told(kit: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    with pytest.raises(SystemExit, match=r"there is no cifar10h in .*, which has cifar-10h\."):
        kit.pack([], ["cifar10h"], "3.12", 2000, tmp_path / "here")
    with pytest.raises(SystemExit, match="there are no parts of a kit in"):
        kit.unpack(tmp_path / "nowhere", tmp_path / "room")
    parts = kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")
    monkeypatch.setattr(kit, "ROOM", tmp_path / "room")
    assert kit.main(["unpack", str(carry(parts[:1], tmp_path / "there"))]) == 1
    assert "1 of 3 parts of the kit are here" in capsys.readouterr().err
    monkeypatch.delenv("DISSENSUS_DATA")
    with pytest.raises(SystemExit, match="DISSENSUS_DATA is not set"):
        kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")


def test_runs_come_home_once(kit: ModuleType, add: Callable[..., str], tmp_path: Path) -> None:
    store, room, home = RunStore(tmp_path / "runs"), tmp_path / "room", RunStore(tmp_path / "home")
    names = {add(store, "soft", "all", seed, "bf16", 0.5) for seed in (0, 1)}
    assert kit.take([store.path], tmp_path / "first", 10, room) == (0, 2)  # no room for any: still to come
    assert kit.take([store.path], tmp_path / "first", 10**6, room) == (2, 0)
    names.add(add(store, "sls", "all", 0, "bf16", 0.5))
    assert kit.take([store.path], tmp_path / "second", 10**6, room) == (1, 0)
    assert kit.take([store.path], tmp_path / "third", 10**6, room) == (0, 0)
    merge(home, [tmp_path / "first", tmp_path / "second"])
    assert set(home.names()) == names
