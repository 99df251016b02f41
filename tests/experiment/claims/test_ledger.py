from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.experiment.claims import Claims, Ledger, judge_claims
from dissensus.experiment.claims.quantities import Number
from dissensus.experiment.papers import Evidence, Paper

from .conftest import HARD, as_claimed, world


@pytest.fixture(scope="module")
def evidence(claims: Claims, paper: Paper) -> Evidence:
    return world(claims, paper)


@pytest.fixture(scope="module")
def ledger(evidence: Evidence, paper: Paper) -> Ledger:
    return judge_claims(evidence, paper)


def test_a_row_a_claim_and_view(ledger: Ledger, claims: Claims) -> None:
    assert len(ledger.rows) == 23 * 4
    assert [row.claim for row in ledger.under("audited")] == [claim.name for claim in claims.claims]
    with pytest.raises(InputError, match="unknown row 'B4 audit'; did you mean 'B4 audited'"):
        ledger.row("B4", "audit")


def test_written_and_read(ledger: Ledger) -> None:
    assert Ledger.from_csv(ledger.to_csv()) == ledger


def test_nothing_measured_is_written_and_read_too(paper: Paper) -> None:
    empty = judge_claims(Evidence({}), paper)
    assert Ledger.from_csv(empty.to_csv()) == empty


def test_rebuilt_from_the_files_of_the_evidence_it_is_the_same_byte_for_byte(
    evidence: Evidence, ledger: Ledger, paper: Paper, tmp_path: Path
) -> None:
    evidence.write(tmp_path / "evidence")
    again = judge_claims(Evidence.read(tmp_path / "evidence"), paper)
    ledger.write(tmp_path / "one")
    again.write(tmp_path / "two")
    assert (tmp_path / "one" / "ledger.csv").read_bytes() == (tmp_path / "two" / "ledger.csv").read_bytes()


def test_what_is_no_ledger() -> None:
    with pytest.raises(StoreError, match="this is no ledger"):
        Ledger.from_csv("a,b\n1,2\n")


def test_what_was_measured_in_words(ledger: Ledger, paper: Paper) -> None:
    """From the lowest of several cells to the highest."""
    row = ledger.row("B4", "audited")
    low, high = (pick(row.parts[0].cells, key=lambda cell: cell.mean).text for pick in (min, max))
    assert row.measured == f"every cell {low} to {high} (6 cells)"
    assert judge_claims(Evidence({}), paper).row("B15", "last").measured == "nothing"


def test_cells_of_a_part_can_be_told_apart(ledger: Ledger) -> None:
    for row in ledger:
        names = [part.part for part in row.parts]
        assert len(set(names)) == len(names)
        for part in row.parts:
            cells = [(cell.cell, cell.metric) for cell in part.cells]
            assert len(set(cells)) == len(cells), (row.claim, part.part)


def test_a_claim_that_waits_for_runs_of_one_part_is_not_called_undecided(claims: Claims, paper: Paper) -> None:
    """Of shuffled SLS nine seeds are there: one part of B10 can be tested, the others cannot."""
    whole = world(claims, paper, only="B10")
    last = {run for run, cell in whole.runs.items() if (cell.method, cell.seed) == ("shuffled-sls", 9)}
    row = judge_claims(whole.only(whole.runs.keys() - last), paper).row("B10")
    assert [part.early for part in row.deciding] == [False, False, True]
    assert (row.verdict, row.standing) == ("undecided", "too few runs")
    assert row.reason == "shuffled SLS is flattest: only 9 of 10 seeds"
    assert judge_claims(whole, paper).row("B10").standing == "supported"


def test_the_stage_of_a_part_is_no_matter_of_words(ledger: Ledger) -> None:
    """Whatever its reason says, and however it begins."""
    row = ledger.row("B10")
    for stage, standing in (("early", "too few runs"), ("not planned", "not planned"), ("judged", "undecided")):
        parts = [replace(part, reason="only 9 of 10 seeds", stage=stage) for part in row.parts]
        assert replace(row, verdict="undecided", parts=tuple(parts)).standing == standing


def test_a_part_that_is_not_planned_is_not_waited_for(claims: Claims, paper: Paper) -> None:
    """Of B2 the audited protocol plans majority vote alone: all that is planned was tested, and it stays open."""
    row = judge_claims(world(claims, paper, only="B2"), paper).row("B2", "audited")
    assert [part.stage for part in row.deciding] == ["judged", "not planned"]
    assert [part.verdict for part in row.deciding] == ["supported", "undecided"]
    assert row.standing == "not planned"


def test_a_verdict_on_a_part_of_the_cells_says_so(claims: Claims, paper: Paper) -> None:
    ledger = judge_claims(world(claims, paper, only="B8"), paper)
    assert [(row.verdict, row.in_part) for row in (ledger.row("B8", "published"), ledger.row("B8", "audited"))] == [
        ("supported", False),
        ("supported", True),
    ]
    assert Ledger.from_csv(ledger.to_csv()).row("B8", "audited").in_part


def test_a_verdict_on_a_part_of_what_a_cell_averages_says_so(claims: Claims, paper: Paper) -> None:
    """Of B6 the audited protocol plans all cells, each a mean of six comparisons instead of twelve."""
    ledger = judge_claims(world(claims, paper, only="B6"), paper)
    whole, fewer = ledger.row("B6", "published"), ledger.row("B6", "audited")
    assert (whole.verdict, whole.in_part) == ("supported", False)
    assert (fewer.verdict, fewer.in_part) == ("supported", True)
    assert "the protocol plans" not in whole.reason
    assert fewer.parts[0].reason.endswith("; the protocol plans a part of what is averaged")


def test_a_contradiction_does_not_wait(claims: Claims, paper: Paper) -> None:
    def curved(number: Number) -> float:
        return as_claimed(replace(number, method="soft" if number.method in HARD else "sls"))

    whole = world(claims, paper, base=curved, only="B10")
    last = {run for run, cell in whole.runs.items() if (cell.method, cell.seed) == ("shuffled-sls", 9)}
    assert judge_claims(whole.only(whole.runs.keys() - last), paper).row("B10").standing == "contradicted"
