"""The ledger as the page shows it."""

from __future__ import annotations

import pytest

from dissensus.experiment.claims import judge_claims, read_claims
from dissensus.experiment.claims.words import rules
from dissensus.experiment.papers.evidence import Evidence
from dissensus.report.paper.ledger import VIEWS, claims_of, counts, views_of


@pytest.fixture(scope="module")
def shown(judged):
    return claims_of(judged, {claim.name: rules(claim) for claim in read_claims("basins").claims})


def test_every_claim_has_a_verdict_under_every_view(shown, judged):
    assert [claim.name for claim in shown if not claim.ours] == [f"B{number}" for number in range(1, 23)]
    assert views_of(judged) == list(VIEWS)
    for claim in shown:
        assert len(claim.standings) == len(claim.reasons) == len(VIEWS)
        assert claim.rules
        assert claim.places


def test_verdicts_are_counted_for_the_papers_claims_alone(judged):
    for view in VIEWS:
        assert sum(counts(judged, view).values()) == 22


def test_cells_stand_side_by_side_under_all_views(shown, judged):
    claim = next(claim for claim in shown if claim.name == "B4")
    part = claim.parts[0]
    assert len(part.cells) == 12
    line = next(line for line in part.cells if line.cell == "5 votes, sls")
    row = judged.row("B4", "audited")
    cell = next(cell for cell in row.parts[0].cells if cell.cell == "5 votes, sls")
    assert line.boxes[1].text == cell.text.replace("-", "−")
    assert line.boxes[1].detail.endswith(f"{cell.agree} of 10 seeds")
    control = next(line for line in part.cells if line.cell == "5 votes, deterministic-control")
    assert control.boxes[1].text == "–"  # not planned under the audited protocol
    assert line.published


def test_not_run_is_told_from_undecided(shown, basins, judged):
    by_name = {claim.name: claim for claim in shown}
    assert by_name["B9"].standings[1::2] == ("not planned",) * 2
    assert by_name["B9"].standings[0] == judged.row("B9").verdict
    ledger = judge_claims(Evidence({}, {}), basins)
    nothing = {claim.name: claim.standings for claim in claims_of(ledger, {})}
    assert set(nothing.pop("B13")) == {"supported"}  # needs no run
    assert {word for standings in nothing.values() for word in standings} == {"not planned", "not run"}
    assert counts(ledger, "audited") == {"supported": 1, "contradicted": 0, "undecided": 0, "not judged": 21}
