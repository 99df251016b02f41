"""A slice on a borrowed machine takes its kits, trains within its time, and brings home what it made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SLICE = Path(__file__).parents[2] / "benchmarks" / "slice.sh"

# In the place of Python: what it was asked for goes to a file; of the kit on texts only some parts are there.
PYTHON = """#!/usr/bin/env bash
echo "$@ [${KIT:-}]" >>"$TMPDIR/asked"
case "$*" in
  *"unpack carry/texts"*) [ -e "$TMPDIR/whole" ] || exit 1; echo "export KIT=texts" ;;
  *unpack*) echo "export KIT=basins" ;;
  *--store*) mkdir -p "${@: -1}" ;;
esac
"""


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(SLICE, tmp_path / "benchmarks")
    (tmp_path / "bin").mkdir()
    for name, text in {"python3": PYTHON, "nvidia-cuda-mps-control": "#!/bin/sh\n"}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for kit in ("basins", "texts"):
        (tmp_path / "carry" / kit).mkdir(parents=True)
        (tmp_path / "carry" / kit / "kit").touch()
    return tmp_path


def asked(there: Path, *words: str) -> tuple[int, list[str]]:
    """The exit code, and what Python was asked for."""
    environment = {"PATH": f"{there / 'bin'}:/usr/bin:/bin", "TMPDIR": str(there)}
    done = subprocess.run(
        ["bash", there / "benchmarks" / "slice.sh", *words], env=environment, capture_output=True, check=False
    )
    lines = (there / "asked").read_text().splitlines()
    (there / "asked").unlink()
    return done.returncode, lines


def test_basins_goes_on_while_the_other_kit_arrives(there: Path) -> None:
    code, lines = asked(there, "basins", "300", "home")
    assert code == 0
    (run,) = [line for line in lines if "-m dissensus" in line]
    assert run.startswith("-m dissensus reproduce basins --runs-only --budget ")
    assert f"s --protocol audited --to-merge --store {there}/runs" in run
    assert run.endswith("[basins]")
    budget = int(run.split("--budget ")[1].split("s")[0])
    assert 260 <= budget <= 270  # half a minute is left for packing
    assert lines[-1] == f"benchmarks/kit.py take {there}/runs --out home [basins]"


def test_texts_wait_for_all_their_parts(there: Path) -> None:
    code, lines = asked(there, "texts", "600", "home")
    assert code == 9
    assert not [line for line in lines if "-m dissensus" in line]


def test_texts_go_side_by_side_and_basins_takes_what_is_left(there: Path) -> None:
    (there / "whole").touch()
    code, lines = asked(there, "texts", "600", "home")
    assert code == 0
    made = [line for line in lines if "-m dissensus" in line]
    parts = {line.split("chaosnli-")[1].split("-")[0] for line in made[:3]}
    assert parts == {"snli", "mnli", "alpha"}
    assert all(line.endswith("[texts]") for line in made[:3])
    assert "reproduce basins" in made[3]
    assert made[3].endswith("[basins]")
    assert lines[-1] == f"benchmarks/kit.py take {there}/runs {there}/texts --out home [texts]"


def test_no_run_is_begun_that_cannot_end(there: Path) -> None:
    code, lines = asked(there, "basins", "100", "home")
    assert code == 0
    assert lines == ["benchmarks/kit.py unpack carry/texts []", "benchmarks/kit.py unpack carry/basins []"]
    (there / "runs").mkdir()  # of a slice before
    assert asked(there, "basins", "100", "home")[1][-1] == f"benchmarks/kit.py take {there}/runs --out home [basins]"
