import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from dissensus.base.errors import InputError, StoreError
from dissensus.evaluation import plain_probs, records_of, score, selected_temperature, tempered_probs
from dissensus.evaluation.score import _halves
from dissensus.metrics import METRICS
from dissensus.records import RunStore, StoredRun, write_run

NAME = "0123456789abcdef"
ITEMS, CLASSES = 60, 4
module = sys.modules["dissensus.evaluation.score"]  # the function of that name hides it


def predictions(select=True, truth=True, sharpness=3.0):
    """Logits that are right up to noise, and too sharp by a known factor."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (ITEMS, CLASSES))
    human = softmax(logits, axis=1)
    counts = np.array([rng.multinomial(50, p) for p in human], np.int32)
    arrays = {
        "ids": np.array([f"item {i}" for i in range(ITEMS)]),
        "counts": counts,
        "labels": counts.argmax(1),
        "best_logits": (sharpness * logits).astype(np.float32),
        "last_logits": (sharpness * logits + rng.normal(0, 1, logits.shape)).astype(np.float32),
        "best_epoch": 3,
        "last_epoch": 9,
    }
    if truth:
        arrays["truth"] = human.astype(np.float32)
    if select:
        given = rng.normal(0, 2, (500, CLASSES))
        arrays |= {
            "select_ids": np.array([f"selected {i}" for i in range(500)]),
            "select_target": softmax(given, axis=1).astype(np.float32),
            "select_best_logits": (2 * given).astype(np.float32),
            "select_last_logits": (5 * given).astype(np.float32),
        }
    return arrays


@pytest.fixture
def stored(tmp_path):
    def store(ordered=True, **arrays):
        runs = RunStore(tmp_path / "runs")
        with runs.claim(NAME) as staging:
            write_run(staging, {"data": {"ordered": ordered}}, {}, [{"epoch": 0}], arrays)
        return runs.read(NAME)

    return store


def value(records, metric, checkpoint="best", tempered=False, against="human"):
    (found,) = [
        r.value
        for r in records
        if (r.metric, r.checkpoint, r.tempered, r.against) == (metric, checkpoint, tempered, against)
    ]
    return found


def test_every_metric_once_at_each_checkpoint_before_and_after_temperature_and_against_both(stored):
    records = score(stored(**predictions()))
    told = [(r.metric, r.checkpoint, r.tempered, r.against) for r in records]
    assert len(told) == len(set(told)) == len(METRICS) * 2 * 2 * 2
    assert {r.metric for r in records} == set(METRICS)
    assert {r.run for r in records} == {NAME}
    assert {r.items for r in records} == {ITEMS}


def test_distances_along_an_order_need_ordered_classes(stored):
    run = stored(ordered=False, **predictions())
    assert set(METRICS) - {r.metric for r in score(run)} == {"wasserstein"}
    assert records_of(run) == records_of(run) == run.records()


def test_without_a_known_truth_only_the_votes_are_scored_against(stored):
    assert {r.against for r in score(stored(**predictions(truth=False)))} == {"human"}


def test_values_are_those_of_the_definitions(stored):
    arrays = predictions()
    records = score(stored(**arrays))
    human = arrays["counts"] / arrays["counts"].sum(1, keepdims=True)
    for checkpoint in ("best", "last"):
        log_q = log_softmax(arrays[f"{checkpoint}_logits"].astype(np.float64), axis=1)
        nll = -(human * log_q).sum(1).mean()
        assert value(records, "soft_nll", checkpoint) == pytest.approx(nll, rel=1e-9)
        accuracy = (log_q.argmax(1) == arrays["labels"]).mean()
        assert value(records, "accuracy", checkpoint) == pytest.approx(accuracy)
        truth_nll = -(arrays["truth"] * log_q).sum(1).mean()
        assert value(records, "soft_nll", checkpoint, against="truth") == pytest.approx(truth_nll, rel=1e-6)
        truth_accuracy = (log_q.argmax(1) == arrays["truth"].argmax(1)).mean()
        assert value(records, "accuracy", checkpoint, against="truth") == pytest.approx(truth_accuracy)


def test_a_temperature_is_fitted_on_the_selection_items_of_its_checkpoint(stored):
    """Selected logits are too sharp by 2 (best) and 5 (last), so these are the temperatures."""
    arrays = predictions()
    run = stored(**arrays)
    for checkpoint, temperature in (("best", 2.0), ("last", 5.0)):
        expected = softmax(arrays[f"{checkpoint}_logits"].astype(np.float64) / temperature, axis=1)
        np.testing.assert_allclose(tempered_probs(run, checkpoint), expected, atol=1e-4)
        assert selected_temperature(run, checkpoint) == pytest.approx(temperature, abs=1e-3)
    assert selected_temperature(run) == selected_temperature(run, "best")


def test_without_selection_items_there_is_no_temperature_for_others(stored):
    with pytest.raises(InputError, match=r"set no selection items aside \(--select 0\), so there are no votes to fit"):
        selected_temperature(stored(**predictions(select=False)))


def test_the_evaluation_items_do_not_move_a_temperature_that_has_selection_items(stored):
    arrays = predictions()
    run = stored(**arrays)
    before = score(run)
    vars(run)["predictions"] = {name: np.asarray(a) for name, a in arrays.items()} | {"counts": arrays["counts"][::-1]}
    np.testing.assert_allclose(tempered_probs(run, "best"), softmax(arrays["best_logits"] / 2, axis=1), atol=1e-4)
    assert value(before, "soft_nll", tempered=True) != value(score(run), "soft_nll", tempered=True)


def test_without_selection_items_each_half_is_tempered_by_the_other(stored):
    arrays = predictions(select=False)
    run = stored(**arrays)
    tempered = tempered_probs(run, "last")
    logits = arrays["last_logits"].astype(np.float64)
    human = arrays["counts"] / arrays["counts"].sum(1, keepdims=True)
    halves = _halves(ITEMS)
    assert sorted(np.concatenate([scored for _, scored in halves])) == list(range(ITEMS))
    for fitted, scored in halves:
        assert not set(fitted) & set(scored)
        assert len(fitted) == ITEMS // 2
        best = minimize_scalar(
            lambda t, i=fitted: -(human[i] * log_softmax(logits[i] / np.exp(t), axis=1)).sum(),
            bounds=(-3, 3),
            method="bounded",
            options={"xatol": 1e-9},
        )
        np.testing.assert_allclose(tempered[scored], softmax(logits[scored] / np.exp(best.x), axis=1), atol=1e-5)


def test_an_item_never_tempers_itself(stored):
    """Changing the votes of one item changes the probabilities of the other half, never its own."""
    arrays = predictions(select=False, truth=False)
    before = tempered_probs(stored(**arrays), "best")
    run = StoredRun(NAME, Path("nowhere"))
    counts = arrays["counts"].copy()
    counts[0] = np.roll(counts[0], 1)
    vars(run)["predictions"] = arrays | {"counts": counts}
    after = tempered_probs(run, "best")
    (own,) = [scored for _, scored in _halves(ITEMS) if 0 in scored]
    other = np.setdiff1d(np.arange(ITEMS), own)
    np.testing.assert_array_equal(after[own], before[own])
    assert (after[other] != before[other]).any(1).all()


def test_halves_are_golden():
    """Methods of a seed, and runs of past years, share them."""
    assert [half.tolist() for half in _halves(7)[0]] == [[6, 5, 3], [4, 0, 2, 1]]


def test_a_temperature_mends_sharpness_and_leaves_the_top_class(stored):
    records = score(stored(**predictions(select=False)))
    assert value(records, "kl", tempered=True) < 0.5 * value(records, "kl")
    assert value(records, "accuracy", tempered=True) == value(records, "accuracy")


def test_a_run_that_diverged_has_undefined_values_at_that_checkpoint_only(stored):
    arrays = predictions()
    arrays["last_logits"][3, 1] = np.nan
    records = score(stored(**arrays))
    assert np.isnan([r.value for r in records if r.checkpoint == "last"]).all()
    assert not np.isnan([r.value for r in records if r.checkpoint == "best"]).any()


@pytest.mark.parametrize("select", [True, False])
def test_a_temperature_at_its_bound_leaves_every_score_finite(stored, select):
    """Items to fit on that are all as the model says ask for the sharpest temperature, and one other item pays."""
    arrays = predictions(select=select, truth=False)
    top = arrays["best_logits"].argmax(1)
    arrays["counts"] = 50 * np.eye(CLASSES, dtype=np.int32)[top]
    scored = _halves(ITEMS)[0][1][0]
    arrays["counts"][scored] = np.roll(arrays["counts"][scored], 1)
    if select:
        arrays["select_target"] = np.eye(CLASSES, dtype=np.float32)[arrays["select_best_logits"].argmax(1)]
    run = stored(**arrays)
    assert (tempered_probs(run, "best") > 0).all()
    assert np.isfinite([r.value for r in score(run) if not METRICS[r.metric].correlation]).all()
    assert value(score(run), "kl", tempered=True) > 1


def test_records_are_made_once_and_read_again(stored, monkeypatch):
    run = stored(**predictions())
    made = records_of(run)
    assert made == score(run)
    monkeypatch.setattr(module, "score", lambda run: pytest.fail("scored twice"))
    assert records_of(RunStore(run.path.parent).read(NAME)) == made


def test_another_set_of_metrics_is_scored_anew(stored, monkeypatch):
    run = stored(**predictions())
    records_of(run)
    fewer = {"kl": METRICS["kl"]}
    monkeypatch.setattr(module, "METRICS", fewer)
    assert {r.metric for r in records_of(run)} == {"kl"}
    assert {r.metric for r in run.records()} == {"kl"}


def test_damaged_records_are_made_again(stored):
    run = stored(**predictions())
    made = records_of(run)
    (run.path / "records.csv").write_text("run,met")
    assert records_of(run) == made
    assert run.records() == made


def test_a_store_that_cannot_be_written_can_be_scored(stored, monkeypatch):
    def refuse(self, records):
        raise StoreError("cannot write: Read-only file system.")

    monkeypatch.setattr(StoredRun, "write_records", refuse)
    run = stored(**predictions())
    assert records_of(run) == score(run)


def test_bad_runs_are_named(stored):
    arrays = predictions(select=False)
    arrays["counts"][5] = 0
    run = stored(**arrays)
    with pytest.raises(InputError, match=f"run {NAME} cannot be scored: evaluation item 'item 5' has no votes"):
        score(run)
    with pytest.raises(InputError, match="unknown checkpoint 'first'"):
        plain_probs(run, "first")
    with pytest.raises(InputError, match="at least two evaluation items"):
        _halves(1)
    del run.predictions["counts"]
    with pytest.raises(StoreError, match=rf"{NAME} is damaged: predictions.npz .*it holds no 'counts'.*runs rm {NAME}"):
        score(run)


def test_scoring_needs_no_torch():
    code = "import sys, dissensus.evaluation; print({'torch', 'scipy.stats', 'pydantic'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "set()\n"
