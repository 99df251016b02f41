"""One smoke run for all: the whole reproduction by its command, on embedded data."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.cli import main
from dissensus.experiment.papers import Evidence, Paper, read_paper
from dissensus.experiment.reproduce import Reproduction, smoke
from dissensus.records import RunStore


def command(*words: str) -> int:
    """The exit code of `dissensus reproduce basins ...`."""
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "basins", *words])
    return int(ended.value.code or 0)


@pytest.fixture(scope="session")
def paper() -> Paper:
    return read_paper("basins")


@pytest.fixture(scope="session")
def smoked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with its results, its page and its runs."""
    folder = tmp_path_factory.mktemp("smoke") / "basins"
    assert command("--smoke", "--out", str(folder), "--quiet") == 0
    return folder


@pytest.fixture(scope="session")
def evidence(smoked: Path) -> Evidence:
    return Evidence.read(smoked)


@pytest.fixture(scope="session")
def repeated(smoked: Path, paper: Paper) -> Reproduction:
    return Reproduction.open(paper, smoke(), RunStore(smoked / "runs"))


@pytest.fixture(scope="session")
def small(paper: Paper, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """The same with nothing done, to look at."""
    return Reproduction.open(paper, smoke(), RunStore(tmp_path_factory.mktemp("nothing") / "runs"))
