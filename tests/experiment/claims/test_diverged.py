"""Runs that diverged: they are named, their seeds are left out, and they never help the method that they are of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dissensus.experiment.claims import Claims, Row, answers, judge_claims
from dissensus.experiment.claims.decide import Told, decide
from dissensus.experiment.claims.quantities import quantities
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.stats import wilcoxon

from .conftest import HARD, world

SLS = Cell("published", "sls", "all", 1, 3)
AT_WORST = 43 / 1024  # of ten seeds nine are as claimed, and the tenth has the largest difference against it


def without(evidence: Evidence, *lost: Cell) -> Evidence:
    """The same, had these trainings diverged in epoch 12."""
    gone = {run for run, cell in evidence.runs.items() if cell in lost}
    kept = [one for one in evidence.findings if not {one.run, one.other} & gone]
    return Evidence(evidence.runs, {run: {"diverged": 12} for run in gone}, kept)


@pytest.fixture(scope="module")
def judged(claims: Claims, paper: Paper) -> Callable[..., Row]:
    def judge(name: str, *lost: Cell, view: str = "published", seeds: range = range(10)) -> Row:
        few = replace(claims, claims=tuple(claim for claim in claims.claims if claim.name in (name, "B1", "B4", "B8")))
        return judge_claims(without(world(few, paper, seeds=seeds), *lost), paper, few).row(name, view)

    return judge


@pytest.mark.parametrize("view", ["published", "last"])
@pytest.mark.parametrize("name", [f"B{n}" for n in (1, 2, 8, 10, 12, 15, 16, 17, 18, 19, 20, 21)])
def test_a_claim_is_judged_on_the_seeds_that_are_left_and_says_which_run_is_not(
    judged: Callable[..., Row], name: str, view: str
) -> None:
    row = judged(name, SLS, view=view)
    assert row.verdict == row.standing == "supported", row.reason
    assert "without sls, seed 3 (diverged in epoch 12)" in row.reason
    assert row.seeds == 9


def test_of_other_runs_nothing_is_said(judged: Callable[..., Row]) -> None:
    """Nor of a run under the other protocol, nor of one with another number of votes, hold or batch order."""
    others = [
        replace(SLS, protocol="audited"),
        replace(SLS, votes=5),
        replace(SLS, hold=5),
        replace(SLS, reorder=500),
        replace(SLS, method="mixup"),
    ]
    row = judged("B1", *others)
    assert (row.verdict, row.seeds) == ("supported", 10)
    assert "diverged" not in row.reason
    assert "diverged" in judged("B4", *others).reason


def test_a_run_that_diverged_counts_as_the_worst_of_its_method(judged: Callable[..., Row]) -> None:
    """It cannot be left out to the good of the method: where that is said to be better it counts against it, too."""
    row = judged("B4", replace(SLS, votes=5))
    cells = {cell.cell: cell for cell in row.deciding[0].cells}
    assert cells["5 votes, sls"].p == pytest.approx(AT_WORST, rel=1e-5)
    assert (cells["5 votes, sls"].seeds, cells["5 votes, multipass"].seeds) == (9, 10)
    assert row.verdict == "supported"  # all other seeds show it, which one at worst does not change


def test_nor_does_it_help_the_other_method(judged: Callable[..., Row]) -> None:
    """Soft labels diverge: the seed is left out, and nothing is gained by it."""
    row = judged("B4", replace(SLS, method="soft", votes=5))
    cells = {cell.cell: cell for cell in row.deciding[0].cells}
    assert [cells[f"5 votes, {method}"].p for method in HARD] == pytest.approx([3 / 256] * 3, rel=1e-5)  # Holm over 12
    assert {cells[f"5 votes, {method}"].seeds for method in HARD} == {9}
    assert row.reason.count("diverged") == 1


@pytest.mark.parametrize(("higher", "side", "against"), [(True, 1, True), (True, -1, False), (False, 1, False)])
def test_worst_is_low_where_higher_is_better(claims: Claims, higher: bool, side: int, against: bool) -> None:
    metric, name = ("accuracy", 0) if higher else ("debiased_ece", 1)
    part = claims["B3"].parts[name]  # of mixup, both are said to be higher
    (first, *_) = quantities(part)
    told = Told(replace(first, metric=metric), "", {seed: 0.1 + seed / 100 for seed in range(9)}, {SLS: side})
    (cell,) = decide(part, [told]).cells
    assert cell.p == pytest.approx(AT_WORST if against else 1 / 512, rel=1e-5)
    turned = {seed: -0.1 - seed / 100 for seed in range(9)}
    (cell,) = decide(part, [replace(told, values=turned)]).cells
    assert cell.p_against == pytest.approx(1 / 512 if against else AT_WORST, rel=1e-5)


def test_where_both_diverged_nothing_speaks(claims: Claims) -> None:
    part = claims["B4"].parts[0]
    (first, *_) = quantities(part)
    both = {SLS: 1, replace(SLS, method="soft"): -1}
    (cell,) = decide(part, [Told(first, "", {seed: -0.1 - seed / 100 for seed in range(9)}, both)]).cells
    assert cell.p == pytest.approx(1 / 512, rel=1e-5)


def test_the_larger_p_value_is_taken(claims: Claims) -> None:
    part = claims["B4"].parts[0]
    (first, *_) = quantities(part)
    chance = np.random.default_rng(0)
    for _ in range(20):
        values = chance.normal(-0.5, 1, 9)
        told = Told(first, "", dict(enumerate(values.tolist())), {replace(SLS, seed=9): 1})
        (cell,) = decide(part, [told]).cells
        left_out, counted = (wilcoxon(one, np.zeros(len(one)), "less").pvalue for one in (values, [*values, 99.0]))
        assert cell.p == pytest.approx(max(left_out, counted), rel=1e-5)
        left_out, counted = (wilcoxon(one, np.zeros(len(one)), "greater").pvalue for one in (values, [*values, 99.0]))
        assert cell.p_against == pytest.approx(max(left_out, counted), rel=1e-5)


def test_more_than_one_in_ten_leave_the_claim_undecided(judged: Callable[..., Row]) -> None:
    row = judged("B1", SLS, replace(SLS, seed=7, method="soft"))
    assert row.verdict == row.standing == "undecided"
    assert row.reason == (
        "a run diverged in 2 of 10 seeds; without sls, seed 3 (diverged in epoch 12) and soft, seed 7 (diverged in "
        "epoch 12)"
    )
    everywhere = [replace(SLS, seed=seed) for seed in range(10)]
    assert judged("B1", *everywhere).reason.startswith("a run diverged in 10 of 10 seeds; without sls, seed 0 ")


def test_runs_that_are_still_to_be_made_come_first(judged: Callable[..., Row]) -> None:
    row = judged("B1", SLS, seeds=range(9))
    assert row.reason.startswith("only 8 of 10 seeds; without sls, seed 3")
    assert row.standing == "too few runs"


def test_in_every_seed_is_not_in_every_seed_but_one(judged: Callable[..., Row]) -> None:
    """Fresh labels that diverge were not better in that seed; that held ones diverge is no reason against the claim."""
    row = judged("B7", SLS)
    assert [part.verdict for part in row.deciding] == ["supported", "supported", "supported", "undecided"]
    assert row.deciding[0].cells[0].p == pytest.approx(AT_WORST, rel=1e-5)
    assert judged("B7", replace(SLS, hold=50)).verdict == "supported"


def test_a_line_needs_both_its_ends(judged: Callable[..., Row]) -> None:
    row = judged("B14", replace(SLS, method="soft", reorder=500))
    assert row.verdict == "supported"
    assert [cell.seeds for part in row.deciding for cell in part.cells] == [10, 10, 9]
    assert "without soft, seed 3, reordered (diverged in epoch 12)" in row.reason


@pytest.mark.parametrize(("method", "votes", "p"), [("sls", 5, AT_WORST), ("sls", 25, 1 / 512), ("soft", 5, 1 / 512)])
def test_of_two_gains_that_are_compared_each_has_its_side(
    judged: Callable[..., Row], method: str, votes: int, p: float
) -> None:
    """Gains are said to be larger with few votes: only hard labels that diverge there speak against it."""
    row = judged("B5", replace(SLS, method=method, votes=votes))
    assert row.deciding[0].cells[0].p == pytest.approx(p, rel=1e-5)
    assert row.deciding[0].verdict == "supported"


def test_a_run_on_both_sides_speaks_for_neither(judged: Callable[..., Row]) -> None:
    """The gain after a temperature less half of that before, of the same run."""
    row = judged("A1", replace(SLS, votes=5))
    assert row.deciding[1].cells[0].p == pytest.approx(2 / 1024, rel=1e-5)  # Holm over two


def test_the_answer_counts_them(claims: Claims, paper: Paper) -> None:
    evidence = without(world(claims, paper, only="B1"), SLS)
    assert (
        "trainings, of which 1 diverged, the paper's own" in answers(judge_claims(evidence, paper), evidence)[-1].short
    )
