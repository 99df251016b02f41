from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment import Event
from dissensus.experiment.budget import Budget, Paces, epochs_saved, kind_of, pace_saved, seconds_of
from dissensus.records import RunStore, write_run


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("9m", 540), ("90s", 90), ("1h30m", 5400), ("2h5s", 7205), ("0.5h", 1800), (" 9M ", 540)),
        *(
            (bad, None)
            for bad in ("", "9x", "m", "-5", "0", "0s", "9", "45", "1h 30m", "30m1h", "1.2.3s", "nan", ".", "1h30")
        ),
    ],
)
def test_spans_of_time(text, seconds):
    if seconds is None:
        with pytest.raises(InputError, match="such as 9m, 90s or 1h30m, but is"):
            seconds_of(text)
    else:
        assert seconds_of(text) == seconds


def test_without_a_budget_there_is_all_the_time():
    assert not Budget(None).over(1e9)
    assert Budget(None).has(1e9)


def test_a_budget_keeps_time_to_write_and_for_the_epoch_under_way():
    budget = Budget(1000.0)
    assert budget.left() == pytest.approx(990, abs=1)
    budget.began -= 985
    assert not budget.over()
    assert budget.over(an_epoch=6.0)
    assert Budget(10.0).left() == pytest.approx(9, abs=0.5)


def test_what_never_fits_is_begun_all_the_same():
    """Or calls one after the other would get nowhere."""
    budget = Budget(1000.0)
    budget.began -= 500
    assert [budget.has(seconds) for seconds in (None, 400, 600, 5000)] == [True, True, False, True]
    budget.began -= 500
    assert not any(budget.has(seconds) for seconds in (None, 400, 5000))


@pytest.fixture
def plan(data, tiny):
    return tiny.plans(data)[0]


def test_plans_that_differ_in_method_votes_and_seed_take_as_long(data, tiny, plan):
    assert {kind_of(other) for other in tiny.plans(data)} == {kind_of(plan)} == {kind_of(plan.to_dict())}
    longer = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"batch_size": 3})})
    assert kind_of(longer) != kind_of(plan)


def test_what_is_done_knows_better_than_what_is_under_way(plan):
    paces, kind = Paces(), kind_of(plan)
    assert paces.seconds(kind, 2) is None

    def hear(sort, pace):
        paces.learn(kind, Event(sort, plan.name, "soft", 0, "all", of=2, pace=pace))
        return paces.seconds(kind, 2)

    assert [hear(*told) for told in (("epoch", 5.0), ("epoch", 4.0), ("done", 3.0), ("epoch", 9.0))] == [10, 8, 6, 6]
    assert hear("done", 2.0) == 4


def test_runs_that_share_a_gpu_slow_each_other_down(plan):
    paces, kind = Paces(), kind_of(plan)
    for sort, pace, together in (("epoch", 0.3, 4), ("done", 0.1, 1), ("epoch", 0.2, 1)):
        paces.learn(kind, Event(sort, plan.name, "soft", 0, "all", of=2, pace=pace), together)
    assert [paces.seconds(kind, 10, together) for together in (1, 3, 4, 8)] == pytest.approx([1, 3, 3, 6])


def test_a_store_knows_how_long_runs_take_on_a_device(plan, tmp_path):
    store = RunStore(tmp_path)
    about = {"device": "cpu", "width": 1, "seconds": 10.0, "resumed_at": 1}
    with store.claim(plan.name) as staging:
        write_run(staging, plan.to_dict(), about, [], {})
    kind = kind_of(plan)
    for device, width, found in (("cpu", 1, 20.0), ("cpu", 4, None), ("NVIDIA H200", 1, None)):
        paces = Paces()
        paces.recall(store, {kind}, device, width)
        assert paces.seconds(kind, 2) == found  # one of its two epochs was done before, so each takes ten
    (tmp_path / plan.name / "about.json").write_text("{")
    paces.recall(store, {kind}, "cpu", 1)
    assert paces.seconds(kind, 2) is None


def test_a_checkpoint_that_cannot_be_read_has_no_epochs(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    assert (epochs_saved(path), pace_saved(path)) == (0, None)
    path.write_bytes(b"\x00" * 20)
    assert (epochs_saved(path), pace_saved(path)) == (0, None)


def test_a_checkpoint_knows_its_epochs_and_their_pace(tmp_path):
    from dissensus.training.checkpoint import Saved, save

    path = tmp_path / "checkpoint.safetensors"
    save(path, Saved({}, [{"epoch": n, "seconds": seconds} for n, seconds in enumerate((9.0, 2.0, 3.0))], {}))
    assert (epochs_saved(path), pace_saved(path)) == (3, 3.0)  # the first has more to do than the others


def test_looking_inside_models_takes_a_time_of_its_own(plan, tmp_path):
    store, kind = RunStore(tmp_path), kind_of(plan)
    about = {"device": "cpu", "width": 1, "seconds": 30.0, "looking": 10.0, "resumed_at": None}
    with store.claim(plan.name) as staging:
        write_run(staging, plan.to_dict(), about, [], {})
    paces = Paces()
    paces.recall(store, {kind}, "cpu", 1, look=lambda run: "curvature")
    assert paces.seconds(kind, 2) == 20  # and not 30
    assert [paces.looking(kind, look) for look in ("curvature", "maps", None)] == [10, None, 0]
    paces.learn(kind, Event("done", plan.name, "soft", 0, "all", of=2, pace=1.0, looking=4.0), look="curvature")
    assert paces.looking(kind, "curvature") == 4
