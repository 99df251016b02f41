import hashlib
import io
import json
import os
import shutil
import stat
import time
import zipfile

import numpy as np
import pytest

from dissensus._version import __version__
from dissensus.base.errors import DissensusError, InputError, StoreError
from dissensus.records import RunStore, StoredRun, pack
from dissensus.records.archive import FILES, MOST, unpack

KIB = 2**10


@pytest.fixture
def out(tmp_path):
    return tmp_path / "packed"


@pytest.fixture
def room(tmp_path):
    """Where archives are unpacked."""
    folder = tmp_path / "room"
    folder.mkdir()
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_runs_come_out_as_they_went_in(store, out, room, add):
    names = sorted(add(store, seed) for seed in range(3))
    (archive,) = pack(store, out)
    assert archive.runs == tuple(names)
    assert archive.path.parent == out
    assert archive.size == archive.path.stat().st_size
    assert archive.without_features == ()
    unpacked = unpack(archive.path, room)
    assert [run.name for run in unpacked] == names
    for run in unpacked:
        assert contents(run.path) == contents(store.path / run.name)


def test_anybody_can_open_it(store, out, add):
    name = add(store)
    (archive,) = pack(store, out)
    with zipfile.ZipFile(archive.path) as members:
        assert members.testzip() is None
        assert members.namelist() == ["manifest.json", *(f"{name}/{file}" for file in FILES)]
        manifest = json.loads(members.read("manifest.json"))
        assert manifest["version"] == __version__
        for file, entry in manifest["runs"][name].items():
            content = members.read(f"{name}/{file}")
            assert entry == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        with np.load(io.BytesIO(members.read(f"{name}/predictions.npz")), allow_pickle=False) as arrays:
            assert arrays["counts"].sum() == 600


def test_features_are_halved_and_nothing_else(store, out, room, add):
    name = add(store, features=8, select_best_features=np.ones((4, 8)), truth=np.full((30, 3), 1 / 3))
    (archive,) = pack(store, out)
    (run,) = unpack(archive.path, room)
    before = store.read(name).predictions
    assert list(run.predictions) == list(before)
    for array, kept in run.predictions.items():
        if "features" in array:
            assert kept.dtype == np.float16
            np.testing.assert_allclose(kept, before[array], rtol=2**-11, atol=2**-24)
        else:
            assert kept.dtype == before[array].dtype
            np.testing.assert_array_equal(kept, before[array])
    for file in ("plan.json", "about.json", "history.csv"):
        assert (run.path / file).read_bytes() == (store.path / name / file).read_bytes()


def test_features_that_half_precision_cannot_hold_stay_single(store, out, room, add):
    large = np.array([[1.0, 70_000.0]], np.float32)
    add(store, best_features=large, last_features=np.array([[1.0, np.inf]], np.float32))
    (run,) = unpack(pack(store, out)[0].path, room)
    np.testing.assert_array_equal(run.predictions["best_features"], large)
    assert run.predictions["best_features"].dtype == np.float32
    assert run.predictions["last_features"].dtype == np.float16


def test_packing_twice_gives_the_same_files(store, out, tmp_path, add, monkeypatch):
    for seed in range(3):
        add(store, seed, features=4)
    first = [archive.path.name for archive in pack(store, out)]
    before = contents(out)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    os.utime(store.path / store.names()[0] / "plan.json", (0, 0))
    assert [archive.path.name for archive in pack(store, out)] == first
    assert contents(out) == before
    pack(store, tmp_path / "elsewhere")
    assert contents(tmp_path / "elsewhere") == before
    for run in map(store.read, store):  # what is derived or large is not handed over, so it changes nothing
        run.write_records([])
        (run.path / "model.safetensors").write_bytes(b"weights")
    (store.unfinished("f" * 16) / "checkpoint").touch()
    pack(store, out)
    assert contents(out) == before
    again = RunStore(tmp_path / "again")  # features are halved once: what was unpacked packs to the same file
    again.path.mkdir()
    unpack(out / first[0], again.path)
    pack(again, out)
    assert contents(out) == before


def test_some_runs_can_be_named(store, out, add):
    names = [add(store, seed) for seed in range(3)]
    (archive,) = pack(store, out, [names[2], names[0], names[2]])
    assert archive.runs == tuple(sorted([names[0], names[2]]))
    with pytest.raises(InputError, match=r"no run '0000000000000000' in .*, which holds 3"):
        pack(store, out, ["0" * 16])


