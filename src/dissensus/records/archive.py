"""Finished runs as archives that anybody can open: zip files of at most 15 MiB, to be handed from machine to machine.

=========================== ==========================================================================================
``manifest.json``           the version of dissensus, and the size and SHA-256 of every file of every run
``<run>/plan.json``         and ``about.json``, ``history.csv``: as they are
``<run>/predictions.npz``   as it is, but features, which are most of it, in half precision
``<run>/diagnostics.csv``   as it is, where there is one
=========================== ==========================================================================================

Records are left out since they are derived, weights and unfinished runs since they are large; diagnostics go along,
since they cannot be derived without the weights. Nothing in an archive tells when or by whom it was packed, and its
name is the hash of its content: the same runs give the same files.

Whoever unpacks believes nothing: members are stored, not compressed, and every one must be a known file of a run that
the manifest lists with its size and hash, so no archive can write elsewhere or grow.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dissensus._version import __version__
from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import existing_file
from dissensus.records.canonical import NAME_DIGITS, readable_json
from dissensus.records.run import StoredRun
from dissensus.records.store import RunStore

MOST = 15 * 2**20  # bytes of an archive
UNPACKED = 2**30  # bytes that the arrays of one run may take in memory
LAYOUT = 1  # of the archive; raised when an older release could not read it
FILES = {"plan.json": "plan", "about.json": "about", "history.csv": "history", "predictions.npz": "predictions"}
DIAGNOSTICS = "diagnostics.csv"  # the one file that a run may lack

_MANIFEST = "manifest.json"
_ROOM = 400  # bytes that the headers of a member and its lines in the manifest take, at most
_MEMBER = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}/({'|'.join(map(re.escape, [*FILES, DIAGNOSTICS]))})")
# what zipfile raises for files that are none; RuntimeError: encrypted, or compressed in a way that it does not know
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Packed:
    """An archive that was written."""

    path: Path
    size: int
    runs: tuple[str, ...]
    without_features: tuple[str, ...]  # runs that are too large for one archive with them


@dataclass(frozen=True)
class _Parcel:
    """What an archive holds of a run."""

    run: str
    files: dict[str, bytes]
    without_features: bool

    @property
    def size(self) -> int:
        return sum(len(content) + _ROOM for content in self.files.values())


def pack(
    store: RunStore, folder: str | os.PathLike[str], names: Sequence[str] | None = None, most: int = MOST
) -> list[Packed]:
    """Write runs of a store (all, or those of ``names``) to ``folder`` as archives of at most ``most`` bytes each.

    A run that does not fit into one archive goes without its features; one that does not fit even so is an error. The
    archives take their names when all of them are written and have been read back, so an error leaves none.
    """
    chosen = sorted({store.read(name).name for name in (store.names() if names is None else names)})
    if not chosen:
        raise InputError(f"{store.path} holds no finished runs to pack.")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as room:
            parcels = (_parcel(store.read(name), most) for name in chosen)  # one run at a time in memory
            packed = [_written(shelf, Path(room)) for shelf in _shelves(parcels, most)]
            return [_published(archive, folder) for archive in packed]
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"cannot write archives to {folder}: {error.strerror or error}.") from error


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> list[StoredRun]:
    """The runs of an archive, written to ``folder``, each checked; an error if anything in the archive is amiss."""
    path = existing_file(archive, "zip archive of runs")
    runs = []
    try:
        with zipfile.ZipFile(path) as members:
            for name, entries in _manifest(members, path.stat().st_size).items():
                files = {file: _verified(members, name, file, *entry) for file, entry in entries.items()}
                _refuse_bomb(name, files["predictions.npz"])
                runs.append(_checked(name, files, Path(folder, name)))
    except StoreError:
        raise
    except _BROKEN as error:
        raise StoreError(
            f"{path} is not a whole archive of runs: {error}. "
            "Nothing was taken from it. Copy it here again, or pack it again where its runs are."
        ) from None
    return runs


# --- packing ----------------------------------------------------------------------------------------------------------


def _shelves(parcels: Iterable[_Parcel], most: int) -> Iterator[list[_Parcel]]:
    """The parcels in their order, as many together as fit into one archive."""
    shelf: list[_Parcel] = []
    filled = _ROOM
    for parcel in parcels:
        if shelf and filled + parcel.size > most:
            yield shelf
            shelf, filled = [], _ROOM
        shelf.append(parcel)
        filled += parcel.size
    yield shelf


def _parcel(run: StoredRun, most: int) -> _Parcel:
    """The run's files as they are handed over; its features only where they fit."""
    run.check()  # damage is told here, not on the machine that the run is handed to
    there = [*FILES, *([DIAGNOSTICS] if (run.path / DIAGNOSTICS).exists() else [])]
    files = {file: (run.path / file).read_bytes() for file in there}
    arrays = {name: _halved(name, array) for name, array in run.predictions.items()}
    if any(array is not run.predictions[name] for name, array in arrays.items()):
        files["predictions.npz"] = _npz(arrays)
    parcel = _Parcel(run.name, files, without_features=False)
    plain = {name: array for name, array in arrays.items() if not is_features(name)}
    if _ROOM + parcel.size > most and len(plain) < len(arrays):
        parcel = _Parcel(run.name, files | {"predictions.npz": _npz(plain)}, without_features=True)
    if _ROOM + parcel.size > most:
        raise InputError(
            f"run {run.name} takes {parcel.size / 2**20:.1f} MiB, even without features, but an archive has at most "
            f"{most / 2**20:.4g} MiB. Name the other runs to pack those; copy the folder {run.path} as it is, into a "
            "folder that `dissensus runs merge` is then given."
        )
    return parcel


