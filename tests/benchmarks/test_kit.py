"""What travels to a GPU machine arrives whole, in any order and number of calls, and runs come home, none twice."""

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

from dissensus.records import Diagnosis, RunStore, merge

NOISE = np.random.default_rng(0).bytes(5000)  # does not get smaller


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    import kit

    (tmp_path / "data" / "cifar-10h").mkdir(parents=True)
    (tmp_path / "data" / "cifar-10h" / "counts.npy").write_bytes(NOISE)
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("dissensus.experiment.about.commit", lambda: "abc123")  # which is asked for once a process
    return kit


@pytest.fixture
def parts(kit: ModuleType, tmp_path: Path) -> list[Path]:
    return kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")


def carry(parts: list[Path], to: Path) -> Path:
    """A call that takes these parts along, and no others."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for part in [*parts, parts[0].parent / "kit"]:
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


def test_kits_stay_beside_one_another(kit: ModuleType, parts: list[Path], tmp_path: Path) -> None:
    room = tmp_path / "room"
    (tmp_path / "data" / "texts").mkdir()
    (tmp_path / "data" / "texts" / "all.jsonl").write_bytes(NOISE[::-1])
    other = kit.pack([], ["texts"], "3.12", 2000, tmp_path / "other")
    assert kit.unpack(carry(other[:1], tmp_path / "there too"), room) == (1, 3)
    assert kit.unpack(carry(parts, tmp_path / "there"), room) == (3, 3)  # meanwhile
    assert kit.unpack(carry(other[1:], tmp_path / "there too"), room) == (3, 3)
    assert (room / "data" / "cifar-10h" / "counts.npy").read_bytes() == NOISE
    assert (room / "data" / "texts" / "all.jsonl").read_bytes() == NOISE[::-1]
    assert kit.environment(tmp_path / "there", room) == kit.environment(tmp_path / "there too", room)


def test_a_kit_takes_the_place_of_one_of_the_same_folder(kit: ModuleType, parts: list[Path], tmp_path: Path) -> None:
    there, room = tmp_path / "there", tmp_path / "room"
    kit.unpack(carry(parts, there), room)
    (tmp_path / "data" / "cifar-10h" / "counts.npy").write_bytes(NOISE[::-1])
    (tmp_path / "here" / "notes").write_text("nobody's to delete")
    other = kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"notes", "kit", *(part.name for part in other)}
    for part in (*other[1:], tmp_path / "here" / "kit"):
        shutil.copy(part, there)  # where the first kit's parts lie still
    assert kit.unpack(there, room) == (2, 3)
    shutil.copy(other[0], there)
    assert kit.unpack(there, room) == (3, 3)
    assert (room / "data" / "cifar-10h" / "counts.npy").read_bytes() == NOISE[::-1]


def test_damage_on_the_way_is_told_and_mended_by_carrying_again(
    kit: ModuleType, parts: list[Path], tmp_path: Path
) -> None:
    there, room = carry(parts, tmp_path / "there"), tmp_path / "room"
    (there / parts[1].name).write_bytes(b"cut off")
    with pytest.raises(SystemExit, match=r"parts of .* came damaged; carry all 3 again"):
        kit.unpack(there, room)
    assert kit.unpack(carry(parts, there), room) == (3, 3)


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
    with pytest.raises(SystemExit, match=r"there is no kit in .*nowhere: the file kit tells of one, and has to be"):
        kit.unpack(tmp_path / "nowhere", tmp_path / "room")
    parts = kit.pack([], ["cifar-10h"], "3.12", 2000, tmp_path / "here")
    monkeypatch.setattr(kit, "ROOM", tmp_path / "room")
    assert kit.main(["unpack", str(carry(parts[:1], tmp_path / "there"))]) == 1
    assert f"1 of 3 parts of the kit {tmp_path / 'there'} are here" in capsys.readouterr().err
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


def test_runs_that_did_not_arrive_go_again(kit: ModuleType, add: Callable[..., str], tmp_path: Path) -> None:
    store, room = RunStore(tmp_path / "runs"), tmp_path / "room"
    add(store, "soft", "all", 0, "bf16", 0.5)
    assert kit.take([store.path], tmp_path / "lost", 10**6, room) == (1, 0)
    assert kit.take([store.path], tmp_path / "out", 10**6, room, again=True) == (1, 0)
    assert kit.take([store.path], tmp_path / "none", 10**6, room) == (0, 0)


def test_a_run_made_again_or_looked_into_again_comes_home_again(
    kit: ModuleType, add: Callable[..., str], tmp_path: Path
) -> None:
    store, room, home = RunStore(tmp_path / "runs"), tmp_path / "room", RunStore(tmp_path / "home")
    name = add(store, "soft", "all", 0, "bf16", 0.5, about={"seconds": 10.0})
    kit.take([store.path], tmp_path / "first", 10**6, room)
    store.remove(name)
    add(store, "soft", "all", 0, "bf16", 0.7, about={"seconds": 10.1})
    assert kit.take([store.path], tmp_path / "second", 10**6, room) == (1, 0)
    store.read(name).write_diagnostics([Diagnosis("barrier", 0.1, 0.0, 0.2, 40, other="ab")])
    assert kit.take([store.path], tmp_path / "third", 10**6, room) == (1, 0)
    for call in ("first", "second", "third"):
        merge(home, [tmp_path / call], replace=True)
    assert home.read(name).about["seconds"] == 10.1
    assert [one.other for one in home.read(name).diagnostics()] == ["ab"]


def test_what_comes_home_at_once_is_limited_in_bytes_and_files(
    kit: ModuleType, add: Callable[..., str], tmp_path: Path
) -> None:
    stores = [RunStore(tmp_path / f"runs {number}") for number in (1, 2)]
    room, out = tmp_path / "room", tmp_path / "out"
    for seed, store in enumerate(stores):
        add(store, "soft", "all", seed, "bf16", 0.5)
    out.mkdir()
    (out / "log").write_bytes(NOISE)  # counts as well
    paths = [store.path for store in stores]
    assert kit.take(paths, out, 10**6, room, files=2) == (1, 1)
    assert kit.take(paths, out, 10**6, room, files=2) == (0, 1)
    (out / "log").unlink()
    assert kit.take(paths, out, len(NOISE), room) == (0, 1)
    assert kit.take(paths, out, 10**6, room) == (1, 0)
    assert len(list(out.iterdir())) == 2
