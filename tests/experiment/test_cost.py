from __future__ import annotations

from types import SimpleNamespace

import pytest

from dissensus.experiment import cost
from dissensus.experiment.cost import cpu_note, seconds_on_cpu


@pytest.fixture
def plans(data, tiny):
    return tiny.plans(data)


@pytest.fixture
def clock(monkeypatch):
    """Trainings that take what the clock says, a second epoch of so many seconds; what was asked of them is kept."""
    monkeypatch.setattr(cost, "ITEMS", 4)
    asked = []

    def set_to(*seconds):
        left = iter(seconds)

        def trained(plan, data, few, train, select, encoder):
            asked.append((plan, few, train, select))
            return SimpleNamespace(history=[{"seconds": 9.0}, {"seconds": next(left)}])

        monkeypatch.setattr(cost, "trained", trained)
        return asked

    return set_to


def test_few_items_stand_for_all(plans, data, clock):
    asked = clock(2.0)
    seconds = seconds_on_cpu(plans[0], data)
    ((tried, few, train, select),) = asked
    assert tried.recipe.epochs == 2
    # of 60 items 12 are evaluated and 5 of the other 48 select; one in ten of each stands for them
    assert (len(few.train), len(few.select), len(few.evaluation)) == (5, 1, 2)
    assert (train.n_items, select.n_items) == (5, 1)
    assert seconds == 2.0 * 10 * plans[0].recipe.epochs


def test_epochs_too_short_to_be_timed_are_tried_with_more_items(plans, data, clock):
    asked = clock(0.001, 0.001, 0.002)
    assert seconds_on_cpu(plans[0], data) == 0.002 * plans[0].recipe.epochs
    assert [len(few.train) for _, few, _, _ in asked] == [5, 22, 43]


def test_what_takes_minutes_is_not_worth_a_note(plans, data, monkeypatch):
    assert cpu_note([], data) is None
    monkeypatch.setattr(cost, "EASY", 1)
    assert cpu_note(plans, data, jobs=2) is None


def test_what_is_easy_is_not_even_tried(plans, data, clock):
    assert cpu_note(plans, data) is None
    assert clock() == []


def test_what_takes_days_is(plans, data, monkeypatch):
    monkeypatch.setattr(cost, "EASY", 1)
    monkeypatch.setattr(cost, "seconds_on_cpu", lambda plan, data, encoder: 86_400.0)
    monkeypatch.setattr(cost.os, "cpu_count", lambda: 2)
    note = cpu_note(plans, data, jobs=8)
    assert note is not None
    assert note.startswith("about 2 days on this machine, which has no CUDA GPU: 4 runs of 2 epochs of mlp, 2 side by")
    assert "about 24 h on this machine" in (cpu_note(plans[:1], data) or "")
    assert "1 run of" in (cpu_note(plans[:1], data) or "")


def test_a_gpu_is_not_timed(plans, data, monkeypatch):
    monkeypatch.setattr(cost, "EASY", 1)
    monkeypatch.setattr(cost, "device", lambda: "cuda")
    monkeypatch.setattr(cost, "seconds_on_cpu", lambda plan, data: 1e9)
    assert cpu_note(plans, data) is None
