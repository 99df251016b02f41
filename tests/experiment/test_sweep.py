"""Sweeps that are resumed, shared, killed and interrupted. Processes take seconds to start, so few tests start any."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.experiment import Comparison, Event, Plan, compare
from dissensus.records import RunStore

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
        compare(plans, comparison.data, RunStore(sys.argv[2]), int(sys.argv[3]), told)
    except KeyboardInterrupt:
        sys.exit("stopped")
"""


@pytest.fixture
def start(tmp_path, folder):
    """Start a sweep of six runs in a process of its own, with so many epochs."""
    started = []

    def start(epochs, jobs):
        path = folder / f"sweep-{epochs}.toml"
        path.write_text(
            'methods = ["soft", "sls", "multipass"]\nseeds = 2\n'
            '[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'
            '[model]\nname = "mlp"\noptions = {width = 8, layers = 1}\n'
            f"[recipe]\nepochs = {epochs}\nbatch_size = 16\n"
        )
        script = tmp_path / "sweep.py"
        script.write_text(SWEEP)
        words = [sys.executable, str(script), str(path), str(tmp_path / "runs"), str(jobs)]
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
            assert [event.epoch for event in mine] == [*range(301), 0]
            assert mine[1].soft_nll > 0
            assert mine[-1].seconds > 0


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
    diverging = Plan.from_dict(good.to_dict() | {"recipe": good.recipe.model_dump() | {"lr": 1e30, "momentum": 0.0}})
    store = RunStore(tmp_path)
    outcome = compare([other_version, diverging, good], source, store, jobs=1)
    assert outcome.done == (good.name,)
    first, second = outcome.failed
    assert (first.run, first.method) == (other_version.name, "soft")
    assert "version 9 of its delivery" in first.message
    assert second.run == diverging.name
    assert "training diverged" in second.message
    assert store.names() == [good.name]


def test_an_unforeseen_error_is_told_with_its_traceback(data, source, tiny, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("dissensus.experiment.run.parts", broken)
    outcome = compare(tiny.plans(data), source, RunStore(tmp_path), jobs=1)
    assert len(outcome.failed) == 4
    assert "Traceback" in outcome.failed[0].message
    assert "a bug" in outcome.failed[0].message


def test_jobs_must_be_positive(source, tmp_path):
    with pytest.raises(InputError, match="jobs must be a whole number of at least 1, but is 0"):
        compare([], source, RunStore(tmp_path), jobs=0)


def test_nothing_to_do(source, tmp_path):
    assert compare([], source, RunStore(tmp_path)).done == ()


def test_an_interrupt_leaves_nothing_half_written_and_is_resumed(data, source, tiny, tmp_path):
    store = RunStore(tmp_path)

    def interrupt(event):
        if event.kind == "epoch" and len(store) == 1:
            os.kill(os.getpid(), signal.SIGTERM)  # counts as Ctrl-C

    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        compare(tiny.plans(data), source, store, jobs=1, progress=interrupt)
    assert signal.getsignal(signal.SIGTERM) is handler
    assert len(store) == 1
    assert staged(store) == []
    finish(tiny, store)


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


def test_a_sweep_that_is_killed_is_resumed(start, tmp_path):
    process, comparison = start(epochs=150, jobs=2)
    store = RunStore(tmp_path / "runs")
    wait_for(lambda: len(store) >= 1 and staged(store))
    process.send_signal(signal.SIGKILL)
    process.wait()
    plans = comparison.plans(comparison.data.load())
    wait_for(lambda: not any(store.busy(plan.name) for plan in plans))  # its workers end when nobody listens any more
    assert 1 <= len(store) < 6
    finish(comparison, store)


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
