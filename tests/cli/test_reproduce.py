"""``dissensus reproduce``: what it says before anything starts, and of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dissensus.cli import main
from dissensus.cli.sweeping import swept
from dissensus.datasets import OFFICIAL
from dissensus.experiment import Event, Outcome
from dissensus.records import RunStore

RESULTS = Path(__file__).parents[2] / "results" / "soft-labels"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code, and all that was said, in one line."""
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *words])
    said = capsys.readouterr()
    return int(ended.value.code or 0), " ".join((said.out + said.err).split())


def test_the_plan_comes_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(
        capsys, "basins", "--smoke", "--plan", "--only", "figure4,table6", "--store", str(tmp_path / "runs")
    )
    assert code == 0
    assert "resampling published figure4 8 0 8" in said
    assert "curvature-sweep published table6 16 0 16" in said
    assert "30 runs: 0 done, 30 left." in said  # with the other ends of lines from four of them
    assert "How long they take is not known yet" in said
    assert not (tmp_path / "runs").exists()


def test_a_budget_that_is_used_up_leaves_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--only", "figure4", "--seeds", "0", "--runs-only", "--budget", "0.000001s", "--jobs", "1"]
    code, said = told(capsys, "basins", "--smoke", *words, "--out", str(tmp_path))
    assert code == 3
    assert "Nothing was done, and 7 of 7 runs are left: the budget was over before training could begin. " in said
    assert "Give it at least" in said
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["basin"], "unknown paper 'basin'; did you mean 'basins'?"),
        (["basins", "--smoke", "--seeds", "0-x"], "--seeds takes seeds (0,3,5) or a span of them (0-4)"),
        (["basins", "--smoke", "--seeds", "4-0"], "but was given '4-0'"),
        (["basins", "--smoke", "--seeds", "7"], "nothing is run for that: the paper under the protocol any"),
        (["basins", "--smoke", "--only", "tabel1"], "did you mean 'table1'?"),
        (["basins", "--smoke", "--protocol", "strict"], "unknown protocol 'strict'"),
        (["basins", "--look", "fp16"], "unknown precision of looks 'fp16'"),
        (["basins", "--smoke", "--budget", "soon"], "a budget is a span of time"),
        (["basins", "--from", "nowhere"], "nowhere is no folder; one with the results of a paper was expected"),
        (["basins", "--from", "nowhere", "--plan"], "--from and --plan do not go together"),
        (["basins", "--results-only", "--runs-only"], "--results-only and --runs-only do not go together"),
        (["basins", "--results-only", "--to-merge"], "--results-only and --to-merge do not go together"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, *words, *([] if "--from" in words else ["--store", str(tmp_path)]))
    assert code == 2
    assert message in said


def test_without_a_gpu_it_says_what_can_be_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    if not OFFICIAL["cifar10h"].there:
        pytest.skip("DISSENSUS_DATA names no folder with cifar10h")
    words = ["--only", "table1", "--seeds", "0", "--store", str(tmp_path), "--out", str(tmp_path / "results")]
    code, said = told(capsys, "basins", *words)
    assert code == 2
    assert "25 runs of basins are left, for which a CUDA GPU is needed, and this machine has none" in said


@pytest.mark.parametrize("paper", ["basins", "soft-labels"])
def test_results_of_another_paper_are_not_written_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, paper: str
) -> None:
    from dissensus.experiment.papers import Cell, Evidence

    other = "cifar10h-small-cnn" if paper == "basins" else "audited"
    rows = [{"cell": Cell(other, "soft", "all", 1, 0), "name": "kl", "value": 0.3, "checkpoint": "best"}]
    Evidence.from_rows(numbers=rows).write(tmp_path / "results")
    before = (tmp_path / "results" / "runs.csv").read_bytes()
    words = ["--results-only", "--store", str(tmp_path / "runs"), "--out", str(tmp_path / "results")]
    code, said = told(capsys, paper, *words)
    assert code == 2
    assert "another paper" in said
    assert (tmp_path / "results" / "runs.csv").read_bytes() == before


def test_the_plan_counts_what_results_tell_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are committed, whose runs are in no store."""
    if not OFFICIAL["hs-brexit"].there:
        pytest.skip("DISSENSUS_DATA names no folder with hs-brexit")
    words = ["--plan", "--json", "--protocol", "hs-brexit-frozen", "--store", str(tmp_path / "runs")]
    with pytest.raises(SystemExit):
        main(["reproduce", "soft-labels", *words, "--out", str(RESULTS)])
    found = json.loads(capsys.readouterr().out)
    assert (found["done"], found["told_by_results"], found["left"]) == (50, 50, 0)
    with pytest.raises(SystemExit):
        main(["reproduce", "soft-labels", *words, "--out", str(tmp_path / "elsewhere")])
    assert json.loads(capsys.readouterr().out)["left"] == 50


def test_a_plan_needs_no_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has just cloned it sees what would run, and what results tell of; to make runs takes the data."""
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path))
    results = str(RESULTS.with_name("basins"))
    code, said = told(capsys, "basins", "--plan", "--out", results)
    made = len((RESULTS.with_name("basins") / "runs.csv").read_text().splitlines()) - 1
    assert code == 0
    assert f"420 runs: results tell of {made}, {420 - made} left." in said
    assert "resampling published figure4 40" in said
    assert "No store was asked, since the data is not here: cifar10h needs " in said
    assert "dissensus data get cifar10h" in said
    words = ["--plan", "--json", "--protocol", "frozen", "--only", "votes", "--seeds", "0-4", "--out", str(tmp_path)]
    code, said = told(capsys, "soft-labels", *words)
    found = json.loads(said.replace("Reading the data ...", ""))
    assert (code, found["runs"], found["left"], found["seconds_left"]) == (0, 315, 315, None)
    code, said = told(capsys, "basins", "--out", str(tmp_path))
    assert code == 2
    assert "cifar10h needs " in said


def test_a_run_that_diverged_is_told_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "training diverged in epoch 12: the loss or the predictions are no longer finite. Try a lower lr."
    lost = Event("diverged", "a" * 16, "sls", 3, 5, of=200, message=words, protocol="published")
    outcome = Outcome(("b" * 16,), (), (), diverged=(lost,))
    assert swept(lambda **_: outcome, 2, RunStore(tmp_path), None, quiet=True) == 0
    assert " ".join(capsys.readouterr().err.split()) == (
        f"Note: sls, 5 votes, seed 3 (published) ({'a' * 16}) diverged in epoch 12. It is kept as a run without "
        "numbers, and not made again."
    )
