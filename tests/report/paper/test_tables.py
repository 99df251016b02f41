"""The paper's tables: every published number once, ours beside it, and what is missing said."""

from __future__ import annotations

import csv
import io
from collections import Counter

import pytest

from dissensus.experiment.papers import Cell
from dissensus.experiment.papers.evidence import Evidence
from dissensus.report.paper.extras import extra_tables
from dissensus.report.paper.measured import FEW, HARD, Sought, measured
from dissensus.report.paper.tables import LAYOUTS, other_readings, paper_table, paper_tables
from dissensus.report.paper.text import text_table
from dissensus.report.tables import number
from dissensus.stats import holm, wilcoxon


@pytest.fixture(scope="module")
def tables(whole, basins):
    return paper_tables(whole, basins)


def test_every_published_number_stands_once_in_its_table(tables, basins):
    published = Counter(address.place for address in basins.published.numbers)
    for place, table in tables.items():
        shown = [box for line in table.lines if line.kind == "published" for box in line.boxes if box.text != "–"]
        assert len(shown) == published[place]
    assert set(LAYOUTS) == {place for place in published if place.startswith("table")}


def test_measured_stands_below_published(tables, whole):
    table = tables["table1"]
    assert table.head[2:] == ("5 votes", "10 votes", "25 votes", "50 votes")
    lines = {(line.group, line.name): line for line in table.lines}
    ten = measured(whole, Sought("soft_nll", "sls", 5))
    shown = lines["sls", "measured, 10 seeds"].boxes[0]
    assert shown.text == number(ten.mean, 4)
    assert shown.detail == f"[{number(ten.interval.low, 4)}, {number(ten.interval.high, 4)}]"
    assert lines["sls", "measured, seeds 0–4"].boxes[0].text == number(ten.first(FEW).mean, 4)
    assert lines["sls", "published"].boxes[0].text == "0.5599"


def test_seeds_of_the_paper_where_it_has_five(tables):
    names = {place: {line.name for line in table.lines} for place, table in tables.items()}
    assert "measured, seeds 0–4" in names["table3"]
    assert "measured, seeds 0–4" not in names["table2"]  # the paper has ten
    assert "measured, seeds 0–4" not in names["table8"]


def test_few_seeds_are_told_once_and_by_their_number(whole, basins):
    two = whole.only({run for run, cell in whole.runs.items() if cell.seed < 2})
    names = [line.name for line in paper_tables(two, basins)["table1"].lines if line.group == "sls"]
    assert names == ["published", "measured, 2 of the seeds 0–4", "p, published", "p, measured, 2 of the seeds 0–4"]


def test_p_values_of_all_seeds_say_how_many(tables):
    names = [line.name for line in tables["table1"].lines if line.group == "sls" and line.kind == "test"]
    assert names == ["p, published", "p, measured, seeds 0–4", "p, measured, 10 seeds"]


def test_p_values_beside_the_published_ones_after_holm_over_the_table(tables, whole):
    lines = {(line.group, line.name): line for line in tables["table1"].lines}
    assert [box.text for box in lines["sls", "p, published"].boxes] == ["0.031", "0.031", "0.063", "0.094"]
    plain = []
    for method in HARD:
        for votes in (5, 10, 25, 50):
            hard, soft = (measured(whole, Sought("soft_nll", name, votes)).values for name in (method, "soft"))
            plain.append(wilcoxon(list(hard.values()), list(soft.values()), "less").pvalue)
    rows = list(csv.DictReader(io.StringIO(tables["table1"].csv())))
    told = {
        (row["method"], row["votes"]): (float(row["p"]), float(row["p_holm"]))
        for row in rows
        if row["which"] == "all seeds" and row["p"]
    }
    by_method = {"sls": 0, "multipass": 4, "deterministic-control": 8}
    for (method, votes), (p, adjusted) in told.items():
        place = by_method[method] + ["5", "10", "25", "50"].index(votes)
        assert p == pytest.approx(plain[place], rel=1e-5)
        assert adjusted == pytest.approx(holm(plain)[place], rel=1e-5)
    assert len(told) == 12
    assert "one-sided, against soft" in tables["table1"].notes[-1]
    assert any("two-sided, against sls" in note for note in tables["table3"].notes)
    assert lines["soft", "published"].boxes[0].text == "0.5860"
    assert ("soft", "p, published") not in lines


def test_a_bound_on_a_p_value_is_printed_as_one(tables):
    lines = {(line.group, line.name): line for line in tables["table3"].lines}
    assert lines["multipass", "p, published"].boxes[1].text == "≥ 0.625"


def test_other_images_are_named_and_not_compared(tables):
    table = tables["table7"]
    names = {line.name for line in table.lines}
    assert "measured on street-view characters, 10 seeds" in names
    assert "measured on textures, seeds 0–4" in names
    assert not any(box.differs for line in table.lines for box in line.boxes)
    assert any("SVHN is not at hand" in note for note in table.notes)
    assert any(box.differs for line in tables["table4"].lines for box in line.boxes)  # of the numbers made up


def test_ece_and_entropy_correlation_have_their_sentence_beside_them(tables):
    for place in ("table2", "table3"):
        text = " ".join(tables[place].notes)
        assert "0.0189 ± 0.0043" in text
        assert "correlate at 0.54" in text
    assert not any("0.0189" in note for note in tables["table1"].notes)


def test_files_hold_every_number_in_full(tables, whole):
    rows = list(csv.DictReader(io.StringIO(tables["table2"].csv())))
    row = next(row for row in rows if row["method"] == "sls" and row["metric"] == "kl")
    found = measured(whole, Sought("kl", "sls"))
    assert float(row["mean"]) == pytest.approx(found.mean, rel=1e-6)
    assert float(row["published"]) == 0.3515
    assert float(row["published_sd"]) == 0.026
    assert row["differs"] == "0"


def test_what_is_not_run_says_how_far_the_runs_are(basins):
    nothing = Evidence({}, {})
    table = paper_table(nothing, basins, "table1")
    assert table.missing == "not run yet: 0 of 160 runs"
    assert {line.kind for line in table.lines} == {"published", "test"}
    assert other_readings(nothing, basins, "table1") is None
    assert list(extra_tables(nothing, basins)) == []
    assert text_table(nothing, basins).missing


def test_a_table_of_some_runs_says_what_is_missing_and_marks_other_numbers_of_seeds(basins, make):
    cells = [cell for cell in basins.cells("published", feeds="table2") if cell.seed < 3]
    cells += [Cell("published", "sls", "all", 1, 3)]
    table = paper_table(make(cells, diagnostics=False), basins, "table2")
    assert not table.missing
    assert table.notes[0] == "Not complete: 16 of 50 runs."
    names = {line.name for line in table.lines if line.group == "sls"}
    assert "measured, 4 seeds" in names


def test_runs_that_lack_a_diagnostic(basins, make):
    cells = basins.cells("published", feeds="table4")
    table = paper_table(make(cells, diagnostics=False), basins, "table4")
    assert table.missing == "all 50 runs are made, but this was not measured in them"


def test_the_last_epoch_and_the_audited_protocol(whole, basins):
    found = other_readings(whole, basins, "table1")
    names = {line.name for line in found.lines if line.group == "multipass"}
    assert names == {
        "published protocol, last epoch, 10 seeds",
        "audited protocol, 10 seeds",
        "audited protocol, last epoch, 10 seeds",
    }
    control = {line.name for line in found.lines if line.group == "deterministic-control"}
    assert control == {"published protocol, last epoch, 10 seeds"}  # not planned under the other
