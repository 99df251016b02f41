"""Diagnostics of runs: right after training without weights, or later from what was kept, and the same numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics import dynamics
from dissensus.diagnostics.similarity import linear_cka
from dissensus.experiment import carry_out, compare, diagnose_runs, look_inside
from dissensus.experiment.diagnose import has_weights, reopened
from dissensus.metrics import soft_cross_entropy
from dissensus.records import Diagnosis, RunStore


def rows(run, **about):
    """Its diagnostics by name, of those that are about this."""
    return {one.name: one for one in run.diagnostics() if all(getattr(one, k) == v for k, v in about.items())}


@pytest.fixture(scope="module")
def store(tmp_path_factory, data, source, tiny):
    """Two methods and two seeds, five votes an item, weights and features kept, looked into right after training."""
    store = RunStore(tmp_path_factory.mktemp("store") / "runs")
    plans = tiny.model_copy(update={"votes": [5]}).plans(data)
    outcome = compare(plans, source, store, jobs=1, features=True, keep_model=True, diagnose=look_inside)
    assert not outcome.failed
    return store


def test_a_sweep_leaves_them_beside_every_run(store):
    for name in store:
        run = store.read(name)
        found = rows(run, weights="")
        assert found["best_epoch"].value == dynamics(run.history).best_epoch
        assert np.isnan(found["area"].low)  # exact
        for weights in ("best", "last"):
            assert rows(run, weights=weights)["gradient_variance"].items == 12


def test_the_kept_model_is_the_one_of_the_run(store, data):
    for name in store:
        run = store.read(name)
        subject = reopened(run, data)
        logits = subject.model(subject.prepared(subject.inputs)).detach().numpy()
        np.testing.assert_allclose(logits, run.predictions["best_logits"], atol=1e-5)
        assert len(subject.train) == 60 - 12 - len(run.predictions["select_ids"])


def test_later_the_same_numbers_are_found(store):
    runs = [store.read(name) for name in store]
    before = {run.name: rows(run, weights="best", other="") for run in runs}
    found = diagnose_runs(runs)
    for run in runs:
        again = {one.name: one for one in found[run.name] if one.weights == "best" and not one.other}
        assert list(again) == list(before[run.name])
        for name, one in again.items():
            assert one.value == pytest.approx(before[run.name][name].value, rel=1e-5, nan_ok=True)
        assert rows(run, weights="last")  # which cannot be found again, and stays


def test_pairs_of_seeds_and_the_gain_over_soft(store):
    runs = [store.read(name) for name in store]
    diagnose_runs(runs)
    by = {(run.plan["method"], run.plan["seeds"]["split"]): run for run in runs}
    first, second = sorted((by["sls", 0], by["sls", 1]), key=lambda run: run.name)
    ids = [list(run.predictions["ids"]) for run in (first, second)]
    shared = [name for name in ids[0] if name in ids[1]]
    found = rows(first, other=second.name)
    if len(shared) >= 4:
        features = [
            run.predictions["best_features"][[order.index(name) for name in shared]]
            for run, order in zip((first, second), ids, strict=True)
        ]
        assert found["cka"].value == pytest.approx(linear_cka(*features))
        assert found["cka"].items == len(shared)
    run, soft = by["sls", 0], by["soft", 0]
    gains = rows(run, other=soft.name, slice="all")
    assert set(gains) == {"js_gain", "js_gain_given_entropy", "l1_gain", "l1_gain_given_entropy"}
    assert gains["l1_gain"].items == 12
    assert not rows(soft, other=run.name)


class Enough(Exception):
    """The test has seen what it wanted to."""


def test_the_gain_is_that_of_soft_labels_less_that_of_the_hard_delivery(store, monkeypatch):
    seen = []

    def see(*given):
        seen.append(given)
        raise Enough

    monkeypatch.setattr("dissensus.experiment.diagnose.sparse_target", see)
    runs = {store.read(n).plan["method"]: store.read(n) for n in store if store.read(n).plan["seeds"]["split"] == 0}
    with pytest.raises(Enough):
        diagnose_runs([*runs.values()])
    ((sparse, full, gain),) = seen
    human = runs["soft"].predictions["counts"] / runs["soft"].predictions["counts"].sum(1, keepdims=True)
    np.testing.assert_allclose(full, human)
    np.testing.assert_allclose(5 * sparse, np.round(5 * sparse), atol=1e-9)
    soft, sls = (soft_cross_entropy(runs[method].predictions["best_logits"], human) for method in ("soft", "sls"))
    np.testing.assert_allclose(gain, soft - sls, rtol=1e-6, atol=1e-9)


def test_without_weights_the_files_still_speak(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    plan = tiny.plans(data)[0]
    carry_out(plan, data, store)
    run = store.read(plan.name)
    assert not has_weights(run)
    found = diagnose_runs([run])[plan.name]
    assert [one.name for one in found] == ["best_epoch", "epochs_to_95", "area", "overfitting"]


def fails(subject):
    raise InputError("there is nothing to see")


def counts_items(subject):
    """A diagnostic of one's own."""
    yield Diagnosis("my_items", float(len(subject.inputs)), np.nan, np.nan, len(subject.inputs))


def test_one_of_your_own(data, tiny, tmp_path):
    plan = tiny.plans(data)[0]
    carry_out(plan, data, RunStore(tmp_path), diagnose=counts_items)
    assert rows(RunStore(tmp_path).read(plan.name), weights="last")["my_items"].value == 12


def test_a_diagnostic_that_fails_loses_no_run(data, source, tiny, tmp_path):
    plan, other, *_ = tiny.plans(data)
    store = RunStore(tmp_path)
    with pytest.raises(InputError, match="nothing to see"):
        carry_out(plan, data, store, diagnose=fails)
    assert store.read(plan.name).records()
    (event,) = compare([other], source, store, jobs=1, diagnose=fails).failed
    assert "done and kept, but could not be diagnosed.\nthere is nothing to see" in event.message
    assert store.read(other.name).records()
    assert not store.read(other.name).diagnostics()


def test_looking_changes_nothing_of_the_run(data, tiny, store, tmp_path):
    plan = tiny.model_copy(update={"votes": [5]}).plans(data)[0]
    carry_out(plan, data, RunStore(tmp_path))
    plain, looked = (one.read(plan.name).predictions["last_logits"] for one in (RunStore(tmp_path), store))
    np.testing.assert_array_equal(plain, looked)


def test_sets_of_images_must_have_the_shape_of_the_inputs(store, data, monkeypatch):
    subject = reopened(store.read(store.names()[0]), data)
    monkeypatch.setattr("dissensus.experiment.subject.load_images", lambda name: np.zeros((5, 3, 8, 8), np.uint8))
    with pytest.raises(InputError, match=r"svhn has images of the shape \(3, 8, 8\), but the model takes \(3,\)"):
        look_inside(subject, ["svhn"])


def test_other_sets_are_told_apart(store, data, monkeypatch):
    subject = reopened(store.read(store.names()[0]), data)
    monkeypatch.setattr("dissensus.experiment.subject.load_images", lambda name: 100 * np.ones((5, 3), np.float32))
    found = {one.name: one for one in partial(look_inside, outside=["svhn"])(subject) if one.other == "svhn"}
    assert set(found) == {f"{s}_auroc" for s in ("energy", "msp", "odin", "entropy", "margin", "knn")}
    assert all(0 <= one.value <= 1 for one in found.values())
