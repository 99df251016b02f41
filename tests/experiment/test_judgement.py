"""From results to verdicts: what is committed is judged, written and read again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.experiment.judgement import PaperJudgement, judge, results_of
from dissensus.experiment.papers import SMOKE_SEEDS, Cell, Evidence, read_paper

RESULTS = Path(__file__).parents[2] / "results" / "soft-labels"
PAPER, BASINS = read_paper("soft-labels"), read_paper("basins")

BARE = """
import sys
sys.modules["torch"] = sys.modules["pydantic"] = sys.modules["matplotlib"] = None
from dissensus.experiment.judgement import judge, results_of
from dissensus.experiment.papers import read_paper
paper = read_paper("soft-labels")
judge(results_of(paper, sys.argv[1]), paper, sys.argv[1]).write(sys.argv[2])
"""


@pytest.fixture(scope="module")
def judged() -> PaperJudgement:
    return judge(results_of(PAPER, RESULTS), PAPER, RESULTS)


def test_what_is_committed_is_judged_to_the_byte_without_torch_and_pydantic(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BARE, str(RESULTS), str(tmp_path)], check=True)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert {Path("ledger.csv"), Path("studies/coverage.csv"), Path("studies/coverage.md")} <= set(written)
    for path in written:
        assert (tmp_path / path).read_bytes() == (RESULTS / path).read_bytes(), path


def test_studies_are_those_whose_scores_are_there(judged: PaperJudgement, tmp_path: Path) -> None:
    assert {one.name for one in judged.studies} == {
        path.name.removesuffix("-scores.csv") for path in (RESULTS / "studies").glob("*-scores.csv")
    }
    assert judge(judged.evidence, PAPER, tmp_path).studies == []


def test_every_claim_has_a_rule_in_words_and_the_answer_speaks_of_the_runs(judged: PaperJudgement) -> None:
    assert set(judged.rules) == {row.claim for row in judged.ledger}
    assert all(judged.rules.values())
    assert judged.answers
    assert {name for name, _, _ in judged.enough} <= set(PAPER.protocols)


def test_runs_of_other_data_are_a_smoke_test_and_counted_as_one(judged: PaperJudgement) -> None:
    assert not judged.smoke
    assert judged.tried is PAPER
    cell = Cell("cifar10h-small-cnn", "soft", "all", 1, 0)
    elsewhere = Evidence({"a": cell}, {"a": {"data": "glyphs"}})
    small = judge(elsewhere, PAPER, "nowhere")
    assert small.smoke
    assert {one.protocol for one in small.tried.experiments} == {cell.protocol}
    assert {cell.seed for cell in small.tried.cells()} == set(range(SMOKE_SEEDS))


def test_results_are_read_where_they_are_of_the_paper(judged: PaperJudgement) -> None:
    assert results_of(PAPER, RESULTS).runs == judged.evidence.runs
    with pytest.raises(InputError, match="holds no results of basins: its runs are of the protocol"):
        results_of(BASINS, RESULTS)


def test_a_study_alone_needs_no_runs_beside_it(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "studies", tmp_path / "studies")
    assert results_of(PAPER, tmp_path, runs=False).runs == {}
    with pytest.raises(InputError, match="holds studies, but no results of runs; name studies: --only coverage,"):
        results_of(PAPER, tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"runs\.csv is missing"):
        results_of(PAPER, tmp_path / "empty")
