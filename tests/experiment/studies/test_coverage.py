from dataclasses import replace

import numpy as np
import pytest

from dissensus.experiment import compare
from dissensus.experiment.studies import coverage as study
from dissensus.metrics import aurc, soft_aurc, softmax
from dissensus.records import RunStore


@pytest.fixture(scope="module")
def runs(tiny, source, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("runs"))
    both = tiny.model_copy(update={"methods": ("majority", "soft")})
    compare(both.plans(source.load()), source, store, jobs=1)
    return [store.read(name) for name in store.names()]


def test_curves_are_those_of_the_stored_predictions(runs):
    rows = study.coverage(runs)
    assert len(rows) == len(runs) * 4
    row = rows[0]
    (run,) = (one for one in runs if (one.plan["method"], one.plan["seeds"]["split"]) == (row.method, row.seed))
    said = run.predictions
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
    lost = RunStore(runs[0].path.parent).read(runs[0].name)
    lost.about["diverged"] = 1
    lost.predictions["best_logits"][:] = np.nan
    rows = study.coverage([lost, *runs[1:]])
    assert len(rows) == (len(runs) - 1) * 4
