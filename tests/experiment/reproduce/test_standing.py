"""What is left, and how long it takes: from runs that are there, or from what was measured before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

from dissensus.experiment.events import event_of
from dissensus.experiment.papers import Cell, Evidence
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce import Reproduction, Standing, counts
from dissensus.experiment.reproduce.lines import Models
from dissensus.experiment.reproduce.look import Look
from dissensus.experiment.reproduce.standing import times
from dissensus.experiment.sweep import Outcome
from dissensus.records import Diagnosis, RunStore, write_run

PLAIN = Cell("published", "majority", "all", 1, 0)
FEW = Cell("published", "multipass", 5, 1, 0)


@pytest.fixture
def here(small: Reproduction, tmp_path: Path) -> Reproduction:
    return replace(small, store=RunStore(tmp_path / "runs"))


def put(here: Reproduction, cell: Cell, **about: object) -> None:
    plan = here.plans[cell]
    told = {"device": "NVIDIA H200", "width": 4, "seconds": 60.0, "looking": 0.0, "resumed_at": None} | about
    with here.store.claim(plan.name) as staging:
        assert staging is not None
        write_run(staging, plan.to_dict(), told, [], {"ids": ["a"]})


def now_of(here: Reproduction, *cells: Cell) -> Standing:
    return here.standing(cells)


def test_nothing_is_done(here: Reproduction) -> None:
    now = here.standing(here.wanted(["table2"], "published"))
    assert not now.done
    assert len(now.left) == len(now.plans)
    assert now.left[:2] == [cell for cell in now.left if cell.method in ("sls", "soft")][:2]
    by_name = {one.experiment: one for one in counts(now.plans, now.done, here.paper)}
    assert (by_name["full"].runs, by_name["full"].done) == (10, 0)
    assert "sweep" not in by_name


def test_what_is_there_is_done(here: Reproduction) -> None:
    put(here, PLAIN)
    now = now_of(here, PLAIN, replace(PLAIN, seed=1))
    assert now.done == {PLAIN}
    assert now.left == [replace(PLAIN, seed=1)]
    assert not now.again


def test_a_run_without_what_was_to_be_kept_is_made_again(here: Reproduction) -> None:
    put(here, FEW)
    assert now_of(here, FEW).again == {FEW: "it was made without train logits"}


def test_a_run_that_diverged_is_done_though_nothing_was_found_in_it(here: Reproduction) -> None:
    put(here, FEW, diverged=1)
    now = now_of(here, FEW, replace(FEW, seed=1))
    assert now.done == now.diverged == {FEW}
    assert not now.again
    assert now.left == [replace(FEW, seed=1)]
    assert times(now, here.store).training is None  # a part of its epochs says nothing of a whole run


def test_no_model_waits_for_one_that_diverged(here: Reproduction) -> None:
    """Of the lines of a seed, those to a model that is not there are not drawn, and nothing is made again for them."""
    lost, other = Cell("published", "soft", "all", 1, 0), Cell("published", "soft", "all", 1, 0, 500)
    put(here, lost, diverged=1)
    put(here, other)
    here.looks[here.plans[other].name] = Look("small-cnn", here.setting.effort)
    for weights in ("best", "last"):
        Models.beside(here.store).save(here.plans[other].name, weights, nn.Linear(2, 2))
    now = now_of(here, lost, other)
    assert now.done == {lost, other}
    assert not now.again
    here.forget_models()
    assert Models.beside(here.store).runs() == []


def test_what_diverged_by_results_alone_is_done(here: Reproduction) -> None:
    """Results tell that they diverged, and their store is gone: there is nothing that could be made again."""
    cells = [Cell("published", "sls", "all", 1, seed) for seed in range(2)]
    soft = [replace(cell, method="soft") for cell in cells]
    about = {cell: {"diverged": 1} for cell in (*cells, *soft)}
    told = Evidence(
        {here.plans[cell].name: cell for cell in about}, {here.plans[cell].name: told for cell, told in about.items()}
    )
    now = replace(here, before=told).standing(about)
    assert now.done == now.diverged == now.recorded == set(about)
    assert (now.left, now.again, now.spent) == ([], {}, frozenset())


def test_a_line_that_nobody_drew_is_drawn_by_its_second_end(here: Reproduction) -> None:
    """Both runs are there, and their weights, but the look inside the second one failed."""
    first, second = (Cell("published", "soft", "all", 1, 0, reorder) for reorder in (0, 500))
    for cell in (first, second):
        put(here, cell)
        for weights in ("best", "last"):
            Models.beside(here.store).save(here.plans[cell].name, weights, nn.Linear(2, 2))
    here.looks[here.plans[first].name] = Look("small-cnn", here.setting.effort)  # nothing else is asked of it
    now = now_of(here, first, second)
    assert now.again == {second: "nobody drew the line to it from soft"}
    assert now.done == {first}


def test_models_of_runs_that_were_lost_are_forgotten(here: Reproduction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call was killed when it had looked into a model and not kept its run: the run will be another one."""
    monkeypatch.setattr("dissensus.experiment.reproduce.reproduction.compare", lambda *_, **__: Outcome((), (), ()))
    kept, lost = Cell("published", "sls", "all", 1, 0), Cell("published", "soft", "all", 1, 0)
    put(here, kept)
    run, name = here.store.read(here.plans[kept].name), here.plans[lost].name
    own = Diagnosis("energy_auroc", 0.9, 0.8, 1.0, 64, weights="best", other="dtd")
    run.write_diagnostics([own, Diagnosis("barrier", 2.0, 1.9, 2.1, 64, weights="best", other=name)])
    for weights in ("best", "last"):
        Models.beside(here.store).save(name, weights, nn.Linear(2, 2))
    now = Standing({cell: here.plans[cell] for cell in (kept, lost)}, {}, frozenset({kept}), {})
    with here.store.claim(name):  # another command is making it
        here.carry_out(now)
        assert Models.beside(here.store).has(name)
        assert len(run.diagnostics()) == 2
    here.carry_out(now)
    assert not Models.beside(here.store).has(name)
    assert run.diagnostics() == [own]


