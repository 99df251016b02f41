"""Sweeps that are resumed, shared, killed and interrupted. Processes take seconds to start, so few tests start any."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.delivery import DELIVERIES, METHODS, Method
from dissensus.experiment import Comparison, Event, Plan, compare
from dissensus.experiment.budget import Budget, Paces, kind_of
from dissensus.experiment.making import Maker
from dissensus.experiment.run import How
from dissensus.experiment.signals import Terminated
from dissensus.experiment.sweep import Course, Outcome
from dissensus.records import Diagnosis, RunStore, merge, pack

SWEEP = """
import sys
from dissensus.experiment import Comparison, compare
from dissensus.records import RunStore

if __name__ == "__main__":
    comparison = Comparison.read(sys.argv[1])
    def told(event):
        print(event.kind, event.run, flush=True)
    try:
        plans = comparison.plans(comparison.data.load())
        compare(plans, comparison.data, RunStore(sys.argv[2]), int(sys.argv[3]), told, every=float(sys.argv[4]))
    except KeyboardInterrupt:
        sys.exit("stopped")
"""


@pytest.fixture(autouse=True)
def ctrl_c_is_heeded():
    """Who starts tests in the background has it ignored, and so have the processes that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start(tmp_path, folder):
    """Start a sweep of six runs in a process of its own, with so many epochs."""
    started = []

    def start(epochs, jobs, every=60.0):
        path = folder / f"sweep-{epochs}.toml"
        path.write_text(
            'methods = ["soft", "sls", "multipass"]\nseeds = 2\n'
            '[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'
            '[model]\nname = "mlp"\noptions = {width = 8, layers = 1}\n'
            f"[recipe]\nepochs = {epochs}\nbatch_size = 16\n"
        )
        script = tmp_path / "sweep.py"
        script.write_text(SWEEP)
        words = [sys.executable, str(script), str(path), str(tmp_path / "runs"), str(jobs), str(every)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(words, start_new_session=True, **pipes)
        started.append(process)
        return process, Comparison.read(path)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(happens, seconds=60):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def staged(store):
    return list((store.path / ".staging").glob("*"))


def finish(comparison, store):
    """Go on where a sweep stopped; what was done before must stay as it is."""
    plans = comparison.plans(comparison.data.load())
    before = {name: (store.path / name / "predictions.npz").stat().st_mtime_ns for name in store}
    outcome = compare(plans, comparison.data, store, jobs=1)
    assert set(outcome.skipped) == set(before)
    assert set(outcome.done) == {plan.name for plan in plans} - set(before)
    assert set(store.names()) == {plan.name for plan in plans}
    assert all((store.path / name / "predictions.npz").stat().st_mtime_ns == time for name, time in before.items())
    for name in store:
        store.read(name).check()
    assert staged(store) == []


@pytest.fixture(scope="module")
def swept(data, source, tiny, tmp_path_factory):
    """Four runs in two processes, one of which is killed while both train."""
    recipe = tiny.recipe.model_copy(update={"epochs": 300})  # long: the one that is killed must not be done by then
    plans = tiny.model_copy(update={"recipe": recipe}).plans(data)
    store = RunStore(tmp_path_factory.mktemp("swept"))
    events: list[Event] = []
    under_way: set[str] = set()
    killed = []

    def watch(event):
        events.append(event)
        (under_way.add if event.kind == "epoch" else under_way.discard)(event.run)
        if len(under_way) == 2 and not killed:
            killed.append(multiprocessing.active_children()[0])
            killed[0].kill()

    outcome = compare(plans, source, store, jobs=2, progress=watch)
    assert len(killed) == 1
    return plans, store, outcome, events


def test_a_worker_that_is_killed_costs_one_run(swept):
    plans, store, outcome, _ = swept
    (failed,) = outcome.failed
    assert failed.message == "the process that made it was killed by SIGKILL. Memory may have run out; try fewer jobs."
    assert sorted(outcome.done) == store.names()
    assert sorted([*outcome.done, failed.run]) == sorted(plan.name for plan in plans)


def test_one_process_gives_the_same_runs_as_two(swept, source, tmp_path):
    plans, two, _, _ = swept
    one = RunStore(tmp_path)
    compare([plan for plan in plans if plan.name in two], source, one, jobs=1)
    assert one.names() == two.names()
    for name in one:
        first, second = one.read(name), two.read(name)
        np.testing.assert_array_equal(first.predictions["last_logits"], second.predictions["last_logits"])
        assert first.records() == second.records()
        assert first.about["source"]["votes"].endswith("labels.csv")


def test_each_run_is_told_from_start_to_end(swept):
    plans, _, outcome, events = swept
    for plan in plans:
        mine = [event for event in events if event.run == plan.name]
        assert {(event.method, event.seed, event.of) for event in mine} == {(plan.method, plan.seeds.split, 300)}
        if plan.name in outcome.done:
            assert [event.kind for event in mine] == ["started", *["epoch"] * 300, "done"]
            assert [event.epoch for event in mine] == [*range(301), 300]
            assert mine[1].soft_nll > 0
            assert mine[-1].seconds > 0
            assert {event.items for event in mine} == {"items"}  # features: neither images nor texts


def test_what_is_done_is_skipped(swept, source):
    plans, store, outcome, _ = swept
    events: list[Event] = []
    done = [plan for plan in plans if plan.name in store]
    again = compare(done, source, store, jobs=2, progress=events.append)
    assert set(again.skipped) == set(outcome.done)
    assert again.done == again.failed == ()
    assert {event.kind for event in events} == {"skipped"}


def test_a_failing_run_is_told_and_loses_no_other(data, source, tiny, tmp_path):
    good = tiny.plans(data)[0]
    other_version = Plan.from_dict(good.to_dict() | {"versions": {"delivery": 9}})
    diverging = too_fast(good)
    store = RunStore(tmp_path)
    outcome = compare([other_version, diverging, good], source, store, jobs=1)
    assert outcome.done == (good.name,)
    first, second = outcome.failed
    assert (first.run, first.method) == (other_version.name, "soft")
    assert "version 9 of its delivery" in first.message
    assert second.run == diverging.name
    assert "training diverged" in second.message
    assert store.names() == [good.name]


def too_fast(plan: Plan) -> Plan:
    """The same with a learning rate at which it diverges."""
    return Plan.from_dict(plan.to_dict() | {"recipe": plan.recipe.model_dump() | {"lr": 1e30, "momentum": 0.0}})


@pytest.mark.parametrize("beside", [False, True])
def test_a_run_that_diverged_can_be_kept_as_an_outcome(data, source, tiny, tmp_path, request, beside):
    if beside:
        request.getfixturevalue("as_on_a_gpu")
    good, other = tiny.plans(data)[:2]
    lost = too_fast(good)
    store, events = RunStore(tmp_path), []
    outcome = compare([lost, good, other], source, store, jobs=1, progress=events.append, keep_diverged=True)
    assert sorted(outcome.done) == sorted([good.name, other.name])
    assert outcome.failed == outcome.left == ()
    (told,) = outcome.diverged
    assert (told.run, told.kind, told.message[:20]) == (lost.name, "diverged", "training diverged in")
    run = store.read(lost.name)
    run.check()
    assert run.diverged == run.about["diverged"] == len(run.history["epoch"]) - 1
    assert store.read(good.name).diverged is None
    assert not np.isfinite(run.predictions["best_logits"]).any()
    assert run.predictions["best_logits"].shape == store.read(good.name).predictions["best_logits"].shape
    assert all(np.isnan(record.value) for record in run.records())
    assert store.unfinished_names() == []
    again = compare([lost], source, store, jobs=1, keep_diverged=True)  # no second try: that would be a choice
    assert (again.skipped, again.diverged) == ((lost.name,), ())


def test_a_run_that_diverged_is_handed_over_like_any_other(data, source, tiny, tmp_path):
    store, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    lost = too_fast(tiny.plans(data)[0])
    compare([lost], source, store, keep_diverged=True)
    pack(store, tmp_path / "packed")
    assert merge(there, [tmp_path / "packed"]).new == [lost.name]
    assert there.read(lost.name).diverged == store.read(lost.name).diverged


def test_a_run_that_diverged_says_nothing_of_how_long_others_take(data, source, tiny, tmp_path):
    store, plan = RunStore(tmp_path), too_fast(tiny.plans(data)[0])
    compare([plan], source, store, keep_diverged=True)
    paces, about = Paces(), store.read(plan.name).about
    paces.recall(store, [kind_of(plan)], about["device"], about["width"])
    assert not paces.known


def test_an_unforeseen_error_is_told_with_its_traceback(data, source, tiny, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("dissensus.experiment.run.parts", broken)
    outcome = compare(tiny.plans(data), source, RunStore(tmp_path), jobs=1)
    assert len(outcome.failed) == 4
    assert "Traceback" in outcome.failed[0].message
    assert "a bug" in outcome.failed[0].message


MINE = """
from dissensus.delivery import Delivery

SHARPNESS = 2

class Mine(Delivery):
    name, hard, changes = "mine", False, False

    def prepare(self, source):
        self.rows = source.shares()

    def __call__(self, epoch, index=None):
        rows = self.rows(self.positions(index)) ** SHARPNESS
        return rows / rows.sum(1, keepdims=True)
"""


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Have this be the method "mine", as a plug-in does."""
    monkeypatch.syspath_prepend(tmp_path)
    written = []

    def registered(source, **recipe):
        written.append(f"registered{len(written)}")
        (tmp_path / f"{written[-1]}.py").write_text(source)
        monkeypatch.setitem(DELIVERIES, "mine", import_module(written[-1]).Mine)
        monkeypatch.setitem(METHODS, "mine", Method("mine", "mine", recipe))

    yield registered
    for name in written:
        sys.modules.pop(name)


def test_runs_of_a_method_of_one_s_own_are_told_of_when_other_code_made_them(data, source, tiny, tmp_path, registered):
    store = RunStore(tmp_path / "runs")

    def swept(methods=("soft", "mine")):
        said = []
        plans = tiny.model_copy(update={"methods": methods}).plans(data)
        return compare(plans, source, store, jobs=1, say=said.append), said

    registered(MINE)
    assert swept()[1] == []
    registered(MINE.replace("SHARPNESS = 2", "SHARPNESS = 2  # rows squared"))
    outcome, said = swept()
    assert (len(outcome.skipped), said) == (4, [])
    sharper = MINE.replace("SHARPNESS = 2", "SHARPNESS = 3")
    registered(sharper)
    outcome, said = swept()
    assert len(outcome.skipped) == 4
    assert said == [
        "2 runs of mine are done, by other code than it has now. If what it delivers is not the same any more, raise "
        "the version of its delivery, or take another store."
    ]
    assert swept(["soft"])[1] == []
    registered(MINE, nesterov=True)
    assert len(swept()[1]) == 1
    registered(sharper.replace("    name,", "    version = 2\n    name,"))
    outcome, said = swept()
    assert (len(outcome.done), said) == (2, [])
    registered(sharper)
    for made_of in (
        {"delivery": "mine", "code": None, "recipe": "{}"},
        {},
    ):  # of a console, of an older release
        for name in store:
            file = store.path / name / "about.json"
            file.write_text(json.dumps(json.loads(file.read_text()) | {"method": made_of}))
        assert swept()[1] == []


def test_jobs_must_be_positive(source, tmp_path):
    with pytest.raises(InputError, match="jobs must be a whole number of at least 1, but is 0"):
        compare([], source, RunStore(tmp_path), jobs=0)


def test_nothing_to_do(source, tmp_path):
    assert compare([], source, RunStore(tmp_path)).done == ()


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_an_interrupt_keeps_the_run_under_way_and_is_resumed(data, source, tiny, tmp_path, number, error):
    store, told, said = RunStore(tmp_path), [], []

    def interrupt(event):
        told.append(event)
        if event.kind == "epoch" and len(store) == 1 and not said:
            os.kill(os.getpid(), number)

    handler = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as raised:
        compare(tiny.plans(data), source, store, jobs=1, progress=interrupt, say=said.append)
    assert raised.type is error
    assert said == ["stopping at the end of the epoch, so that it is kept; Ctrl-C now stops at once"]
    assert signal.getsignal(number) is handler
    assert len(store) == 1
    assert store.unfinished_names() == [told[-1].run]  # long before a checkpoint is due
    assert staged(store) == []
    finish(tiny, store)
    assert store.read(told[-1].run).about["resumed_at"] == told[-1].epoch == 1


def test_a_signal_that_comes_when_all_is_done_stops_nothing(data, source, tiny, tmp_path):
    plans, store = tiny.plans(data), RunStore(tmp_path)

    def interrupt(event):
        if event.kind == "done" and len(store) == len(plans):
            os.kill(os.getpid(), signal.SIGTERM)

    assert len(compare(plans, source, store, jobs=1, progress=interrupt).done) == len(plans)


def test_a_damaged_checkpoint_fails_its_run_alone_and_can_be_given_up(data, source, tiny, tmp_path):
    store, (plan, *others) = RunStore(tmp_path), tiny.plans(data)
    with store.claim(plan.name):
        path = store.unfinished(plan.name) / "checkpoint.safetensors"
        path.write_bytes(b"half of what was written")
    outcome = compare([plan, *others], source, store, jobs=1)
    (failed,) = outcome.failed
    assert (failed.run, len(outcome.done)) == (plan.name, len(others))
    assert failed.message.startswith(f"{path} is no checkpoint, or damaged (")
    assert failed.message.endswith("). Remove it to train from the start.")
    store.remove(plan.name)
    assert compare([plan], source, store, jobs=1).done == (plan.name,)


def test_two_sweeps_on_one_store_make_each_run_once(start, tmp_path):
    process, comparison = start(epochs=40, jobs=1)
    store = RunStore(tmp_path / "runs")
    plans = comparison.plans(comparison.data.load())
    wait_for(lambda: staged(store))
    here = compare(plans, comparison.data, store, jobs=1)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    there = {
        kind: [line.split()[1] for line in out.splitlines() if line.startswith(kind)] for kind in ("done", "skipped")
    }
    assert here.done, "this process found nothing left to do"
    assert there["done"], "the other process found nothing left to do"
    assert sorted([*here.done, *there["done"]]) == store.names() == sorted(plan.name for plan in plans)
    assert sorted(here.skipped) == sorted(there["done"])  # each waits for what the other makes
    assert sorted(there["skipped"]) == sorted(here.done)


def test_a_sweep_that_is_killed_goes_on_from_its_checkpoints(start, source, tmp_path):
    process, comparison = start(epochs=150, jobs=2, every=0.05)
    store = RunStore(tmp_path / "runs")
    wait_for(lambda: len(store) >= 1 and store.unfinished_names())
    os.killpg(process.pid, signal.SIGKILL)  # the workers as well
    process.wait()
    unfinished = store.unfinished_names()
    assert 1 <= len(store) < 6
    finish(comparison, store)
    plans = {plan.name: plan for plan in comparison.plans(comparison.data.load())}
    whole = RunStore(tmp_path / "whole")
    compare([plans[name] for name in unfinished], source, whole, jobs=1)
    for name in unfinished:
        assert store.read(name).about["resumed_at"] > 0
        assert whole.read(name).about["resumed_at"] is None
    same_runs(whole, store)


def test_ctrl_c_stops_a_sweep_and_its_workers_without_a_trace(start, tmp_path):
    process, comparison = start(epochs=2000, jobs=2)
    store = RunStore(tmp_path / "runs")
    wait_for(lambda: len(staged(store)) == 2)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the workers as well
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.strip()) == (1, "stopped")
    assert len(store) < 6
    assert staged(store) == []
    assert not any(store.busy(plan.name) for plan in comparison.plans(comparison.data.load()))


# --- side by side, as on a GPU: one process, and a writer beside it ---------------------------------------------------


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """The sweep goes the way it goes on a GPU, with models on the CPU, which take turns."""
    monkeypatch.setattr("dissensus.experiment.sweep.device", lambda: "cuda")
    monkeypatch.setattr("dissensus.training.many.has_room", lambda under_way, width: len(under_way) < width)


def same_runs(one, other, names=None):
    for name in names or one.names():
        first, second = one.read(name), other.read(name)
        assert first.records() == second.records()
        assert first.predictions.keys() == second.predictions.keys()
        for part, array in first.predictions.items():
            np.testing.assert_array_equal(array, second.predictions[part])
        for column in first.history:
            if column != "seconds":
                np.testing.assert_array_equal(first.history[column], second.history[column])


def test_one_process_with_a_writer_gives_the_same_runs(data, source, tiny, tmp_path, as_on_a_gpu, monkeypatch):
    plans = tiny.plans(data)
    beside, plain = RunStore(tmp_path / "beside"), RunStore(tmp_path / "plain")
    events: list[Event] = []
    outcome = compare(plans, source, beside, progress=events.append, width=3, features=True)
    assert sorted(outcome.done) == beside.names() == sorted(plan.name for plan in plans)
    assert staged(beside) == []
    about = beside.read(plans[0].name).about
    assert (about["width"], about["resumed_at"], about["engine"]["graph"]) == (3, None, True)
    for plan in plans:
        mine = [event.kind for event in events if event.run == plan.name]
        assert mine == ["started", "epoch", "epoch", "done"]
    assert [event.kind for event in events[:6]] == ["started", "epoch"] * 3  # three at once, and their claims
    assert not multiprocessing.active_children()
    monkeypatch.undo()
    compare(plans, source, plain, jobs=1, features=True)
    same_runs(beside, plain)
    assert "best_features" in plain.read(plans[0].name).predictions


def test_a_run_that_fails_beside_others_is_told(data, source, tiny, tmp_path, as_on_a_gpu):
    good, other = tiny.plans(data)[:2]
    diverging = too_fast(good)
    wrong = Plan.from_dict(good.to_dict() | {"versions": {"delivery": 9}})
    store = RunStore(tmp_path)
    outcome = compare([diverging, wrong, good, other], source, store, width=2)
    assert sorted(outcome.done) == sorted([good.name, other.name])
    assert [(event.run, event.message[:21]) for event in outcome.failed] == [
        (diverging.name, "training diverged in "),
        (wrong.name, "the plan " + wrong.name[:12]),
    ]
    assert not any(store.busy(plan.name) for plan in (diverging, wrong))


def test_a_writer_that_dies_costs_nothing(data, source, tiny, tmp_path, as_on_a_gpu):
    store = RunStore(tmp_path)

    def kill(event):
        for process in multiprocessing.active_children():
            process.kill()

    assert len(compare(tiny.plans(data), source, store, progress=kill).done) == 4
    for name in store:
        store.read(name).check()
        assert store.read(name).records()


@pytest.mark.parametrize("breaks", ["write_run", "records_of"])
def test_an_error_of_the_writer_is_told(data, source, tiny, tmp_path, monkeypatch, breaks):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(f"dissensus.experiment.writer.{breaks}", broken)
    store = RunStore(tmp_path)
    outcome = compare(tiny.plans(data), source, store, jobs=1)
    assert len(outcome.failed) == 4
    assert "a bug" in outcome.failed[0].message
    assert ("done and kept" in outcome.failed[0].message) == (breaks == "records_of")
    assert len(store) == (4 if breaks == "records_of" else 0)  # a metric that fails loses no run
    assert staged(store) == []


# --- interrupted and resumed ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(data, tiny):
    """Plans whose runs take about a second, and what they give when nothing interrupts them."""
    recipe = tiny.recipe.model_copy(update={"epochs": 150})
    return tiny.model_copy(update={"recipe": recipe}).plans(data)


@pytest.fixture(scope="module")
def uninterrupted(long, source, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("uninterrupted"))
    compare(long, source, store, jobs=1)
    return store


class StopAfter:
    """Budgets are spans of time; here one ends when so many epochs have been told, whatever the machine."""

    def __init__(self, epochs, monkeypatch):
        self.left = epochs
        monkeypatch.setattr("dissensus.experiment.budget.Budget.over", lambda *_: self.left <= 0)

    def __call__(self, event):
        self.left -= event.kind == "epoch"


def test_a_budget_stops_cleanly_and_the_next_call_gives_the_same_runs(
    long, source, uninterrupted, tmp_path, monkeypatch
):
    store = RunStore(tmp_path)
    with monkeypatch.context() as context:
        first = compare(long, source, store, jobs=1, progress=StopAfter(220, context), budget=1000)
    assert len(first.done) == 1
    assert first.begun
    assert set(first.left) == {plan.name for plan in long} - set(first.done)
    assert first.seconds_left is not None
    assert first.seconds_left > 0
    (under_way,) = store.unfinished_names()
    assert staged(store) == []
    events: list[Event] = []
    second = compare(long, source, store, jobs=1, progress=events.append)
    assert second.left == ()
    assert second.done[0] == under_way  # what was begun comes first
    assert (events[1].kind, events[1].run, events[1].resumed_at) == ("started", under_way, 70)
    assert events[2].epoch == 71
    assert store.read(under_way).about["resumed_at"] == 70
    assert store.unfinished_names() == []
    same_runs(uninterrupted, store)


def test_a_budget_stops_workers_too(long, source, uninterrupted, tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    with monkeypatch.context() as context:
        first = compare(long, source, store, jobs=2, progress=StopAfter(60, context), budget=1000)
    assert first.done == ()
    assert first.begun
    assert len(first.left) == 4
    assert len(store.unfinished_names()) == 2
    assert not multiprocessing.active_children()
    compare(long, source, store, jobs=1)
    same_runs(uninterrupted, store)


def test_a_budget_stops_runs_side_by_side(long, source, uninterrupted, tmp_path, monkeypatch, as_on_a_gpu):
    store = RunStore(tmp_path)
    with monkeypatch.context() as context:
        first = compare(long, source, store, progress=StopAfter(200, context), budget=1000, width=3)
    assert first.done == ()
    assert len(store.unfinished_names()) == 3
    assert not any(store.busy(plan.name) for plan in long)
    assert len(compare(long, source, store).done) == 4
    same_runs(uninterrupted, store)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_runs_side_by_side_with_checkpoints(long, source, tmp_path, as_on_a_gpu, number):
    store, told = RunStore(tmp_path), []

    def interrupt(event):
        told.append(event)
        if len(told) == 50:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        compare(long, source, store, progress=interrupt, width=2)
    stopped = [event for event in told if event.kind == "stopped"]
    assert sorted(event.run for event in stopped) == store.unfinished_names()
    assert [event.epoch for event in stopped] == [24, 24]
    assert staged(store) == []
    assert not multiprocessing.active_children()


def test_a_second_signal_stops_at_once(long, source, tmp_path, as_on_a_gpu):
    store = RunStore(tmp_path)

    def interrupt(event):
        if event.epoch == 10:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        compare(long, source, store, progress=interrupt, width=2)
    assert store.unfinished_names() == []
    assert staged(store) == []
    assert not any(store.busy(plan.name) for plan in long)


def test_a_real_budget_is_kept(long, source, tmp_path):
    store = RunStore(tmp_path)
    started = time.monotonic()
    calls = 0
    while compare(long, source, store, jobs=1, budget=1.0).left:
        calls += 1
        assert time.monotonic() - started < 1.5 * calls + 1
    assert len(store) == 4


def test_no_run_is_begun_that_does_not_fit(long, source, tmp_path, monkeypatch):
    """The first takes what it takes; for the next, its estimate says that the time left is too short."""
    store = RunStore(tmp_path)
    with monkeypatch.context() as context:
        context.setattr("dissensus.experiment.budget.Budget.has", lambda self, seconds: seconds is None)
        events: list[Event] = []
        outcome = compare(long, source, store, jobs=1, budget=1000, progress=events.append)
        assert (len(outcome.done), len(outcome.left)) == (1, 3)
        assert store.unfinished_names() == []
        assert [event.kind for event in events].count("started") == 1
        again = compare(long, source, store, jobs=1, budget=1000)  # the store knows how long such a run takes
        assert (again.done, len(again.left)) == ((), 3)
        assert again.seconds_left == pytest.approx(3 * store.read(outcome.done[0]).about["seconds"], rel=0.01)


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGTERM, 1), (signal.SIGTERM, 2), (signal.SIGINT, 2)])
def test_a_signal_counts_as_the_end_of_the_budget(start, tmp_path, number, jobs):
    process, _ = start(epochs=2000, jobs=jobs)
    store = RunStore(tmp_path / "runs")
    epochs = (line for line in process.stdout if line.startswith("epoch"))
    for _ in range(50):
        next(epochs)
    os.killpg(process.pid, number)  # schedulers and terminals send it to the workers as well
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.strip()) == (1, "stopped")
    assert len(store.unfinished_names()) == jobs
    assert staged(store) == []


def test_workers_leave_a_checkpoint_when_their_sweep_is_killed(start, tmp_path):
    process, comparison = start(epochs=2000, jobs=2)
    store = RunStore(tmp_path / "runs")
    plans = comparison.plans(comparison.data.load())
    seen = {line.split()[1] for line, _ in zip(process.stdout, range(50), strict=False) if line.startswith("epoch")}
    process.kill()
    process.wait()
    wait_for(lambda: not any(store.busy(plan.name) for plan in plans))
    assert seen
    assert seen <= set(store.unfinished_names())


def test_numbers_of_runs_must_be_positive(source, tmp_path):
    with pytest.raises(InputError, match="width must be a whole number of at least 1, but is 0"):
        compare([], source, RunStore(tmp_path), width=0)
    with pytest.raises(InputError, match="a budget must be a number of seconds above 0, but is 0"):
        compare([], source, RunStore(tmp_path), budget=0)


def looks_at(subject):
    """For a table by runs: a number of its own, one of a certain epoch, and arrays."""
    from dissensus.experiment.subject import Kept

    assert len(subject.labels) == len(subject.inputs)
    yield Diagnosis("items", float(len(subject.inputs)), np.nan, np.nan, len(subject.inputs))
    for weights in subject.weights:
        yield Diagnosis("of_an_epoch", 1.0, np.nan, np.nan, 1, weights=weights)
        yield Kept("once", np.full(2, 7.0), weights)
    yield Kept("rows", np.zeros((2, 3), np.float16))


def test_runs_are_looked_into_as_a_table_says(data, source, tiny, tmp_path):
    plans, store = tiny.plans(data), RunStore(tmp_path / "runs")
    one, *others = plans
    outcome = compare(plans, source, store, jobs=1, diagnose={one.name: looks_at})
    assert not outcome.failed
    for weights in ("best", "last"):
        names = [row.name for row in store.read(one.name).diagnostics() if row.weights == weights]
        assert sorted(names) == ["items", "of_an_epoch"]
        arrays = store.read(one.name).predictions
        assert arrays[f"{weights}_rows"].dtype == np.float16
        np.testing.assert_array_equal(arrays[f"{weights}_once"], [7.0, 7.0])
    assert 0 < store.read(one.name).about["looking"] < store.read(one.name).about["seconds"]
    for other in others:
        assert store.read(other.name).diagnostics() == []
        assert store.read(other.name).about["looking"] == 0


def test_a_budget_counts_the_looks_inside(data, tiny, tmp_path):
    plans = {plan.name: plan for plan in tiny.plans(data)[:2]}
    first, second = plans
    course = Course(plans, RunStore(tmp_path), Budget(1000.0), look=lambda run: looks_at)
    assert course.fits(first)  # nothing is known yet
    course.paces.known[course.kinds[first]] = {1: 10.0}
    course.paces.looks[course.kinds[first], looks_at] = 600.0
    assert course.fits(first)
    course.shares = True
    course.tell(Event("epoch", first, "soft", 0, "all", of=2, epoch=1, pace=10.0))
    assert not course.fits(second)  # two looks one after the other do not fit, where the models share a device
    course.shares = False
    assert course.fits(second)
    assert course.seconds_left() == 10 + 20 + 1200
    course.budget.began -= 500
    assert course.stop()  # the next epoch is the last one of the first run, and then there is no time to look


@pytest.mark.parametrize(("shares", "seconds"), [(False, 20), (True, 40)])
def test_what_is_left_is_shared_out_among_those_side_by_side(data, tiny, tmp_path, shares, seconds):
    """Two runs of two epochs of ten seconds, on a processor each; on one device each takes twice as long."""
    plans = {plan.name: plan for plan in tiny.plans(data)[:2]}
    course = Course(plans, RunStore(tmp_path), Budget(None))
    course.paces.known[course.kinds[next(iter(plans))]] = {1: 10.0}
    course.beside, course.shares = 2, shares
    assert course.seconds_left() == seconds


def test_runs_that_were_begun_come_first(data, tiny, tmp_path):
    plans, store = {plan.name: plan for plan in tiny.plans(data)}, RunStore(tmp_path)
    *others, last = plans
    (store.unfinished(last) / "checkpoint.safetensors").touch()
    course = Course(plans, store, Budget(None))
    course.skip_done()
    assert list(course.waiting) == [last, *others]


@pytest.mark.parametrize("begun", [(True, False), (False, True), (False, False)])
def test_two_sweeps_have_one_outcome(begun):
    first, second = (Outcome((f"{n} done",), (f"{n} skipped",), (), (f"{n} left",), 5.0, begun[n]) for n in range(2))
    both = first.and_then(second)
    assert (both.done, both.skipped, both.left) == tuple((f"0 {n}", f"1 {n}") for n in ("done", "skipped", "left"))
    assert (both.seconds_left, both.begun) == (None, any(begun))


def test_no_run_is_begun_or_goes_on_where_an_epoch_does_not_fit(data, tiny, tmp_path):
    """Though its training never fits, and it has not told its pace yet."""
    plan = tiny.plans(data)[0]
    plan = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"epochs": 200})})
    course = Course({plan.name: plan}, RunStore(tmp_path), Budget(1000.0))
    course.paces.known[course.kinds[plan.name]] = {1: 100.0}
    assert course.fits(plan.name)
    course.budget.began -= 900
    course.tell(Event("started", plan.name, "soft", 0, "all", of=200))
    course.stopped = False
    assert course.stop()
    course = Course({plan.name: plan}, RunStore(tmp_path), Budget(1000.0))
    course.paces.known[course.kinds[plan.name]] = {1: 100.0}
    course.budget.began -= 900
    assert not course.fits(plan.name)


def test_a_stop_while_the_data_are_read_begins_nothing(long, source, tmp_path):
    asked, events = iter([False, True]), []
    Maker(source, RunStore(tmp_path), How())(long, events.append, lambda: next(asked))
    assert events == []
    assert RunStore(tmp_path).unfinished_names() == []


def test_a_checkpoint_tells_how_long_an_epoch_takes(long, source, tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    with monkeypatch.context() as context:
        compare(long, source, store, jobs=1, progress=StopAfter(20, context), budget=1000)
    (name,) = store.unfinished_names()
    course = Course({plan.name: plan for plan in long}, store, Budget(1000.0))
    course.skip_done()
    course.recall("cpu", 1)
    assert 0 < course.an_epoch(name) < 10


def test_an_epoch_before_the_last_ones_is_still_made(data, tiny, tmp_path):
    (first, plan), *_ = ((plan.name, plan) for plan in tiny.plans(data))
    plan = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"epochs": 200})})
    course = Course({first: plan}, RunStore(tmp_path), Budget(1000.0), look=lambda run: looks_at)
    course.paces.looks[course.kinds[first], looks_at] = 300.0
    course.budget.began -= 800
    course.tell(Event("epoch", first, "soft", 0, "all", of=200, epoch=100, pace=10.0))
    assert not course.stop()
