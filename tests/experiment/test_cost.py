from __future__ import annotations

from types import SimpleNamespace

import pytest

from dissensus.experiment import cost
from dissensus.experiment.cost import cpu_note, seconds_on_cpu


@pytest.fixture
def plans(data, tiny):
    return tiny.plans(data)


def test_few_items_stand_for_all(plans, data, monkeypatch):
    heard = []

    timed = SimpleNamespace(history=[{"seconds": 9.0}, {"seconds": 2.0}])
    monkeypatch.setattr(cost, "ITEMS", 4)
    monkeypatch.setattr(cost, "trained", lambda plan, data, few, *votes: heard.append((plan, few, *votes)) or timed)
    (plan, *_) = plans
    seconds = seconds_on_cpu(plan, data)
    ((tried, few, train, select),) = heard
    assert tried.recipe.epochs == 2
    step = 43 // 4  # of 60 items 12 are evaluated and 5 of the other 48 select
    assert (len(few.train), len(few.select), len(few.evaluation)) == (5, 1, 2)
    assert (train.n_items, select.n_items) == (5, 1)
    assert seconds == 2.0 * step * plan.recipe.epochs


def test_what_takes_minutes_is_not_worth_a_note(plans, data):
    assert cpu_note(plans, data, jobs=2) is None
    assert cpu_note([], data) is None


def test_what_takes_days_is(plans, data, monkeypatch):
    monkeypatch.setattr(cost, "seconds_on_cpu", lambda plan, data: 86_400.0)
    monkeypatch.setattr(cost.os, "cpu_count", lambda: 2)
    note = cpu_note(plans, data, jobs=8)
    assert note is not None
    assert note.startswith("about 2 days on this machine, which has no CUDA GPU: 4 runs of 2 epochs of mlp, 2 side by")
    assert "about 24 hours" in (cpu_note(plans[:1], data) or "")
    assert "1 run of" in (cpu_note(plans[:1], data) or "")


def test_a_gpu_is_not_timed(plans, data, monkeypatch):
    monkeypatch.setattr(cost, "device", lambda: "cuda")
    monkeypatch.setattr(cost, "seconds_on_cpu", lambda plan, data: 1e9)
    assert cpu_note(plans, data) is None
