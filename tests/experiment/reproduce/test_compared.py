"""Runs that share too few evaluation items are compared by nobody, and nobody waits for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.experiment.parts import parts
from dissensus.experiment.reproduce import Reproduction, smoke
from dissensus.experiment.reproduce.across import across_seeds
from dissensus.experiment.reproduce.compared import groups_of
from dissensus.experiment.reproduce.look import Look
from dissensus.experiment.reproduce.plans import TEST
from dissensus.experiment.source import Source
from dissensus.records import RunStore, write_run

SEEDS = [Cell("published", "sls", "all", 1, seed) for seed in range(5)]


def reproduction(paper: Paper, folder: Path, items: int) -> Reproduction:
    """Five seeds whose features are to be compared, on so many items."""
    setting = replace(smoke(), source=Source(name="glyphs", options={"items": items, "votes": 45}), seeds=len(SEEDS))
    found = Reproduction.open(paper, setting, RunStore(folder / "runs"))
    found.looks.clear()
    found.looks.update({found.plans[cell].name: Look("small-cnn", setting.effort, features=True) for cell in SEEDS})
    return found


@pytest.fixture
def few(paper: Paper, tmp_path: Path) -> Reproduction:
    """Of so few items that some seeds have enough in common, and others have not."""
    return reproduction(paper, tmp_path, items=80)


def due(of: Reproduction) -> set[tuple[Cell, Cell]]:
    groups = groups_of({cell: of.plans[cell] for cell in SEEDS}, of.looks, of.comparable)
    return {pair for group in groups for pair in group.pairs}


def made(of: Reproduction) -> None:
    for cell in SEEDS:
        ids = np.array(of.data.votes.items)[parts(of.data, TEST, 0.1, cell.seed).evaluation]
        features = np.random.default_rng(cell.seed).normal(size=(len(ids), 6)).astype(np.float32)
        with of.store.claim(of.plans[cell].name) as staging:
            assert staging is not None
            kept = {"ids": ids, "best_features": features, "last_features": features}
            write_run(staging, of.plans[cell].to_dict(), {}, [], kept)


def test_what_is_due_is_what_is_compared(few: Reproduction) -> None:
    made(few)
    names = {plan.name: cell for cell, plan in few.plans.items()}
    compared = {(names[one.run], names[one.other]) for one in across_seeds(few.runs()) if one.name == "cka"}
    assert due(few) == compared
    assert set() < compared < set(combinations(SEEDS, 2))


def test_no_run_is_made_again_for_a_comparison_that_nobody_can_make(paper: Paper, tmp_path: Path) -> None:
    for items, again in ((30, set()), (320, set(SEEDS))):
        here = reproduction(paper, tmp_path / str(items), items)
        told = Evidence({here.plans[cell].name: cell for cell in SEEDS})  # their store is gone
        now = replace(here, before=told)
        now.looks.clear()
        now.looks.update(here.looks)
        assert now.standing(SEEDS).again.keys() == again
