"""A run that diverges in the midst of a reproduction: made once, kept without numbers, named on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dissensus.experiment import run
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.experiment.reproduce import Reproduction, smoke
from dissensus.records import RunStore
from dissensus.training import Job

from .conftest import command

SOFT = Cell("published", "soft", "all", 1, 0)
WORDS = ["--smoke", "--only", "figure11", "--seeds", "0", "--jobs", "1"]


@pytest.fixture(scope="module")
def diverged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four runs of a seed at the ends of its lines, of which one diverged."""
    folder = tmp_path_factory.mktemp("diverged")
    made = run.job_of

    def job_of(plan: Any, *rest: Any) -> Job:
        job = made(plan, *rest)
        wild = plan.method == "soft" and plan.seeds.order == 0
        return replace(job, recipe=replace(job.recipe, lr=1e30, momentum=0.0)) if wild else job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "job_of", job_of)
        assert command(*WORDS, "--out", str(folder), "--quiet") == 0
    return folder


@pytest.fixture
def repeated(diverged: Path, paper: Paper) -> Reproduction:
    return Reproduction.open(paper, smoke(), RunStore(diverged / "runs"))


def test_it_is_done_and_no_other_run_waits_for_it(repeated: Reproduction) -> None:
    now = repeated.standing(repeated.wanted(["figure11"], seeds={0}))
    assert (len(now.done), now.left, now.again) == (4, [], {})
    assert now.diverged == {SOFT}
    assert list((repeated.store.path / ".models").glob("*")) == []  # no line will ever be drawn to it


def test_it_is_evidence_without_numbers(diverged: Path) -> None:
    evidence = Evidence.read(diverged)
    assert list(evidence.diverged) == [SOFT]
    assert len(evidence.runs) == 4
    asked = {"protocol": "published", "method": "soft"}
    assert evidence.numbers("soft_nll", **asked) == evidence.history(**asked) == {}
    assert evidence.numbers("soft_nll", **asked, other="uniform").keys() == {0}  # of the items, not of the model
    sls = {"protocol": "published", "method": "sls"}
    assert evidence.numbers("barrier", **sls, other="soft") == {}
    assert evidence.numbers("barrier", **sls, other="sls+reorder").keys() == {0}


def test_results_alone_tell_it_too(diverged: Path, repeated: Reproduction, tmp_path: Path) -> None:
    before = Evidence.read(diverged)
    elsewhere = replace(repeated, store=RunStore(tmp_path / "runs"), before=before)
    now = elsewhere.standing(elsewhere.wanted(["figure11"], seeds={0}))
    assert now.diverged == {SOFT}
    assert not now.left
    elsewhere.collect().write(tmp_path)
    assert (tmp_path / "runs.csv").read_bytes() == (diverged / "runs.csv").read_bytes()


def test_the_page_and_the_plan_name_it(diverged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = " ".join((diverged / "index.html").read_text("utf-8").split())
    assert "1 run diverged: soft, seed 0 (published), in epoch " in page
    assert "They count as made, are not made again and have no numbers." in page
    assert command(*WORDS, "--out", str(diverged), "--plan", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["left"], told["diverged"]) == (4, 0, 1)
    assert command(*WORDS, "--out", str(diverged), "--plan") == 0
    assert "1 diverged: they have no numbers, and are not made again" in " ".join(capsys.readouterr().out.split())


def test_the_runs_of_the_store_say_so(diverged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dissensus.cli import main

    for words, said in ((["list"], " diverged"), (["list", "--json"], '"soft_nll": null')):
        with pytest.raises(SystemExit):
            main(["runs", *words, "--store", str(diverged / "runs")])
        assert capsys.readouterr().out.count(said) == 1
    store = RunStore(diverged / "runs")
    (name,) = (name for name in store if store.read(name).diverged is not None)
    with pytest.raises(SystemExit):
        main(["runs", "show", name, "--json", "--store", str(diverged / "runs")])
    told = json.loads(capsys.readouterr().out)
    assert {one["value"] for one in told["records"]} == {None}
