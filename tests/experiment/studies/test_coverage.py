from dataclasses import replace

import numpy as np
import pytest

from dissensus.experiment import compare
from dissensus.experiment.papers import Cell, read_paper
from dissensus.experiment.studies import carry_out
from dissensus.experiment.studies import coverage as study
from dissensus.metrics import aurc, soft_aurc, softmax
from dissensus.records import RunStore


@pytest.fixture(scope="module")
def runs(tiny, source, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("runs"))
    both = tiny.model_copy(update={"methods": ("majority", "soft")})
    compare(both.plans(source.load()), source, store, jobs=1)
    told = [store.read(name) for name in store.names()]
    return {Cell("chaosnli-snli-frozen", run.plan["method"], "all", 1, run.plan["seeds"]["split"]): run for run in told}


def test_curves_are_those_of_the_stored_predictions(runs):
    rows = study.coverage(runs)
    assert len(rows) == len(runs) * 4
    row = rows[0]
    said = runs[Cell("chaosnli-snli-frozen", row.method, "all", 1, row.seed)].predictions
    probs, human = softmax(said["best_logits"]), said["counts"] / said["counts"].sum(1, keepdims=True)
    assert row.values["aurc"] == pytest.approx(aurc(probs, said["labels"]))
    assert row.values["soft_aurc"] == pytest.approx(soft_aurc(probs, human))
    assert row.values["risk at 1"] == pytest.approx(1 - row.values["accuracy"])
    sure = np.argsort(-probs.max(1), kind="stable")[: round(0.5 * len(probs))]
    wrong = (probs.argmax(1) != said["labels"])[sure]
    assert row.values["risk at 0.5"] == pytest.approx(wrong.mean())


def test_soft_labels_are_judged_against_majority_labels(runs):
    findings = study.STUDY.judge(study.coverage(runs))
    assert {(one.first, one.second) for one in findings} == {("soft", "majority")}
    safe, order = study.STUDY.verdicts(findings)
    assert "soft labels make answers" in safe
    assert "the order of items is" in order


def test_seeds_that_one_method_lacks_are_left_out(runs):
    rows = study.coverage(runs)
    third = [replace(row, seed=2) for row in rows if row.seed == 1 and row.method == "soft"]
    assert {one.seeds for one in study.STUDY.judge(rows + third)} == {2}
    assert study.STUDY.judge([row for row in rows if (row.method, row.seed) != ("soft", 1)]) == []  # one seed is none


@pytest.mark.parametrize("lost", ["majority", "soft"])
def test_without_one_of_the_two_nothing_is_said(runs, lost):
    """All of its runs may have failed, or diverged."""
    rows = [replace(row, method="sls") if row.method == lost else row for row in study.coverage(runs)]
    assert study.STUDY.judge(rows) == []
    assert study.STUDY.verdicts([]) == []


def test_runs_that_diverged_have_no_curve(runs):
    cell, run = next(iter(runs.items()))
    lost = RunStore(run.path.parent).read(run.name)
    lost.about["diverged"] = 1
    lost.predictions["best_logits"][:] = np.nan
    rows = study.coverage({**runs, cell: lost})
    assert len(rows) == (len(runs) - 1) * 4


def test_the_runs_of_the_main_table_are_read_though_all_votes_of_a_protocol_may_be_few(runs, tmp_path):
    """The paper's first experiment has five votes an image; a run of a sweep that has as many is another."""
    first, swept = "cifar10h-small-cnn", "chaosnli-snli-frozen"
    assert read_paper("soft-labels").protocols[first].votes == 5
    run = next(iter(runs.values()))
    few = RunStore(run.path.parent).read(run.name)
    few.plan["votes"] = 5
    there = {Cell(first, "soft", "all", 1, 0): few, Cell(swept, "soft", 5, 1, 0): few}
    carry_out([study.STUDY], tmp_path, "command", [0, 1], runs=lambda: there)
    rows = study.STUDY.read(tmp_path).scores
    assert len(rows) == 4
    assert {(row.condition, row.method, row.seed) for row in rows} == {("small-cnn", "soft", 0)}


def test_what_stays_keeps_the_command_that_made_it(runs, tmp_path):
    """The runs of one model may lie in another store than those of the next."""
    run = next(iter(runs.values()))
    for command, model in (("here", "frozen"), ("there", "fine-tuned"), ("again", "frozen")):
        there = {Cell(f"hs-brexit-{model}", "soft", "all", 1, 3): run}
        carry_out([study.STUDY], tmp_path, command, [3], runs=lambda there=there: there)
    made = study.STUDY.read(tmp_path).made["made"]
    data = run.plan["data"]["name"]
    told = [("there", [f"{data}, fine-tuned"], [3]), ("again", [f"{data}, frozen"], [3])]
    assert [(one["command"], one["of"], one["seeds"]) for one in made] == told
