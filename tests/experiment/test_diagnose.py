"""Diagnostics of runs: right after training without weights, or later from what was kept, and the same numbers."""

from __future__ import annotations

from functools import partial
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace

import numpy as np
import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.diagnostics import aligned, barrier, dynamics
from dissensus.diagnostics.similarity import linear_cka
from dissensus.evaluation.predict import predict
from dissensus.experiment import Comparison, Plan, Source, carry_out, compare, diagnose_runs, look_inside
from dissensus.experiment.diagnose import reopened
from dissensus.experiment.pairs import across_seeds
from dissensus.experiment.run import How
from dissensus.metrics import soft_cross_entropy
from dissensus.records import Diagnosis, RunStore

FEW = {"votes": [5], "split": {"test": 0.5}}  # half of the items are evaluated, so that seeds share some


def rows(run, **about):
    """Its diagnostics by name, of those that are about this."""
    return {one.name: one for one in run.diagnostics() if all(getattr(one, k) == v for k, v in about.items())}


@pytest.fixture(scope="module")
def store(tmp_path_factory, data, source, tiny):
    """Two methods and two seeds, five votes an item, weights and features kept, looked into right after training."""
    store = RunStore(tmp_path_factory.mktemp("store") / "runs")
    plans = Comparison(**tiny.model_dump(exclude_unset=True) | FEW).plans(data)
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
            assert rows(run, weights=weights)["gradient_variance"].items == 30


def test_of_a_run_that_diverged_there_is_nothing_to_say(data, source, tiny, tmp_path):
    (plan, other, *_) = Comparison(**tiny.model_dump(exclude_unset=True) | FEW).plans(data)
    lost = Plan.from_dict(plan.to_dict() | {"recipe": plan.recipe.model_dump() | {"lr": 1e30, "momentum": 0.0}})
    store = RunStore(tmp_path)
    compare([lost, other], source, store, jobs=1, keep_diverged=True)
    found = diagnose_runs([store.read(name) for name in store])
    assert found[lost.name] == []
    assert found[other.name]


def test_the_kept_model_is_the_one_of_the_run(store, data):
    for name in store:
        run = store.read(name)
        subject = reopened(run, data)
        logits = subject.model(subject.prepared(subject.inputs)).detach().numpy()
        np.testing.assert_allclose(logits, run.predictions["best_logits"], atol=1e-5)
        assert len(subject.train) == 60 - 30 - len(run.predictions["select_ids"])


@pytest.fixture(scope="module")
def later(store):
    """What the sweep had found, and the runs, after they were diagnosed again from what they kept."""
    runs = [store.read(name) for name in store]
    before = {run.name: run.diagnostics() for run in runs}
    diagnose_runs(runs)
    return before, {(run.plan["method"], run.plan["seeds"]["split"]): run for run in runs}


def test_later_the_same_numbers_are_found(later):
    before, by = later
    for run in by.values():
        assert len(before[run.name]) > 20
        now = {one.subject: one for one in run.diagnostics()}
        for one in before[run.name]:  # those of the last epoch cannot be found again, and stay
            assert now[one.subject].value == pytest.approx(one.value, rel=1e-4, nan_ok=True)


def test_two_seeds_of_a_method_are_compared_on_what_neither_was_trained_on(later, data):
    _, by = later
    first, second = sorted((by["sls", 0], by["sls", 1]), key=lambda run: run.name)
    ids = [list(run.predictions["ids"]) for run in (first, second)]
    shared = [name for name in ids[0] if name in ids[1]]
    features = [
        run.predictions["best_features"][[order.index(name) for name in shared]]
        for run, order in zip((first, second), ids, strict=True)
    ]
    found = rows(first, other=second.name)
    assert found["cka"].value == pytest.approx(linear_cka(*features))
    assert found["cka"].items == len(shared)
    assert 0 <= found["cka"].low < found["cka"].value < found["cka"].high <= 1
    assert set(found) == {"cka", "debiased_cka", "barrier", "barrier_aligned"}
    one, two = reopened(first, data), reopened(second, data)
    here = [ids[0].index(name) for name in shared]
    line = barrier(one.model, two.model, one.prepared(one.inputs[here]), one.human[here])
    assert found["barrier"].value == pytest.approx(line.height)
    assert found["barrier"].items == len(shared)


