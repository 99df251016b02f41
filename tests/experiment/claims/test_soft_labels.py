"""The rules on soft labels: each can be satisfied, refuted and left open; guards, means and distances from zero."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.claims import Ledger, judge_claims, parse_claims
from dissensus.experiment.claims.claim import Claims
from dissensus.experiment.papers import Cell, Evidence

from .soft_labels_world import (
    ALONE,
    CLAIMS,
    EPOCHS,
    MEAN,
    NAMES,
    PAPER,
    SWEPT,
    arm,
    as_claimed,
    changed,
    good,
    judged,
    world,
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", [ALONE, MEAN])
def test_every_rule_can_be_satisfied(name: str, view: str) -> None:
    row = good().row(name, view)
    assert row.verdict == "supported", row.reason
    assert row.seeds == 10


OPPOSITE = {
    "S1": changed(kl=arm("soft", lambda kl: kl + 0.3)),
    "S2": changed(entropy_correlation=arm("soft", lambda r: r - 0.4)),
    "S3": changed(accuracy=arm("soft", lambda share: share - 0.05)),
    "S4": changed(overfitting=arm("soft", lambda nats: nats + 0.5)),
    "S5": changed(entropy_gap=arm("soft", lambda nats: 0.9)),  # far above that of people: no better than far below
    "A1": changed(kl=lambda kl, cell: 0.19 if cell.method == "majority" and kl < 0.35 else kl),
    "A2": changed(entropy_correlation=arm("label-smoothing", lambda r: 0.6)),
    "A3": changed(soft_nll=lambda nll, cell: nll + 0.1 * (cell.method in ("sls", "multipass"))),
    "A4": changed(soft_nll=lambda nll, cell: nll + 0.1 * (cell.method in ("sls", "multipass"))),
    "A5": changed(soft_nll=lambda nll, cell: nll + 0.1 * (cell.method == "sls" and cell.votes == 10)),
    "A6": changed(kl=lambda kl, cell: kl + 0.1 * (cell.votes == 10)),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_can_be_refuted(name: str) -> None:
    for view in (ALONE, MEAN):
        row = judged(name, OPPOSITE[name], view)
        assert row.verdict == "contradicted", (view, row.reason)


@pytest.mark.parametrize("name", NAMES)
def test_noise_and_missing_seeds_leave_it_open(name: str) -> None:
    assert judged(name, as_claimed, seeds=7).verdict == "undecided"


@pytest.mark.parametrize("name", ["S1", "S2", "S4", "S5", "A2", "A3", "A4", "A5"])
def test_arms_that_are_alike_leave_it_open(name: str) -> None:
    alike = {"majority_class": 0.2, "kl": 0.3}
    assert judged(name, lambda metric, *what: alike.get(metric, 0.5), noise=0.02).verdict == "undecided"


def test_a_lower_kl_that_a_temperature_undoes_is_not_enough() -> None:
    def sharpness(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        return 0.25 if metric == "kl" and tempered else as_claimed(metric, cell, part, tempered)

    row = judged("S1", sharpness)
    assert [part.verdict for part in row.deciding] == ["supported", "undecided"]
    assert row.verdict == "undecided"


def test_where_the_hard_arm_learned_nothing_nothing_is_decided() -> None:
    row = judged("S1", changed(majority_class=lambda share, cell: 0.68))
    assert (row.verdict, row.barred) == ("undecided", True)
    assert "majority must beat the most frequent class by five points of accuracy, and leads by +0.02" in row.reason
    assert row.parts[0].verdict == "supported"  # the numbers are shown all the same


def test_what_was_not_run_is_said_before_what_was_not_learned() -> None:
    whole = world(changed(majority_class=lambda share, cell: 0.68))
    hard = whole.only({run for run, cell in whole.runs.items() if cell.method == "majority"})
    row = judge_claims(hard, PAPER).row("S1", ALONE)
    assert (row.verdict, row.barred) == ("undecided", False)
    assert "not measured yet" in row.reason
    assert "leads by" not in row.reason


def test_votes_have_a_guard_of_their_own() -> None:
    barred = changed(majority_class=lambda share, cell: 0.68)
    assert judged("A4", barred).verdict == "supported"
    row = judged("A4", changed(kl=lambda kl, cell: kl + 0.16))
    assert row.verdict == "undecided"
    assert "the shares of the classes" in row.reason


def test_a_mean_leaves_out_protocols_that_learned_nothing() -> None:
    row = judged("S2", changed(majority_class=lambda s, cell: 0.9 if cell.protocol == ALONE else s), MEAN)
    assert row.verdict == "supported"
    assert "2 of 3 protocols: majority must beat the most frequent class" in row.reason
    assert ALONE in row.reason
    row = judged("S2", changed(majority_class=lambda s, cell: 0.5 if cell.protocol == ALONE else 0.9), MEAN)
    assert (row.verdict, "does in 1 of 3 protocols" in row.reason) == ("undecided", True)


def test_a_mean_is_taken_seed_by_seed() -> None:
    def one_against(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        value = as_claimed(metric, cell, part, tempered)
        against = metric == "entropy_correlation" and cell.method == "soft" and cell.protocol == ALONE
        return value - 0.5 if against else value

    row = judged("S2", one_against, MEAN)
    assert row.parts[0].cells[0].mean == pytest.approx((0.2 + 0.2 - 0.3) / 3, abs=2e-3)
    assert judged("S2", one_against).verdict == "contradicted"


def test_a_mean_waits_for_all_its_protocols() -> None:
    ledger = judge_claims(world(protocols=SWEPT[:2]), PAPER)
    assert "not measured yet" in ledger.row("S1", MEAN).reason
    assert ledger.row("S1", ALONE).verdict == "supported"


def test_factors_are_averaged_as_logarithms() -> None:
    row = good().row("S1", MEAN)
    assert row.parts[0].cells[0].mean == pytest.approx(0.40 / 0.28, rel=5e-3)
    assert row.parts[0].cells[0].scale == "factor"


def test_the_temperature_is_told_once() -> None:
    names = [part.part for part in good().row("S1", ALONE).parts]
    assert names == ["KL", "KL with a temperature in both arms", "other distances"]


@pytest.mark.parametrize(
    ("long", "short", "verdict"),
    [
        (20, 3, "supported"),
        (-40, 3, "undecided"),  # in epochs the one that trains for 200 decides, as shares the four that train for 10
        (-40, -3, "contradicted"),
    ],
)
def test_epochs_of_trainings_that_are_not_equally_long_have_to_agree_with_shares(
    long: int, short: int, verdict: str
) -> None:
    several = next(view.mean_of for view in CLAIMS.views if view.name == "mean-paper")

    def epochs(epoch: float, cell: Cell) -> float:
        model = PAPER.protocols[cell.protocol].model
        return EPOCHS[model] / 2 + (cell.method == "soft") * (long if model == "resnet18" else short)

    few = replace(CLAIMS, claims=tuple(one for one in CLAIMS.claims if one.name == "S4"))
    ledger = judge_claims(world(changed(best_epoch=epochs), protocols=several), PAPER, few)
    row = ledger.row("S4", "mean-paper")
    assert row.verdict == verdict
    share, in_epochs = (part.cells[0].mean for part in row.parts[:2])
    assert share == pytest.approx((long / 200 + 4 * short / 10) / 5, abs=1e-3)
    assert in_epochs == pytest.approx((long + 4 * short) / 5, abs=1e-2)
    alone = ledger.row("S4", "cifar10h-resnet18")
    assert alone.verdict == ("supported" if long > 0 else "contradicted")


def test_views_that_came_later_say_so() -> None:
    later = {view.name for view in CLAIMS.views if view.added}
    swept = {*SWEPT, *(name.replace("frozen", "fine-tuned") for name in SWEPT)}
    assert later == {*(f"{name}-last" for name in swept), "mean-all", "mean-chaosnli-fine-tuned"}
    again = Ledger.from_csv(good().to_csv())
    assert {row.view for row in again if row.added} == later
    assert again == good()


WRONG = {
    'guard = "distribution"': ('guard = "distributon"', "did you mean 'distribution'"),
    'yardstick = "shares"': ('yardstik = "shares"', "unknown key 'yardstik'"),
    'scale = "share"\nmetric = "best_epoch"': (
        'scale = "share"\nmetric = "overfitting"',
        "unknown number of epochs 'overfitting'",
    ),
    "js_distance = 0.01": ("js_dist = 0.01", "unknown metric 'js_dist'"),
    'mean_of = ["chaosnli-snli-frozen",': ('mean_of = ["chaosnli-frozen",', "unknown protocol 'chaosnli-frozen'"),
}


@pytest.mark.parametrize("right", WRONG)
def test_what_is_wrong_with_the_file_is_said(right: str) -> None:
    from importlib.resources import files

    text = (files("dissensus.experiment.papers") / "soft_labels_claims.toml").read_text("utf-8")
    wrong, message = WRONG[right]
    assert right in text
    with pytest.raises(InputError, match=message):
        parse_claims(text.replace(right, wrong, 1), PAPER)


def test_cells_are_called_by_words() -> None:
    ledger = judge_claims(Evidence({}), PAPER)
    labels = {cell.cell for row in ledger for part in row.parts for cell in part.cells}
    assert {"JS distance, as trained", "JS distance, with a temperature"} <= labels
    assert not [label for label in labels if "True" in label or "False" in label]


def test_every_protocol_has_a_view_of_its_own() -> None:
    claims: Claims = CLAIMS
    assert {view.protocol for view in claims.views if not view.mean_of} == set(PAPER.protocols)
