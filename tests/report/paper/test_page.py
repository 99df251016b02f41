"""The page on a paper: whole, offline, the same every time, from evidence alone, and quickly."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from dissensus.experiment.claims import Answer, judge_claims
from dissensus.experiment.judgement import judge, results_of
from dissensus.experiment.papers import Cell, read_paper
from dissensus.experiment.papers.evidence import Evidence
from dissensus.report.paper import Note, read_notes, write_page, write_paper_page
from dissensus.report.paper.figures import AUDITED

ROOT = Path(__file__).parents[3]
ANSWERS = [Answer(f"Question {n}?", f"Sentence {n} <of> the answer.", (f"Known with {n}: -0.5.",)) for n in range(1, 6)]


@pytest.fixture(scope="module")
def built(whole, judged, basins, tmp_path_factory):
    """The whole page of 420 runs, and how long it took."""
    folder = tmp_path_factory.mktemp("page")
    started = time.process_time()
    notes = [Note({"place": "table4", "metric": "trace"}, "other probes")]
    path = write_paper_page(
        whole, judged, basins, folder, answers=ANSWERS, rules={"B1": ["A rule, written before."]}, notes=notes
    )
    return path, time.process_time() - started


@pytest.fixture(scope="module")
def outline(built, outline_of):
    return outline_of(built[0].read_text("utf-8"))


def test_it_is_made_in_less_than_a_minute(built, whole):
    assert len(whole.runs) == 420
    assert built[1] < 50


def test_it_opens_offline_and_tags_close(outline):
    for tag, attributes in outline.tags:
        assert tag not in ("script", "link", "iframe")
        if tag == "img":
            assert attributes["src"].startswith("data:image/svg+xml;base64,")
            assert attributes["alt"]
        if tag == "a" and attributes["href"].startswith("http"):
            assert attributes["href"] == "https://arxiv.org/abs/2605.20642"


def test_links_lead_somewhere(outline, built):
    anchors = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    for tag, attributes in outline.tags:
        if tag == "a" and attributes["href"].startswith("#"):
            assert attributes["href"][1:] in anchors, attributes["href"]
        elif tag == "a" and not attributes["href"].startswith("http"):
            assert (built[0].parent / attributes["href"]).is_file(), attributes["href"]
    assert {f"table{n}" for n in range(1, 10)} | {f"figure{n}" for n in range(1, 13)} <= set(anchors)
    assert {f"B{n}" for n in range(1, 23)} <= set(anchors)


def test_the_answer_and_the_ledger_are_on_top(outline):
    text = outline.text
    order = [
        text.index(words) for words in ("The answer", "Sentence 5 <of>", "The ledger", "The tables", "The figures")
    ]
    assert order == sorted(order)
    assert "Known with 5: −0.5." in text
    assert "A rule, written before." in text
    assert "290 of 290 runs, published protocol" in " ".join(text.split())


def test_differences_are_listed_with_their_explanations(outline):
    assert "other probes" in outline.text
    assert "not explained" in outline.text


def test_every_deviation_is_listed(outline):
    from dissensus.report.paper.beside import read_beside

    for one in read_beside("basins").deviations:
        assert one.ours in outline.text


def test_every_table_is_a_file_and_every_figure_two(built):
    folder = built[0].parent
    tables = {path.stem for path in (folder / "tables").iterdir()}
    assert {f"table{n}" for n in (1, 2, 3, 4, 6, 7, 8, 9)} <= tables
    assert {"text", "reach", "differences", "deviations", "barriers"} <= tables
    assert (folder / "ledger.csv").is_file()
    figures = {path.name for path in (folder / "figures").iterdir()}
    names = {*(f"figure{n}" for n in range(1, 13)), *(f"{place}-audited" for place in AUDITED)}
    assert figures == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}


def test_nothing_run_yet_is_said(basins, outline_of, tmp_path):
    nothing = Evidence({}, {})
    page = write_paper_page(nothing, judge_claims(nothing, basins), basins, tmp_path, banner="A test.")
    told = outline_of(page.read_text("utf-8"))
    text = told.text
    assert "Not run yet: 0 of 160 runs." in text
    assert "A test." in text
    assert text.count("Not run yet") >= 20  # tables and figures alike
    assert not [tag for tag, _ in told.tags if tag == "img"]
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(("paper", "protocol"), [("basins", "audited"), ("soft-labels", "md-agreement-frozen")])
def test_runs_that_diverged_are_named(paper, protocol, outline_of, tmp_path):
    cells = [Cell(protocol, "sls", "all", 1, seed) for seed in (3, 4)]
    evidence = Evidence.from_rows(about={cell: {"diverged": 10 + cell.seed} for cell in cells})
    text = outline_of(write_page(judge(evidence, read_paper(paper), tmp_path), tmp_path).read_text("utf-8")).text
    named = f"2 runs diverged: sls, seed 3 ({protocol}), in epoch 13; sls, seed 4 ({protocol}), in epoch 14. They count"
    assert named in " ".join(text.split())
    assert "2 trainings, of which 2 diverged" in text or "2 of 420 trainings, of which 2 diverged" in text


def test_it_needs_no_torch_and_no_pydantic(tmp_path, make, basins):
    cells = [cell for cell in basins.cells("published", feeds="table2") if cell.seed < 2]
    make(cells, diagnostics=False).write(tmp_path)
    code = """