def test_barriers_between_seeds_are_of_neighbours_in_a_ring(data, source, tiny, tmp_path):
    few = tiny.model_dump(exclude_unset=True) | FEW | {"methods": ["soft"], "seeds": 5}
    store = RunStore(tmp_path)
    compare(Comparison(**few).plans(data), source, store, jobs=1, keep_model=True)
    found = [one for rows in diagnose_runs([store.read(name) for name in store]).values() for one in rows]
    assert [one.name for one in found].count("barrier") == 5
    assert {one.other for one in found if one.name == "barrier"} <= set(store.names())


def test_two_methods_of_a_seed_have_a_barrier(later, data):
    _, by = later
    first, second = sorted((by["sls", 0], by["soft", 0]), key=lambda run: run.name)
    one, two = reopened(first, data), reopened(second, data)
    x = one.prepared(one.inputs)
    found = rows(first, other=second.name, slice="all")
    assert found["barrier"].value == pytest.approx(barrier(one.model, two.model, x, one.human).height)
    again = barrier(one.model, aligned(two.model, to=one.model), x, one.human).height
    assert found["barrier_aligned"].value == pytest.approx(again)
    assert "barrier_reset" not in found  # an MLP has no batch-norm


def test_the_control_of_a_barrier_is_the_same_method_with_another_order(data, source, tiny, tmp_path):
    """Split and initial weights are those of the first run; only the order and the labels are others."""
    plan = tiny.plans(data)[0]
    again = plan.model_copy(update={"seeds": plan.seeds.model_copy(update={"order": 500, "delivery": 500})})
    store = RunStore(tmp_path)
    assert not compare([plan, again], source, store, jobs=1, keep_model=True).failed
    first, second = (store.read(name) for name in sorted((plan.name, again.name)))
    diagnose_runs([first, second])
    found = rows(first, other=second.name)
    one, two = reopened(first, data), reopened(second, data)
    line = barrier(one.model, two.model, one.prepared(one.inputs), one.human)
    assert found["barrier"].value == pytest.approx(line.height)
    assert found["barrier_aligned"].low >= 0


def test_hard_deliveries_of_few_votes_are_set_against_soft_labels(later):
    _, by = later
    run, soft = by["sls", 0], by["soft", 0]
    for part, items in (("all", 30), ("disputed", 3)):
        gains = {name: one for name, one in rows(run, other=soft.name, slice=part).items() if "gain" in name}
        assert set(gains) == {"js_gain", "js_gain_given_entropy", "l1_gain", "l1_gain_given_entropy"}
        assert gains["l1_gain"].items == items
    assert not any("gain" in name for name in rows(soft))


def test_maps_of_two_seeds_are_compared_where_there_are_places(tmp_path):
    source = Source(name="glyphs", options={"items": 60})
    glyphs = source.load()
    small = {"model": {"name": "small-cnn", "options": {"width": 2}}, "recipe": {"epochs": 1}, "split": {"test": 0.5}}
    plans = Comparison(data=source.model_dump(exclude_defaults=True), methods=["soft"], seeds=2, **small).plans(glyphs)
    store = RunStore(tmp_path)
    for plan in plans:
        carry_out(plan, glyphs, store, source=source.model_dump(exclude_defaults=True), keep_model=True)
    first, second = (store.read(name) for name in store)
    found = {(one.name, one.slice): one for one in _maps(first, second, glyphs)}
    whole = found["cam_stability", "all"]
    assert -1 <= whole.low <= whole.value <= whole.high <= 1
    assert whole.items <= len(np.intersect1d(first.predictions["ids"], second.predictions["ids"]))
    assert ("cam_stability", "disputed") in found


def _maps(first, second, data):
    subjects = {run.name: reopened(run, data) for run in (first, second)}
    return [one for _, one in across_seeds([first, second], subjects.get)]


class Enough(Exception):
    """The test has seen what it wanted to."""