def _halved(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Features in half precision, unless that made some of them infinite; everything else as it is."""
    if not is_features(name) or array.dtype.kind != "f" or array.dtype.itemsize <= 2:
        return array
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(np.isfinite(half), np.isfinite(array)) else array


def is_features(name: str) -> bool:
    return "features" in name


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """As ``np.savez_compressed`` writes it, with no time in it in any release of Python and NumPy."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        for name, array in arrays.items():
            content = io.BytesIO()
            npy.write_array(content, array, allow_pickle=False)
            # level 1: a quarter of the time of level 6 on rectified normal numbers in half precision, 5 % more bytes
            members.writestr(_member(f"{name}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=1)
    return buffer.getvalue()


def _written(shelf: Sequence[_Parcel], room: Path) -> Packed:
    """The archive of these runs, read back, under the name that its content gives it."""
    runs = {
        parcel.run: {
            file: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for file, content in parcel.files.items()
        }
        for parcel in shelf
    }
    manifest = readable_json({"layout": LAYOUT, "version": __version__, "runs": runs}).encode()
    path = room / f"runs-{hashlib.sha256(manifest).hexdigest()[:NAME_DIGITS]}.zip"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr(_member(_MANIFEST), manifest)
        for parcel in shelf:
            for file, content in parcel.files.items():
                members.writestr(_member(f"{parcel.run}/{file}"), content)
    with tempfile.TemporaryDirectory(dir=room) as trial:
        unpack(path, trial)
    without = tuple(parcel.run for parcel in shelf if parcel.without_features)
    return Packed(path, path.stat().st_size, tuple(runs), without)


def _member(name: str) -> zipfile.ZipInfo:
    """A member without time, user or system: stored, readable by everybody."""
    member = zipfile.ZipInfo(name)  # of 1 January 1980, where zip's time begins
    member.create_system = 3  # unix, so that the bytes are the same on every system
    member.external_attr = (stat.S_IFREG | 0o644) << 16
    return member


def _published(archive: Packed, folder: Path) -> Packed:
    path = archive.path.replace(folder / archive.path.name)
    return Packed(path, archive.size, archive.runs, archive.without_features)


# --- unpacking --------------------------------------------------------------------------------------------------------

_Entries = dict[str, tuple[int, str]]  # size and SHA-256 of each file of a run


def _manifest(members: zipfile.ZipFile, size: int) -> dict[str, _Entries]:
    """What the manifest says of each run, after a look at all members: they must be exactly the files it lists."""
    found = members.infolist()
    for member in found:
        if member.filename != _MANIFEST and not _MEMBER.fullmatch(member.filename):
            raise ValueError(f"it holds {member.filename!r}, which is no file of a run")
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError(f"{member.filename} is a link or another special file")
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise ValueError(f"{member.filename} is compressed, which no member of an archive is")
    names = sorted(member.filename for member in found)
    if _MANIFEST not in names:
        raise ValueError(f"it has no {_MANIFEST}, so it was not made by `dissensus runs pack`")
    if sum(member.file_size for member in found) > size:
        raise ValueError("its files overlap")
    runs = _listed_in(members.read(_MANIFEST))
    if sorted([_MANIFEST, *(f"{run}/{file}" for run, files in runs.items() for file in files)]) != names:
        raise ValueError(f"its files are not those that {_MANIFEST} lists")
    for run, files in runs.items():
        if lost := [file for file in FILES if file not in files]:
            raise ValueError(f"{lost[0]} of run {run} is missing")
    return runs


def _listed_in(manifest: bytes) -> dict[str, _Entries]:
    try:
        content = json.loads(manifest)
        layout, version = content["layout"], content["version"]
        if layout == LAYOUT:
            return {
                run: {file: (entry["size"], entry["sha256"]) for file, entry in files.items()}
                for run, files in content["runs"].items()
            }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{_MANIFEST} is damaged") from None
    raise ValueError(f"dissensus {version} packed it in a way that {__version__} cannot read; a newer release can")


def _verified(members: zipfile.ZipFile, run: str, file: str, size: int, sha256: str) -> bytes:
    try:
        content = members.read(f"{run}/{file}")
    except _BROKEN as error:
        raise ValueError(f"{file} of run {run} cannot be read ({error})") from None
    if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{file} of run {run} is not what {_MANIFEST} says it is")
    return content


def _checked(name: str, files: Mapping[str, bytes], folder: Path) -> StoredRun:
    """The run with these files, written to ``folder`` and read."""
    try:
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
    except OSError as error:
        raise StoreError(f"cannot unpack run {name} to {folder.parent}: {error.strerror or error}.") from error
    run = StoredRun(name, folder)
    for file in files:
        try:
            run.diagnostics() if file == DIAGNOSTICS else getattr(run, FILES[file])
        except StoreError:
            raise ValueError(f"{file} of run {name} is not what a run has there") from None
    return run


def _refuse_bomb(run: str, npz: bytes) -> None:
    """Look at the sizes that the arrays declare before any of them is made."""
    try:
        with zipfile.ZipFile(io.BytesIO(npz)) as members:
            for member in members.infolist():
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{member.filename} is compressed in a way that NumPy does not write")
                with members.open(member) as file:
                    if _declared(file) > member.file_size:
                        raise ValueError(f"{member.filename} declares more numbers than it holds")
            unpacked = sum(member.file_size for member in members.infolist())
    except Exception as error:  # whatever NumPy's reader of headers raises for bytes that are none
        raise ValueError(f"predictions.npz of run {run} cannot be read ({error})") from None
    if unpacked > UNPACKED:
        raise ValueError(
            f"predictions.npz of run {run} would take {unpacked / 2**30:.1f} GiB, but a run takes at most "
            f"{UNPACKED / 2**30:.0f} GiB"
        )


def _declared(file: Any) -> int:
    """Bytes of the array whose header is read here."""
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
    shape, _, dtype = read(file)
    return math.prod(shape) * (dtype.itemsize or 4)  # NumPy makes texts of no letters one letter wide