import sys
from dissensus.experiment.claims import judge_claims, read_claims
from dissensus.experiment.claims import answers
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.report.paper import write_paper_page
paper, evidence = read_paper("basins"), Evidence.read(sys.argv[1])
ledger = judge_claims(evidence, paper)
write_paper_page(evidence, ledger, paper, sys.argv[1] + "/page", answers=answers(ledger, evidence))
assert not {"torch", "pydantic", "polars"} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page" / "index.html").is_file()


def rebuilt_from(results: Path, folder: Path) -> Path:
    """What ``dissensus reproduce basins --from`` makes, without its pictures."""
    paper = read_paper("basins")
    judged = judge(results_of(paper, results), paper, results)
    judged.write(folder)
    write_page(judged, folder, read_notes(results))
    return folder


def assert_same(again: Path, committed: Path) -> None:
    """Tables and ledger byte for byte. Pictures differ a little from one version of matplotlib to the next, so that
    they are there must do; the page and vector pictures are not committed.
    """
    made = {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    made -= {path for path in made if path.name == "index.html" or path.suffix == ".svg"}
    assert {path for path in made if (committed / path).is_file()} == made
    for folder in ("tables", "figures"):  # nothing is left of what was committed before
        there = {path.relative_to(committed) for path in (committed / folder).glob("*") if path.suffix != ".svg"}
        assert there <= made
    for path in made:
        if path.suffix == ".csv":
            assert (again / path).read_text("utf-8") == (committed / path).read_text("utf-8"), path


@pytest.fixture
def without_pictures(monkeypatch):
    monkeypatch.setattr("dissensus.report.output.rendered", lambda figure: {"png": b"", "svg": b""})


@pytest.mark.usefixtures("without_pictures")
def test_what_is_committed_is_what_the_evidence_gives(tmp_path):
    committed = ROOT / "results" / "basins"
    if not (committed / "runs.csv").is_file():
        pytest.skip("no results of Basins are committed yet")
    assert_same(rebuilt_from(committed, tmp_path), committed)


@pytest.mark.usefixtures("without_pictures")
def test_results_would_be_rebuilt_and_a_number_that_was_changed_would_be_found(make, basins, tmp_path):
    """The test above, before there is anything for it to compare."""
    cells = [cell for cell in basins.cells("published", feeds="table1") if cell.seed < 3]
    results = tmp_path / "results"
    make(cells, diagnostics=False).write(results)
    rebuilt_from(results, results)
    (results / "index.html").unlink()  # which is not committed
    again = rebuilt_from(results, tmp_path / "again")
    assert_same(again, results)
    table = results / "tables" / "table1.csv"
    table.write_text(table.read_text("utf-8").replace("0.5", "0.6", 1), "utf-8")
    with pytest.raises(AssertionError, match=r"table1\.csv"):
        assert_same(again, results)
    rebuilt_from(results, results)
    (results / "tables" / "of-before.csv").write_text("", "utf-8")
    with pytest.raises(AssertionError, match="of-before"):
        assert_same(again, results)