def test_times_come_from_runs_of_the_store(here: Reproduction) -> None:
    put(here, PLAIN, seconds=60.0)  # side by side with three others
    put(here, replace(PLAIN, seed=1), seconds=90.0, looking=30.0)
    now = now_of(here, PLAIN, FEW, replace(FEW, seed=1))
    told = times(now, here.store)
    assert told.training == 15
    assert told.source == "from 2 runs of the store made on NVIDIA H200"
    assert told.left(now) == (30, 2)  # what is looked for in the two has not been timed


def test_times_are_those_of_the_device_that_made_most(here: Reproduction) -> None:
    put(here, replace(PLAIN, method="mixup"), device="cpu", seconds=600.0)
    for seed in range(2):
        put(here, replace(PLAIN, seed=seed), device="NVIDIA H200", seconds=60.0)
    told = times(now_of(here, replace(PLAIN, method="label-smoothing")), here.store)
    assert (told.training, told.source) == (15, "from 2 runs of the store made on NVIDIA H200")


def test_looks_that_were_timed_are_counted(here: Reproduction) -> None:
    put(here, FEW, seconds=100.0, looking=40.0)
    other = replace(FEW, seed=1)
    now = now_of(here, other)
    told = times(now, here.store)
    assert told.left(now) == (15 + 40, 0)


def test_a_run_that_went_on_counts_as_a_whole_one(here: Reproduction) -> None:
    put(here, PLAIN, seconds=20.0, resumed_at=2, width=1)
    assert times(now_of(here, PLAIN), here.store).training == 60  # one of three epochs took twenty


def test_without_any_run_there_is_no_number(here: Reproduction, tmp_path: Path) -> None:
    now = now_of(here, PLAIN)
    told = times(now, here.store, tmp_path)
    assert told.left(now) == (None, 0)
    assert told.source.startswith("no run of their kind is in the store yet")
    assert told.left(replace(now, done=frozenset([PLAIN]))) == (0, 0)  # nothing takes no time


def test_what_was_measured_on_a_gpu_before_helps(here: Reproduction, tmp_path: Path) -> None:
    rungs = {
        "1": {"precision": "tf32", "width": 1, "s_a_run": 40.0},
        "tf32-4": {"precision": "tf32", "width": 4, "s_a_run": 20.0},
        "4": {"precision": "bf16", "width": 4, "s_a_run": 9.0},
    }
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "ladder.json").write_text(json.dumps({"result": {"rungs": rungs}}))
    plan = here.plans[PLAIN]
    recipe = plan.recipe.model_copy(update={"precision": "tf32"})
    model = plan.model.model_copy(update={"name": "resnet18"})
    full = plan.model_copy(update={"recipe": recipe, "model": model})
    now = Standing({PLAIN: full}, {}, frozenset(), {})
    told = times(now, here.store, tmp_path)
    assert told.left(now) == (20, 0)
    assert told.source == f"from {tmp_path / 'ladder.json'} (4 runs side by side)"
    (tmp_path / "ladder.json").write_text(json.dumps({"result": {"rungs": {"1": rungs["1"]}}}))
    assert times(now, here.store, tmp_path).source == f"from {tmp_path / 'ladder.json'} (one run at a time)"


def test_lines_are_begun_only_if_all_of_them_fit(here: Reproduction) -> None:
    """The four runs of a seed take 4 x 15 s; what is done in this call must not be broken off between them."""
    put(here, PLAIN)
    cells = here.wanted(["barrier"])
    now = here.standing(cells)
    assert list(here._postponed(now, None)) == []
    assert set(here._postponed(now, 100.0)) == {cell for cell in cells if cell.seed == 1}
    assert list(here._postponed(now, 1000.0)) == []
    assert list(here._postponed(now, 40.0)) == []  # no call of this length has time for them


def test_lines_that_do_not_all_fit_are_left_for_another_call(
    here: Reproduction, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Plan] = []

    def compare(plans: list[Plan], *_: object, **how: object) -> Outcome:
        asked.extend(plans)
        return Outcome((), (), ())

    monkeypatch.setattr("dissensus.experiment.reproduce.reproduction.compare", compare)
    put(here, PLAIN)  # 15 s
    now = here.standing(here.wanted(["barrier"]))
    outcome = here.carry_out(now, budget=100.0)
    assert {plan.seeds.split for plan in asked} == {0}
    assert set(outcome.left) == {plan.name for cell, plan in now.plans.items() if cell.seed == 1}


def test_what_fails_is_told_with_its_protocol(here: Reproduction, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(plans: list[Plan], *_: object, **how: object) -> Outcome:
        return Outcome((), (), tuple(event_of(plan, "failed", "it diverged") for plan in plans))

    monkeypatch.setattr("dissensus.experiment.reproduce.reproduction.compare", compare)
    outcome = here.carry_out(now_of(here, PLAIN, replace(PLAIN, protocol="audited")))
    assert [event.protocol for event in outcome.failed] == ["published", "audited"]