def test_an_archive_never_exceeds_the_limit(store, out, room, add):
    rng = np.random.default_rng(0)
    for seed in range(12):
        add(
            store, seed, noise=rng.integers(0, 256, int(rng.integers(1, 40 * KIB)), np.uint8)
        )  # noise is incompressible
    for most in (50 * KIB, 64 * KIB, 1000 * KIB):
        archives = pack(store, out / str(most), most=most)
        assert sum((archive.runs for archive in archives), ()) == tuple(store)
        assert all(archive.path.stat().st_size <= most for archive in archives)
        assert (len(archives) == 1) == (most == 1000 * KIB)
        for archive in archives:
            unpack(archive.path, room)
        shutil.rmtree(room)
        room.mkdir()


def test_the_room_that_is_kept_for_headers_is_enough(store, out, add):
    for seed in range(40):
        add(store, seed, items=1)
    most = 30 * KIB
    archives = pack(store, out, most=most)
    assert len(archives) > 3
    assert all(archive.size <= most for archive in archives)
    assert MOST == 15 * 1024 * 1024


def test_a_run_that_is_too_large_goes_without_its_features(store, out, room, add):
    small, large = add(store, 0, features=4), add(store, 1, features=2000)
    archives = pack(store, out, most=64 * KIB)
    assert sum((archive.without_features for archive in archives), ()) == (large,)
    unpacked = {run.name: run for archive in archives for run in unpack(archive.path, room)}
    assert "best_features" in unpacked[small].predictions
    before = store.read(large).predictions
    assert set(before) - set(unpacked[large].predictions) == {"best_features", "last_features"}
    np.testing.assert_array_equal(unpacked[large].predictions["best_logits"], before["best_logits"])


def test_a_run_that_is_too_large_even_so_is_named_and_nothing_is_written(store, out, add):
    for seed in range(8):
        add(store, seed)
    large = add(store, 8, noise=np.random.default_rng(0).integers(0, 256, 100 * KIB, np.uint8))
    with pytest.raises(
        InputError,
        match=rf"run {large} takes 0.1 MiB, even without features, but an archive has at most 0.0625 MiB. "
        rf"Name the other runs .* copy the folder .*{large} as it is",
    ):
        pack(store, out, most=64 * KIB)
    assert list(out.iterdir()) == []


def test_a_damaged_run_is_named_and_nothing_is_written(store, out, add):
    names = sorted(add(store, seed) for seed in range(3))
    (store.path / names[2] / "predictions.npz").write_bytes(b"no arrays")
    with pytest.raises(StoreError, match=f"^run {names[2]} is damaged: predictions.npz cannot be read"):
        pack(store, out, most=10 * KIB)
    assert list(out.iterdir()) == []


def test_a_store_without_runs_is_named(store, out):
    with pytest.raises(InputError, match=r"runs holds no finished runs to pack."):
        pack(store, out)
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_named(store, out, add):
    add(store)
    out.write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write archives to .*packed: "):
        pack(store, out)


def test_a_full_disk_while_unpacking_is_no_fault_of_the_archive(store, out, room, add):
    (name,) = [add(store)]
    (archive,) = pack(store, out)
    shutil.rmtree(room)
    with pytest.raises(StoreError, match=f"cannot unpack run {name} to .*room: No such file or directory"):
        unpack(archive.path, room)


# --- archives that are not what they should be ------------------------------------------------------------------------


@pytest.fixture
def archive(store, out, add):
    for seed in range(2):
        add(store, seed, features=3)
    return pack(store, out)[0].path


@pytest.fixture
def remade(archive, tmp_path):
    """The archive written again, by hand, with changes; the manifest fits unless it is changed itself."""

    def call(change=lambda files: None, manifest=lambda content: None, after=lambda members: None):
        with zipfile.ZipFile(archive) as members:
            files = {name: members.read(name) for name in members.namelist()}
        told = json.loads(files.pop("manifest.json"))
        change(files)
        runs = {}
        for name, content in files.items():
            run, _, file = name.partition("/")
            entry = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            runs.setdefault(run, {})[file] = entry
        told["runs"] = runs
        text = manifest(told)
        path = tmp_path / "remade.zip"
        with zipfile.ZipFile(path, "w") as members:
            members.writestr("manifest.json", json.dumps(told) if text is None else text)
            for name, content in files.items():
                members.writestr(name, content)
            after(members)
        return path

    return call


