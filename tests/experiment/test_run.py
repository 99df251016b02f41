from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.special import log_softmax

from dissensus.base.errors import InputError, PlanError
from dissensus.delivery import METHODS
from dissensus.experiment import Comparison, Plan, carry_out
from dissensus.experiment.about import commit
from dissensus.experiment.parts import parts
from dissensus.experiment.plan import SplitPart
from dissensus.metrics import METRICS
from dissensus.records import RunStore, Wanted
from dissensus.training import Engine, Stopped
from dissensus.votes.summary import Glance, glance


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return RunStore(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(data, tiny, store):
    """Carry out the tiny plan, changed; made once a plan."""

    def run(data=data, **changes):
        (plan,) = tiny.only().plans(data)
        return store.read(carry_out(Plan.from_dict(plan.to_dict() | changes), data, store))

    return run


def test_a_run_holds_what_everything_after_it_needs(run, data):
    stored = run()
    split = parts(data, 0.2, 0.1, seed=0)
    arrays = stored.predictions
    evaluated = data.votes.take(split.evaluation)
    assert arrays["ids"].tolist() == evaluated.items.astype(str).tolist()
    np.testing.assert_array_equal(arrays["counts"], evaluated.counts())
    np.testing.assert_array_equal(arrays["labels"], evaluated.counts().argmax(1))
    np.testing.assert_allclose(arrays["select_target"], data.votes.take(split.select).frequencies(), rtol=1e-6)
    assert arrays["best_logits"].shape == arrays["last_logits"].shape == (12, 3)
    assert arrays["select_best_logits"].shape == arrays["select_last_logits"].shape == (len(split.select), 3)
    assert arrays["best_epoch"] in (0, 1)
    assert arrays["last_epoch"] == 1
    assert "truth" not in arrays
    columns = ["epoch", "lr", "train_loss", "soft_nll", "kl", "accuracy", "select_nll", "seconds"]
    assert list(stored.history) == columns
    assert stored.history["select_nll"].argmin() == arrays["best_epoch"]


def test_a_run_knows_its_plan_and_how_it_was_made(run, data, tiny):
    stored = run()
    assert Plan.from_dict(stored.plan).name == stored.name
    about = stored.about
    assert about["threads"] == 1
    assert about["seconds"] > 0
    assert about["packages"]["torch"]
    assert about["commit"] == commit()
    assert about["engine"] == asdict(Engine())
    assert (about["width"], about["resumed_at"]) == (1, None)
    assert "mine" not in str(stored.plan["data"])


def test_a_run_knows_the_votes_it_is_about_and_what_was_left_out_of_them(run, data):
    told = replace(data, votes=replace(data.votes, notes=("3 rows without a label are left out.",)))
    kept = run(told, seeds=90).about["votes"]
    assert Glance.read(kept) == glance(data.votes)
    assert kept["notes"] == ["3 rows without a label are left out."]
    assert run(data, seeds=91).about["votes"]["notes"] == list(data.votes.notes)


def test_records_stand_beside_the_run(run):
    assert {record.metric for record in run().records()} == set(METRICS) - {"wasserstein"}  # classes without an order


def test_as_published_the_evaluation_items_select(run):
    stored = run(split={"test": 0.2, "select": 0.0})
    assert not [name for name in stored.predictions if name.startswith("select")]
    assert stored.history["soft_nll"].argmin() == stored.predictions["best_epoch"]


def test_methods_of_a_seed_are_paired(data, tiny, store):
    runs = [store.read(carry_out(plan, data, store)) for plan in tiny.plans(data) if plan.seeds.split == 0]
    soft, sls = (stored.predictions for stored in runs)
    for part in ("ids", "select_ids", "select_target", "counts"):
        np.testing.assert_array_equal(soft[part], sls[part])
    assert (soft["last_logits"] != sls["last_logits"]).any()


def test_fewer_votes_change_what_is_trained_on_and_not_what_is_scored(run):
    every, three = run().predictions, run(votes=3).predictions
    for part in ("ids", "counts", "labels", "select_ids"):
        np.testing.assert_array_equal(every[part], three[part])
    assert (every["last_logits"] != three["last_logits"]).any()
    thirds = three["select_target"] * 3  # the votes that the run was given, not all of them
    np.testing.assert_allclose(thirds, thirds.round(), atol=1e-5)
    nll = -(three["select_target"] * log_softmax(three["select_last_logits"], axis=1)).sum(1).mean()
    assert run(votes=3).history["select_nll"][-1] == pytest.approx(nll, rel=1e-5)  # they are what selects


def test_the_votes_that_are_kept_are_those_of_the_split(run):
    """So that they are the same in all runs on it, whatever else is drawn."""
    seeds = {"split": 0, "init": 1, "order": 2, "delivery": 3}
    first, other = (run(votes=3, seeds=given).predictions for given in (0, seeds))
    np.testing.assert_array_equal(first["select_ids"], other["select_ids"])
    np.testing.assert_array_equal(first["select_target"], other["select_target"])


def test_the_same_plan_gives_the_same_numbers(run, data, tiny, tmp_path):
    again = RunStore(tmp_path)
    (plan,) = tiny.only().plans(data)
    carry_out(plan, data, again)
    for part in ("best_logits", "last_logits", "select_last_logits"):
        np.testing.assert_array_equal(again.read(plan.name).predictions[part], run().predictions[part])


def test_seeds_do_what_they_are_called(run):
    first = run().predictions
    for seed in ("init", "order"):
        other = run(seeds={"split": 0, "init": 0, "order": 0, "delivery": 0} | {seed: 1}).predictions
        np.testing.assert_array_equal(first["ids"], other["ids"])
        assert (first["last_logits"] != other["last_logits"]).any()
    delivery = {"split": 0, "init": 0, "order": 0, "delivery": 1}
    np.testing.assert_array_equal(first["last_logits"], run(seeds=delivery).predictions["last_logits"])  # draws nothing
    drawn, redrawn = (run(method="sls", seeds=seeds).predictions["last_logits"] for seeds in (0, delivery))
    assert (drawn != redrawn).any()
    assert set(first["ids"]) != set(run(seeds={"split": 1, "init": 0, "order": 0, "delivery": 0}).predictions["ids"])


def test_in_one_batch_the_order_changes_nothing_and_the_initial_weights_do(run, tiny):
    whole = tiny.recipe.model_dump() | {"batch_size": 60}
    seeds = dict.fromkeys(("split", "init", "order", "delivery"), 0)
    first, order, init = (
        run(recipe=whole, seeds=seeds | other).predictions["last_logits"] for other in ({}, {"order": 1}, {"init": 1})
    )
    np.testing.assert_allclose(order, first, atol=1e-5)
    assert np.abs(init - first).max() > 0.01


def test_labels_can_be_held(run):
    anew, held = (run(method="sls", hold=hold).predictions["last_logits"] for hold in (1, 2))
    assert (anew != held).any()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_carried_out(run, method):
    assert np.isfinite(run(method=method).predictions["last_logits"]).all()


def test_a_method_changes_the_recipe_of_the_plan(run):
    plain, mixed = run(method="majority"), run(method="mixup")
    assert plain.plan["recipe"] == mixed.plan["recipe"]
    assert (plain.predictions["last_logits"] != mixed.predictions["last_logits"]).any()


@pytest.mark.parametrize("target", ["smoothed", "dawid-skene"])
def test_a_target_changes_what_is_trained_on(run, target):
    other = run(target=target).predictions
    assert (other["last_logits"] != run().predictions["last_logits"]).any()
    np.testing.assert_array_equal(other["select_target"], run().predictions["select_target"])


def test_truth_is_kept_where_it_is_known(run, data):
    truth = np.full((60, 3), 1 / 3)
    stored = run(replace(data, truth=truth, name="known"), hold=1, method="label-smoothing", votes=6)
    assert stored.predictions["truth"].shape == (12, 3)
    assert {record.against for record in stored.records()} == {"human", "truth"}


def test_weights_are_kept_where_asked(data, tiny, run, tmp_path):
    from safetensors.torch import load_file

    from dissensus.models import MLP

    (plan,) = tiny.only().plans(data)
    store = RunStore(tmp_path)
    carry_out(plan, data, store, keep_model=True)
    MLP((3,), 3, width=8, layers=1).load_state_dict(load_file(tmp_path / plan.name / "model.safetensors"))
    assert not (run().path / "model.safetensors").exists()


def test_features_are_kept_where_asked(data, tiny, run, tmp_path):
    """What enters the last layer: the kept weights of that layer turn it into the kept logits."""
    from safetensors.numpy import load_file

    (plan,) = tiny.only().plans(data)
    store = RunStore(tmp_path)
    arrays = store.read(carry_out(plan, data, store, keep_model=True, features=True)).predictions
    weights = load_file(tmp_path / plan.name / "model.safetensors")
    for part in ("best", "select_best"):
        features = arrays[f"{part}_features"]
        assert features.dtype == np.float32
        logits = features @ weights["head.weight"].T + weights["head.bias"]
        np.testing.assert_allclose(logits, arrays[f"{part}_logits"], atol=1e-5)
    assert arrays["last_features"].shape == arrays["best_features"].shape == (12, 8)
    assert arrays["select_last_features"].shape == arrays["select_best_features"].shape
    np.testing.assert_array_equal(arrays["last_logits"], run().predictions["last_logits"])  # looking changes nothing
    assert not [name for name in run().predictions if name.endswith("features")]


def test_a_run_that_is_made_again_keeps_what_it_had_to_keep_before(data, tiny, tmp_path):
    """Of its own, where it came to be another model, as on a GPU."""
    (plan,) = tiny.only().plans(data)
    before = RunStore(tmp_path).read(carry_out(plan, data, RunStore(tmp_path), features=True))
    arrays = {name: -array if name.endswith(("logits", "features")) else array for name, array in
              before.predictions.items()}  # fmt: skip
    np.savez(before.path / "predictions.npz", **arrays)
    store = RunStore(tmp_path, Wanted(weights=True))
    run = store.read(carry_out(plan, data, store, keep_model=True))
    assert run.has_weights
    np.testing.assert_array_equal(run.predictions["best_features"], before.predictions["best_features"])


def test_as_published_there_are_no_features_of_selection_items(data, tiny, tmp_path):
    (plan,) = tiny.model_copy(update={"split": SplitPart(select=0.0)}).only().plans(data)
    store = RunStore(tmp_path)
    arrays = store.read(carry_out(plan, data, store, features=True)).predictions
    assert [name for name in arrays if name.endswith("features")] == ["best_features", "last_features"]


def test_a_run_that_is_done_is_left_alone(run, data, tiny, store):
    stored = run()
    before = (stored.path / "predictions.npz").stat().st_mtime_ns
    heard = []
    carry_out(tiny.only().plans(data)[0], data, store, heard.append)
    assert heard == []
    assert (stored.path / "predictions.npz").stat().st_mtime_ns == before


def test_a_run_that_somebody_else_makes_is_left_alone(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    (plan,) = tiny.only().plans(data)
    with store.claim(plan.name) as staging:
        assert carry_out(plan, data, store) == plan.name
        assert plan.name not in store
        assert list(staging.iterdir()) == []


def test_an_interrupted_run_leaves_nothing(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    (plan,) = tiny.only().plans(data)

    def interrupt(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, data, store, interrupt)
    assert store.names() == []
    assert list((tmp_path / ".staging").iterdir()) == []


def test_a_stopped_run_goes_on_with_the_same_numbers(data, tiny, run, tmp_path):
    store = RunStore(tmp_path)
    (plan,) = tiny.only().plans(data)
    for _ in range(2):  # each call gets an epoch further, however soon it is stopped
        with suppress(Stopped):
            carry_out(plan, data, store, stop=lambda: True)
    assert store.names() == [plan.name]
    assert store.unfinished_names() == []
    resumed, whole = store.read(plan.name), run()
    assert (resumed.about["resumed_at"], whole.about["resumed_at"]) == (1, None)
    assert resumed.records() == whole.records()
    for name, array in whole.predictions.items():
        np.testing.assert_array_equal(resumed.predictions[name], array)


def test_stopping_says_where_the_run_is(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    (plan,) = tiny.only().plans(data)
    with pytest.raises(Stopped, match=r"stopped after 1 of 2 epochs; its state is in .*checkpoint\.safetensors"):
        carry_out(plan, data, store, stop=lambda: True)
    assert store.unfinished_names() == [plan.name]
    assert not store.busy(plan.name)


def test_the_checkpoint_of_another_run_is_refused(data, tiny, tmp_path):
    store = RunStore(tmp_path)
    one, other = tiny.plans(data)[:2]
    with pytest.raises(Stopped):
        carry_out(one, data, store, stop=lambda: True)
    path = store.unfinished(one.name) / "checkpoint.safetensors"
    path.rename(store.unfinished(other.name) / path.name)
    with pytest.raises(InputError, match="is the checkpoint of another run"):
        carry_out(other, data, store)


def test_a_plan_about_other_data_is_refused(data, tiny, store):
    (plan,) = tiny.only().plans(data)
    other = replace(data, inputs=data.inputs + 1)
    with pytest.raises(PlanError, match=r"is about other data: its inputs are [0-9a-f]{12}, but those of"):
        carry_out(plan, other, store)


def test_a_plan_of_another_version_is_refused(data, tiny, store):
    plan = Plan.from_dict(tiny.only().plans(data)[0].to_dict() | {"versions": {"delivery": 9}})
    with pytest.raises(PlanError, match="is about version 9 of its delivery, but this release has version 1"):
        carry_out(plan, data, store)


def test_the_embedded_data_can_be_compared(tmp_path):
    comparison = Comparison(
        data={"name": "glyphs", "options": {"items": 80}},
        methods=["multipass"],
        seeds=1,
        model={"name": "small-cnn", "options": {"width": 2}},
        recipe={"epochs": 1},
    )
    glyphs = comparison.data.load()
    (plan,) = comparison.plans(glyphs)
    store = RunStore(tmp_path)
    stored = store.read(carry_out(plan, glyphs, store))
    assert stored.predictions["truth"].shape == (16, 10)