def test_the_gain_is_that_of_soft_labels_less_that_of_the_hard_delivery(store, monkeypatch):
    seen = []

    def see(*given):
        seen.append(given)
        raise Enough

    monkeypatch.setattr("dissensus.experiment.pairs.sparse_target", see)
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
    assert not run.has_weights
    found = diagnose_runs([run])[plan.name]
    assert [one.name for one in found] == ["best_epoch", "epochs_to_95", "area", "overfitting"]


def test_damaged_weights_are_named(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    plan = tiny.plans(data)[0]
    carry_out(plan, data, store, keep_model=True)
    path = tmp_path / plan.name / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(StoreError, match=rf"run {plan.name} is damaged: model.safetensors cannot be read"):
        reopened(store.read(plan.name), data)


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
    plan = Comparison(**tiny.model_dump(exclude_unset=True) | FEW).plans(data)[0]
    carry_out(plan, data, RunStore(tmp_path))
    plain, looked = (one.read(plan.name).predictions["last_logits"] for one in (RunStore(tmp_path), store))
    np.testing.assert_array_equal(plain, looked)


def test_sets_of_images_must_have_the_shape_of_the_inputs(store, data, monkeypatch):
    subject = reopened(store.read(store.names()[0]), data)
    monkeypatch.setattr("dissensus.experiment.subject.load_images", lambda name, size: np.zeros((5, 3, 8, 8), np.uint8))
    with pytest.raises(InputError, match=r"svhn has images of the shape \(3, 8, 8\), but the model takes \(3,\)"):
        look_inside(subject, ["svhn"])


def test_other_sets_are_told_apart(store, data, monkeypatch):
    subject = reopened(store.read(store.names()[0]), data)
    monkeypatch.setattr(
        "dissensus.experiment.subject.load_images", lambda name, size: 100 * np.ones((5, 3), np.float32)
    )
    found = {one.name: one for one in partial(look_inside, outside=["svhn"])(subject) if one.other == "svhn"}
    assert set(found) == {f"{s}_auroc" for s in ("energy", "msp", "odin", "entropy", "margin", "knn")}
    assert all(0 <= one.value <= 1 for one in found.values())


def test_other_processes_can_be_given_what_to_look_for():
    how = How(diagnose=partial(look_inside, outside=["svhn"]))
    assert ForkingPickler.loads(ForkingPickler.dumps(how)).diagnose.keywords == {"outside": ["svhn"]}


def test_a_model_is_looked_into_as_it_was_at_either_epoch(data, tiny, tmp_path):
    said = {}

    def look(subject):
        said[subject.weights] = predict(subject.model, subject.inputs, subject.prepare)
        return []

    plan = tiny.plans(data)[0]
    worse = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"lr": 3.0})})  # with every epoch
    run = RunStore(tmp_path).read(carry_out(worse, data, RunStore(tmp_path), diagnose=look))
    assert run.predictions["best_epoch"] < run.predictions["last_epoch"]
    for weights in ("best", "last"):
        np.testing.assert_allclose(said[weights,], run.predictions[f"{weights}_logits"], atol=1e-5)


def test_time_inside_a_model_is_none_of_its_training(data, tiny, tmp_path, monkeypatch):
    now = 0.0

    def passes(seconds):
        nonlocal now
        now += seconds

    def look(subject):
        passes(50)
        return counts_items(subject)

    monkeypatch.setattr("dissensus.experiment.clock.time", SimpleNamespace(perf_counter=lambda: now))
    store, plan = RunStore(tmp_path), tiny.plans(data)[0]
    carry_out(plan, data, store, progress=lambda row: passes(10), diagnose=look)
    about = store.read(plan.name).about
    assert about["looking"] in (50, 100)  # at the best and at the last epoch, which may be one
    assert about["seconds"] - about["looking"] == 20  # two epochs


def test_an_epoch_that_is_best_and_last_is_looked_into_once(data, tiny, tmp_path):
    seen = []

    def look(subject):
        seen.append(subject)
        return counts_items(subject)

    plan = tiny.plans(data)[0]
    one_epoch = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"epochs": 1})})
    carry_out(one_epoch, data, RunStore(tmp_path), diagnose=look)
    assert len(seen) == 1
    found = RunStore(tmp_path).read(one_epoch.name).diagnostics()
    assert [one.weights for one in found if one.name == "my_items"] == ["best", "last"]