def refused(path, room, match):
    with pytest.raises(StoreError, match=match) as error:
        unpack(path, room)
    assert str(error.value).startswith(f"{path} is not a whole archive of runs: ")
    assert "Nothing was taken from it. Copy it here again, or pack it again" in str(error.value)


def test_what_is_made_by_hand_and_fits_is_read(remade, store, room):
    assert [run.name for run in unpack(remade(), room)] == store.names()


def test_a_changed_byte_anywhere_is_noticed_or_harmless(archive, room, tmp_path):
    """Harmless: in what zip files say twice, or say of times and systems."""
    whole = {run.name: contents(run.path) for run in unpack(archive, room)}
    content = archive.read_bytes()
    path = tmp_path / "changed.zip"
    messages = []
    for i, position in enumerate(np.random.default_rng(0).choice(len(content), 300, replace=False)):
        changed = bytearray(content)
        changed[position] ^= 1 << (i % 8)
        path.write_bytes(changed)
        folder = tmp_path / f"changed-{i}"
        folder.mkdir()
        try:
            assert {run.name: contents(run.path) for run in unpack(path, folder)} == whole
        except StoreError as error:
            messages.append(str(error))
    assert len(messages) > 200
    assert all(message.startswith(f"{path} is not a whole archive of runs: ") for message in messages)


@pytest.mark.parametrize("keep", [0.01, 0.5, 0.9, 0.999])
def test_a_truncated_archive_is_named(archive, room, keep):
    archive.write_bytes(archive.read_bytes()[: int(keep * archive.stat().st_size)])
    refused(archive, room, "File is not a zip file|zip")


def test_damage_names_the_run_and_the_file(archive, store, room):
    name = store.names()[1]
    content = archive.read_bytes()
    place = content.rindex((store.path / name / "history.csv").read_bytes())
    archive.write_bytes(content[:place] + b"EPOCH" + content[place + 5 :])
    refused(archive, room, rf"history.csv of run {name} cannot be read \(Bad CRC-32")


def test_a_file_that_is_not_the_one_of_the_manifest_is_named(remade, store, room):
    name = store.names()[0]

    def other_hash(manifest):
        manifest["runs"][name]["about.json"]["sha256"] = "0" * 64

    refused(remade(manifest=other_hash), room, f"about.json of run {name} is not what manifest.json says it is")


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text"])
def test_what_is_no_archive_is_named(tmp_path, room, kind):
    path = tmp_path / "runs.zip"
    expected = {
        "missing": "does not exist; a zip archive of runs was expected there",
        "folder": "is a directory",
        "empty": "is empty",
        "text": "is not a whole archive of runs: File is not a zip file",
    }
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_text("" if kind == "empty" else "no archive")
    with pytest.raises(DissensusError, match=f"runs.zip {expected[kind]}"):
        unpack(path, room)


def test_another_zip_file_is_none_of_ours(tmp_path, room):
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr("holiday.jpg", b"")
    refused(path, room, "it holds 'holiday.jpg', which is no file of a run")
    with zipfile.ZipFile(path, "w"):
        pass
    refused(path, room, "it has no manifest.json, so it was not made by `dissensus runs pack`")


A = "0123456789abcdef"


