"""Cells: how many, of what, and which of them a protocol plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dissensus.experiment.claims import Claims
from dissensus.experiment.claims.measured import measured
from dissensus.experiment.claims.planned import ALIGNED, DIAGNOSTIC_OF, planned, plans
from dissensus.experiment.claims.quantities import Difference, Number, quantities
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.metrics import METRICS

HARD = ("sls", "multipass", "deterministic-control")


@pytest.mark.parametrize(
    ("claim", "part", "cells"),
    [
        ("B2", 0, 10),
        ("B4", 0, 12),
        ("B5", 0, 1),
        ("B5", 1, 4),
        ("B8", 0, 9),
        ("B10", 0, 12),
        ("B10", 1, 12),
        ("B10", 2, 16),
        ("B11", 0, 8),
        ("B14", 1, 2),
        ("B18", 0, 6),
        ("B18", 1, 18),
        ("A1", 0, 6),
        ("A1", 1, 2),
    ],
)
def test_cells_counted_by_hand(claims: Claims, claim: str, part: int, cells: int) -> None:
    assert len(quantities(claims[claim].parts[part])) == cells


def test_a_mean_over_deliveries_and_votes_less_the_same_elsewhere(claims: Claims) -> None:
    (cell,) = quantities(claims["B5"].parts[0])
    at = lambda method, votes: Number("soft_nll", method, votes)  # noqa: E731
    assert set(cell.differences) == {Difference(at(m, k), at("soft", k)) for m in HARD for k in (5, 10)}
    assert set(cell.less) == {Difference(at(m, k), at("soft", k)) for m in HARD for k in (25, 50)}
    assert cell.times == 1.0


def test_half_of_the_gain_without_a_temperature(claims: Claims) -> None:
    five, _ = quantities(claims["A1"].parts[1])
    assert all(one.first.tempered and one.second and one.second.tempered for one in five.differences)
    assert not any(one.first.tempered for one in five.less)
    assert five.times == 0.5


def test_the_control_is_the_same_method_again(claims: Claims) -> None:
    sls, soft = (cell.differences[0].second for cell in quantities(claims["B14"].parts[1]))
    assert sls == Number("barrier_reset", "sls", other="sls+reorder")
    assert soft == Number("barrier_reset", "soft", other="soft+reorder")


def test_what_the_audited_protocol_plans(claims: Claims, paper: Paper) -> None:
    known = plans(paper, "audited")
    kept = [planned(cell, known, fewer=True) for cell in quantities(claims["B4"].parts[0])]
    there = [cell.label for cell in kept if cell is not None]
    assert there == [f"{votes} votes, {method}" for votes in (5, 10, 25) for method in ("sls", "multipass")]
    (largest,) = quantities(claims["B5"].parts[0])
    assert planned(largest, known, fewer=False) is None
    fewer = planned(largest, known, fewer=True)
    assert fewer is not None
    assert {one.first.votes for one in fewer.less} == {25}
    assert len(fewer.differences) == 4


def test_every_metric_is_planned_somewhere(claims: Claims, paper: Paper) -> None:
    known = plans(paper, "published")
    for claim in claims.claims:
        for part in claim.parts:
            for metric in part.axes["metric"] if part.kind not in ("identity", "follows") else ():
                assert metric in METRICS or DIAGNOSTIC_OF[metric] in {*paper.diagnostics, ALIGNED}
            if part.kind not in ("identity", "follows"):
                assert all(planned(cell, known, fewer=False) for cell in quantities(part)), (claim.name, part.name)


def test_units_are_put_in_order_at_the_best_epoch_alone(claims: Claims, paper: Paper) -> None:
    (beside,) = (part for part in claims["B14"].parts if "barrier_aligned" in part.axes["metric"])
    best, last = (plans(paper, "published", checkpoint) for checkpoint in ("best", "last"))
    assert best - last
    assert all(planned(cell, best, fewer=False) and not planned(cell, last, fewer=False) for cell in quantities(beside))
    others = [part for part in claims["B14"].parts if part is not beside]
    assert all(planned(cell, last, fewer=False) for part in others for cell in quantities(part))


def rows(method: str, value: float, other: str) -> list[dict[str, object]]:
    return [
        {"cell": Cell("published", method, "all", 1, seed), "name": "energy_auroc", "value": value, "other": other}
        | {"checkpoint": "best"}
        for seed in range(3)
    ]


def test_two_outside_sets_are_never_mixed(claims: Claims) -> None:
    """Where house numbers were looked at for one method only, the set that stands for them is taken for all."""
    part = replace(claims["B19"].parts[0], axes=claims["B19"].parts[0].axes | {"outside": ("far",)})
    cell = quantities(part)[0]
    evidence = Evidence.from_rows(
        [*rows("soft", 0.1, "svhn"), *rows("soft", 0.86, "streetview"), *rows("sls", 0.88, "streetview")]
    )
    found = measured(cell, part, evidence, claims.views[0], claims.outside)
    assert found == pytest.approx({0: 0.02, 1: 0.02, 2: 0.02})
