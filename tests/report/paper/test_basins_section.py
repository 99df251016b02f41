"""The README's part on Basins: nothing before there are runs, then what was measured and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from dissensus.experiment.claims import answers
from dissensus.report.output import signed
from dissensus.report.paper.ledger import sign
from dissensus.report.paper.measured import Sought, measured

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def section(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    import basins_section

    return basins_section


@pytest.fixture(scope="module")
def results(whole, judged, tmp_path_factory):
    folder = tmp_path_factory.mktemp("basins")
    whole.write(folder)
    judged.write(folder)
    return folder


def test_nothing_is_written_before_there_are_runs(section, tmp_path):
    assert section.basins(tmp_path) == ""
    (tmp_path / "notes.toml").write_text("", "utf-8")
    assert section.basins(tmp_path) == ""


def test_it_holds_the_answer_the_verdicts_and_the_headline_table(section, results, whole, judged):
    told = section.basins(results)
    in_one_line = " ".join(told.split())
    for one in answers(judged, whole):
        assert f"- **{one.question}** {signed(one.short)} " in in_one_line
    assert "| claim | published | audited | published, last | audited, last |" in told
    views = ("published", "audited", "last", "audited-last")
    lines = {
        cells[0].split()[0]: cells for line in told.splitlines() if len(cells := line.strip("| ").split(" | ")) == 5
    }
    for claim in {row.claim for row in judged}:
        rows = [judged.row(claim, view) for view in views]
        assert lines[claim][0].startswith(f"{claim} {rows[0].title}")
        assert [cell.removesuffix(r"\*") for cell in lines[claim][1:]] == [sign(row) for row in rows]
        assert [cell.endswith(r"\*") for cell in lines[claim][1:]] == [row.in_part for row in rows]
    for word in ("supported", "contradicted", "undecided"):
        counted = [sum(row.standing == word for row in judged.under(view) if not row.ours) for view in views]
        assert lines[f"*{word}*"][1:] == [f"*{number}*" for number in counted]
    found = measured(whole, Sought("soft_nll", "multipass", 10))
    assert f"{found.mean:.3f} [{found.interval.low:.3f}, {found.interval.high:.3f}] (0.537)" in told
    assert "(results/basins/figures/figure1.png)" in told
    assert "all 290 runs under the published protocol and all 130 runs under the audited protocol" in " ".join(
        told.split()
    )


def test_numbers_that_differ_are_marked_and_counted(section, results, whole, basins):
    from dissensus.report.paper.differences import compared

    told = section.basins(results)
    differ = [one for one in compared(whole, basins) if one.differs]
    assert told.count("≠") == 1 + sum(one.address.place == "table1" for one in differ)
    told = " ".join(told.split())
    assert f"{len(differ)} differ; by chance alone, about one in fifteen would. 0 of those that differ are" in told


@pytest.fixture
def so_far(section, basins, make, tmp_path):
    """What is told when these runs are made."""
    from dissensus.experiment.claims import judge_claims

    def told(wanted) -> str:
        evidence = make([cell for cell in basins.cells("published") if wanted(cell)], diagnostics=False)
        evidence.write(tmp_path)
        judge_claims(evidence, basins).write(tmp_path)
        return " ".join(section.basins(tmp_path).split())

    return told


def test_few_seeds_are_counted_and_nothing_is_judged_by_them(so_far):
    told = so_far(lambda cell: cell.hold == 1 and cell.votes in (5, 10, 25, 50) and cell.seed < 4)
    assert "64 of 290 runs under the published protocol and 0 of 130 runs under the audited" in told
    assert "Too few seeds to judge a claim by: what was measured so far is in [results/basins]" in told
    assert "|" not in told
    assert "known yet" not in told


def test_runs_so_far_are_told(so_far):
    told = so_far(lambda cell: cell.votes in (5, 10) and cell.hold == 1 and cell.seed < (5 if cell.votes == 5 else 2))
    assert "28 of 290 runs under the published protocol and 0 of 130 runs under the audited" in told
    assert "| soft | 0." in told
    assert "4 others were measured on fewer than 5 seeds, too few to compare." in told
    assert "is not known yet: only 2 of 10 seeds" in told


def test_a_figure_that_nobody_could_draw_is_not_shown(so_far):
    told = so_far(lambda cell: cell.votes == "all" and not cell.reorder and cell.hold == 1 and cell.seed < 5)
    assert "figure1" not in told
    assert "| method |" not in told
    assert "40 of 290 runs under the published protocol" in told


def test_lines_of_text_are_not_too_long(section, results):
    for line in section.basins(results).splitlines():
        assert len(line) <= 120 or line[0] in "|!" or line[0].isdigit()