@pytest.mark.parametrize(
    "member",
    [
        "/etc/passwd",
        "../plan.json",
        f"{A}/../../plan.json",
        f"../{A}/plan.json",
        f"{A}\\..\\plan.json",
        f"C:/{A}/plan.json",
        f"{A}/",
        f"{A}/notes.txt",
        f"{A}/model.safetensors",
        f"{A}/records.csv",
        f"{A}/plan.json/plan.json",
        f"{A.upper()}/plan.json",
        "plan.json",
        f"{A}/plan.json\n",
    ],
)
def test_members_that_are_no_files_of_a_run_are_refused(remade, room, tmp_path, member):
    outside = sorted(tmp_path.iterdir())
    path = remade(lambda files: files.update({member: b"{}"}))
    refused(path, room, "it holds .*, which is no file of a run")
    assert list(room.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == sorted([*outside, path])


def test_links_are_refused(remade, store, room):
    def link(members):
        member = zipfile.ZipInfo(f"{A}/plan.json")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        members.writestr(member, "/etc/passwd")

    refused(remade(after=link), room, f"{A}/plan.json is a link or another special file")


def test_compressed_members_are_refused(remade, room):
    def bomb(members):
        members.writestr(f"{A}/history.csv", b"0" * 10**7, zipfile.ZIP_DEFLATED)

    refused(remade(after=bomb), room, f"{A}/history.csv is compressed, which no member of an archive is")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_there_twice_or_not_listed_or_missing_are_refused(remade, store, room):
    name = store.names()[0]
    again = remade(after=lambda members: members.writestr(f"{name}/plan.json", b"{}"))
    refused(again, room, "its files are not those that manifest.json lists")
    unlisted = remade(after=lambda members: members.writestr(f"{A}/plan.json", b"{}"))
    refused(unlisted, room, "its files are not those that manifest.json lists")
    refused(remade(lambda files: files.pop(f"{name}/about.json")), room, f"about.json of run {name} is missing")


def test_members_that_share_their_bytes_are_refused(remade, store, room):
    def overlap(members):
        for member in members.infolist():
            if member.filename.endswith("plan.json"):
                member.file_size = member.compress_size = 10**6

    refused(remade(after=overlap), room, "its files overlap")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"layout": 1}', '{"layout": 1, "version": "1", "runs": {"a": []}}']
)
def test_a_manifest_that_is_none_is_told(remade, room, text):
    refused(remade(manifest=lambda _: text), room, "manifest.json is damaged")


def test_an_archive_of_a_later_layout_is_told(remade, room):
    path = remade(manifest=lambda content: content.update(layout=2, version="9.1.0"))
    refused(path, room, f"dissensus 9.1.0 packed it in a way that {__version__} cannot read; a newer release can")


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def bombs():
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)})
    liar = io.BytesIO()
    with zipfile.ZipFile(liar, "w") as members:
        members.writestr("ids.npy", member.getvalue())
    texts = io.BytesIO()
    header = {"descr": "<U0", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(texts, header)
    wide = io.BytesIO()
    with zipfile.ZipFile(wide, "w") as members:
        members.writestr("ids.npy", texts.getvalue())
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as members:
        members.writestr("ids.npy", npy(np.zeros(3)))
        members.infolist()[0].file_size = 2**31
    slow = io.BytesIO()
    with zipfile.ZipFile(slow, "w", zipfile.ZIP_LZMA) as members:
        members.writestr("ids.npy", npy(np.zeros(3)))
    return {
        "declares too much": (liar.getvalue(), "ids.npy declares more numbers than it holds"),
        "empty texts": (wide.getvalue(), "ids.npy declares more numbers than it holds"),
        "too large": (huge.getvalue(), "would take 2.0 GiB, but a run takes at most 1 GiB"),
        "lzma": (slow.getvalue(), "ids.npy is compressed in a way that NumPy does not write"),
        "no zip": (b"no arrays", "cannot be read"),
        "no array": (npz_of(b"no array"), "cannot be read"),
        "pickle": (pickled(), "is not what a run has there"),
    }


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz_of(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        members.writestr("ids.npy", content)
    return file.getvalue()


def pickled():
    file = io.BytesIO()
    np.savez(file, ids=np.array([{"code": 1}] * 9, object))
    return file.getvalue()


BOMBS = bombs()


@pytest.mark.parametrize("kind", BOMBS)
def test_arrays_that_would_do_harm_are_refused_before_they_are_made(remade, store, room, kind):
    name = store.names()[1]
    content, message = BOMBS[kind]
    path = remade(lambda files: files.update({f"{name}/predictions.npz": content}))
    refused(path, room, f"predictions.npz of run {name} .*{message}")


@pytest.mark.parametrize(("file", "content"), [("plan.json", b'{"lr": NaN}'), ("history.csv", b"a,b\n1\n")])
def test_files_that_cannot_be_read_are_refused_even_if_the_manifest_fits(remade, store, room, file, content):
    name = store.names()[0]
    path = remade(lambda files: files.update({f"{name}/{file}": content}))
    refused(path, room, f"{file} of run {name} is not what a run has there")


def test_an_unpacked_run_is_a_stored_run(archive, room):
    assert all(isinstance(run, StoredRun) and run.history["epoch"].tolist() == [0, 1] for run in unpack(archive, room))
