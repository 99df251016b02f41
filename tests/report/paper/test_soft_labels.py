"""What is committed of soft labels is what its records say: ledger, tables, studies and README, built again."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from markupsafe import escape

from dissensus.experiment.claims import Ledger, answers, enough_by_set, judge_claims
from dissensus.experiment.judgement import judge
from dissensus.experiment.papers import Cell, Evidence, read_paper
from dissensus.experiment.studies import STUDIES, Studied
from dissensus.report.output import signed
from dissensus.report.paper import SMOKE, banner, write_page, write_soft_labels_page
from dissensus.report.paper.beside import KINDS, read_beside
from dissensus.report.paper.coverage import coverage
from dissensus.report.paper.grid import to_csv
from dissensus.report.paper.ledger import legend, sign
from dissensus.report.paper.soft_labels.cost import cost_table
from dissensus.report.paper.soft_labels.figures import ARMS, learning_curves
from dissensus.report.paper.soft_labels.studies import coverage_curves, study_table
from dissensus.report.paper.soft_labels.tables import abstract_table, by_votes_table, enough_table, protocol_table

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
    by_votes = [enough_table(enough_by_set(evidence), "", ""), by_votes_table(evidence, PAPER)]
    grids = [*made, abstract_table(evidence, PAPER), *by_votes, cost_table()]
    made_of = {grid.name: grid.csv() for grid in grids}
    made_of["deviations"] = to_csv([vars(one) for one in read_beside("soft-labels").deviations])
    assert {path.stem: path.read_text("utf-8") for path in (RESULTS / "tables").iterdir()} == made_of


@pytest.fixture(scope="module")
def studied() -> list[Studied]:
    read = (study.read(RESULTS / "studies") for study in STUDIES.values())
    return [one for one in read if one is not None]


def test_the_studies_follow_from_their_scores(studied: list[Studied], tmp_path: Path) -> None:
    assert {one.name for one in studied} >= {study.name for study in STUDIES.values() if study.model != "fine-tuned"}
    for one in studied:
        one.write(tmp_path)
        for name in (f"{one.name}.csv", f"{one.name}.md"):
            assert (tmp_path / name).read_bytes() == (RESULTS / "studies" / name).read_bytes(), name


def test_every_seed_of_a_study_says_how_it_was_made(studied: list[Studied]) -> None:
    for one in studied:
        rows = {(row.seed, f"{row.data}, {row.condition}") for row in one.scores}
        told = [(seed, of) for seed, of in rows for how in one.made["made"]
                if seed in how["seeds"] and of in how.get("of", [of])]  # fmt: skip
        assert sorted(told) == sorted(rows), one.name  # each by one command
        assert all({"command", "dissensus", "commit", "machine"} <= how.keys() for how in one.made["made"])


def test_a_study_is_a_table_of_what_it_found(studied: list[Studied]) -> None:
    for one in studied:
        table = study_table(one)
        shown = sum(box.text != "–" for line in table.lines for box in line.boxes)
        assert shown == len(one.findings)
        doubtful = sum("*" in box.text for line in table.lines for box in line.boxes)
        assert doubtful == sum(bool(finding.doubt) for finding in one.findings)
        assert len(table.notes) == (2 if doubtful else 1)


def test_risk_against_coverage_is_drawn_for_every_data_set(studied: list[Studied]) -> None:
    one = next(one for one in studied if one.name == "coverage")
    drawn = coverage_curves(one)
    assert drawn is not None
    titles = [ax.get_title() for ax in drawn.figure.axes if ax.get_visible()]
    assert titles == list(dict.fromkeys(f"{row.data}, {row.condition}" for row in one.scores))
    place = ("md-agreement", "frozen", "best", False)
    rows = [row for row in one.scores if (row.data, row.condition, row.checkpoint, row.tempered) == place]
    soft = [row.values["soft risk at 0.5"] for row in rows if row.method == "soft"]
    assert f"md-agreement, frozen: {sum(soft) / len(soft):.1%} with soft" in drawn.alt


def test_the_legend_names_every_line_of_every_panel() -> None:
    """The first panel may be of a data set of which only one method was run so far."""
    first, second = list(PAPER.protocols)[:2]
    cells = [Cell(first, "soft", "all", 1, 0), *(Cell(second, method, "all", 1, 0) for method in ARMS)]
    rows = [{"cell": cell, "epoch": [0, 1], "soft_nll": [2.0, 1.0]} for cell in cells]
    drawn = learning_curves(Evidence.from_rows(histories=rows), PAPER)
    assert drawn is not None
    assert sorted(text.get_text() for text in drawn.figure.legends[0].get_texts()) == sorted(ARMS)


def test_the_page_has_every_study_and_every_deviation(
    evidence: Evidence, studied: list[Studied], tmp_path: Path
) -> None:
    ledger = judge_claims(Evidence({}), PAPER)
    page = write_soft_labels_page(Evidence({}), ledger, PAPER, tmp_path, studies=studied).read_text("utf-8")
    for one in studied:
        assert f'<section id="{one.name}">' in page
        assert f'href="studies/{one.name}.csv"' in page
        assert all(escape(signed(sentence)) in page for sentence in one.plain)
        assert escape(one.made["made"][0]["command"]) in page  # as it was, by that commit
        assert f"<code>dissensus reproduce soft-labels --only {one.name}</code>" in page  # as it is now
    told = read_beside("soft-labels")
    assert all(escape(one.what) in page for one in told.deviations)
    assert {one.kind for one in told.deviations} <= KINDS.keys()
    assert (tmp_path / "figures" / "coverage.svg").exists()


def test_a_page_without_a_single_run_says_so(tmp_path: Path) -> None:
    nothing = Evidence({})
    ledger = judge_claims(nothing, PAPER)
    page = write_soft_labels_page(nothing, ledger, PAPER, tmp_path, answers=answers(ledger, nothing)).read_text("utf-8")
    assert page.count("Not run yet") >= 3
    assert "Nothing was run yet" in page
    assert "<b>How many votes an item?</b> How many are enough is not known yet" in page


def test_where_nothing_is_planned_the_page_and_the_signs_say_so(evidence: Evidence, tmp_path: Path) -> None:
    ledger = judge_claims(evidence, PAPER)
    page = write_soft_labels_page(evidence, ledger, PAPER, tmp_path).read_text("utf-8")
    line = page.partition('<a href="#table1-hs-brexit-frozen">')[2].partition("</tr>")[0]
    cells = re.findall(r"<td>(.*?)</td>", line)
    claims = [row.claim for row in ledger.under("hs-brexit-frozen")]
    assert [claim for claim, cell in zip(claims, cells, strict=True) if ">–<" in cell] == ["A4", "A5", "A6"]
    assert "not run" not in line
    assert "– not planned" in page
    later = page.partition("chaosnli-snli-frozen-last <abbr")[2].partition("</abbr>")[0]
    assert later.endswith(">†")
    assert "added when results had been seen: few votes were judged at the best epoch only" in later
    assert "<li>† mean-all: added when results had been seen, since of each mean" in page
    assert {sign(ledger.row(claim, "hs-brexit-frozen")) for claim in ("A4", "A5", "A6")} == {"–"}
    assert sign(ledger.row("A4", "chaosnli-snli-frozen")) in "✓✗?"
    assert "– not planned" in legend()


@pytest.mark.parametrize(
    ("name", "own", "of_the_other"),
    [("soft-labels", 'id="votes"', 'id="differences"'), ("basins", 'id="differences"', 'id="votes"')],
)
def test_every_paper_has_its_page(name: str, own: str, of_the_other: str, tmp_path: Path) -> None:
    judged = judge(Evidence({}), read_paper(name), tmp_path)
    page = write_page(judged, tmp_path).read_text("utf-8")
    assert own in page
    assert of_the_other not in page
    assert str(escape(judged.answers[0].short)) in page
    assert SMOKE not in page


def test_a_smoke_test_says_so_before_anything_else(tmp_path: Path) -> None:
    cell = Cell("cifar10h-small-cnn", "soft", "all", 1, 0)
    small = Evidence.from_rows([{"cell": cell, "name": "kl", "value": 1.0, "checkpoint": "best"}])
    elsewhere = Evidence(small.runs, {run: {"data": "glyphs"} for run in small.runs}, small.findings)
    judged = judge(elsewhere, PAPER, tmp_path)
    assert banner(judged) == SMOKE
    assert SMOKE in write_page(judged, tmp_path).read_text("utf-8")


def test_another_encoder_is_named_before_anything_else(tmp_path: Path) -> None:
    cell = Cell("hs-brexit-fine-tuned", "soft", "all", 1, 0)
    found = Evidence.from_rows([{"cell": cell, "name": "kl", "value": 1.0, "checkpoint": "best"}])
    named = {run: {"data": "hs-brexit", "model": "fine-tuned, owner/bert"} for run in found.runs}
    judged = judge(Evidence(found.runs, named, found.findings), PAPER, tmp_path)
    assert banner(judged).endswith(": owner/bert.")
    assert banner(judged) in write_page(judged, tmp_path).read_text("utf-8")


def test_the_readme_has_a_line_a_data_set_and_model(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import soft_labels_section

    section: ModuleType = soft_labels_section
    assert section.soft_labels(tmp_path) == section.soft_labels_in_short(tmp_path) == ""
    told = section.soft_labels(RESULTS)
    for name in PAPER.protocols:  # with numbers in both arms
        methods = {cell.method for cell in evidence.runs.values() if cell.protocol == name}
        assert (f"\n| {name} | " in told) == ({"majority", "soft"} <= methods)
    assert "**Does hard delivery help on text (A3, A4; sizes in nats of soft NLL)?** " in " ".join(told.split())
    assert "| sls, best epoch | " in told
    assert "| multipass, last epoch † | " in told
    assert "| mean of all that learned enough † | " in told
    plain = " ".join(told.split())
    assert "cifar10h-small-cnn is the paper's first experiment" in plain
    assert "each is the least of the repeats" in plain
    text, _, images = plain.partition("in nats of soft NLL)?**")[2].partition("**How")[0].partition("On images")
    assert "cifar10h" not in text
    assert "cifar10h" in images
    assert "](results/soft-labels/studies/real-sparsity.md) | Five real votes tell " in told
    assert "The targets of a million items take 0.04, 4 and 400 GB as rows" in " ".join(told.split())
    assert max(len(line) for line in told.splitlines() if not line.startswith("|")) <= 120


def test_the_readme_has_those_that_have_learned_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import soft_labels_section

    ledger = Ledger.from_csv((RESULTS / "ledger.csv").read_text("utf-8"))
    whole, short = soft_labels_section.soft_labels(RESULTS), soft_labels_section.soft_labels_in_short(RESULTS)
    rows = {line.split(" | ")[0]: line.split(" | ") for line in whole.splitlines() if line.startswith("| ")}
    for name in PAPER.protocols:
        (row,) = [line.split(" | ") for line in short.splitlines() if line.startswith(f"| {name} | ")] or [None]
        assert (row is None) == ledger.row("S1", name).barred, name
        if row is not None:  # without the guesses of people and of class shares
            assert row == [*rows[f"| {name}"][:5], *rows[f"| {name}"][7:]]
    assert "| mean of all that learned enough † | " in short
    assert "in brackets" not in short.casefold()
    assert "numbers alone" not in short
    for one in answers(ledger, Evidence.read(RESULTS)):
        assert f"- **{one.question}** {signed(one.short)} " in " ".join(short.split())
        assert all(f"- {signed(more)} " in " ".join(whole.split()) for more in one.more)


def _run(evidence: Evidence, protocol: str) -> bool:
    return coverage(evidence, PAPER, protocol=protocol).done > 0
