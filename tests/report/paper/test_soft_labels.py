"""What is committed of soft labels is what its records say: ledger, tables and the README's part, built again."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from dissensus.experiment.claims import answer, enough_by_set, judge_claims
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.report.paper import page_of, write_paper_page, write_soft_labels_page
from dissensus.report.paper.coverage import coverage
from dissensus.report.paper.soft_labels.tables import abstract_table, enough_table, protocol_table

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "soft-labels"
PAPER = read_paper("soft-labels")


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence.read(RESULTS)


def test_the_records_are_written_byte_for_byte(evidence: Evidence, tmp_path: Path) -> None:
    evidence.write(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (RESULTS / path.name).read_bytes(), path.name


def test_every_run_is_of_the_data_set_and_model_of_its_protocol(evidence: Evidence) -> None:
    for run, cell in evidence.runs.items():
        protocol = PAPER.protocols[cell.protocol]
        assert (evidence.about[run]["data"], evidence.about[run]["model"]) == (protocol.data, protocol.model)
        assert cell in PAPER.cells(cell.protocol)


def test_the_verdicts_follow_from_the_records(evidence: Evidence) -> None:
    assert judge_claims(evidence, PAPER).to_csv() == (RESULTS / "ledger.csv").read_text("utf-8")


def test_the_tables_follow_from_the_records(evidence: Evidence) -> None:
    made = [protocol_table(evidence, PAPER, name) for name in PAPER.protocols if _run(evidence, name)]
    grids = [*made, abstract_table(evidence, PAPER), enough_table(enough_by_set(evidence), "", "")]
    assert {path.stem for path in (RESULTS / "tables").iterdir()} == {grid.name for grid in grids}
    for grid in grids:
        assert grid.csv() == (RESULTS / "tables" / f"{grid.name}.csv").read_text("utf-8"), grid.name


def test_a_page_without_a_single_run_says_so(tmp_path: Path) -> None:
    nothing = Evidence({})
    ledger = judge_claims(nothing, PAPER)
    page = write_soft_labels_page(nothing, ledger, PAPER, tmp_path, answer=answer(ledger, nothing)).read_text("utf-8")
    assert page.count("Not run yet") >= 3
    assert "Nothing was run yet" in page
    assert "How many votes an item are enough is not known yet" in page


def test_every_paper_has_its_page() -> None:
    assert page_of(PAPER) is write_soft_labels_page
    assert page_of(read_paper("basins")) is write_paper_page


def test_the_readme_has_a_line_a_data_set_and_model(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import soft_labels_section

    section: ModuleType = soft_labels_section
    assert section.soft_labels(tmp_path) == ""
    told = section.soft_labels(RESULTS)
    for name in PAPER.protocols:
        assert (f"\n| {name} | " in told) == _run(evidence, name)


def _run(evidence: Evidence, protocol: str) -> bool:
    return coverage(evidence, PAPER, protocol=protocol).done > 0
