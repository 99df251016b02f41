"""The trainings of a paper as plans of a store: one run for all tables that need it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissensus.datasets import Dataset
from dissensus.experiment.papers import Cell, Paper
from dissensus.experiment.plan import Plan, described, versions, votes_and_draw
from dissensus.experiment.reproduce.setting import Setting
from dissensus.experiment.seen import model_part

TEST = 0.2  # of the items are evaluated


def plans_of(cells: Iterable[Cell], paper: Paper, setting: Setting, data: Dataset) -> dict[Cell, Plan]:
    """A plan for each training, in their order."""
    model = model_part(setting.defaults.model, {}, data, setting.source.encoder)
    shared: dict[str, Any] = {
        "data": described(data),
        "model": model.model_dump(),
        "recipe": dict(setting.defaults.recipe),
    }
    return {cell: Plan.from_dict(shared | _own(cell, paper, model.name)) for cell in cells}


def _own(cell: Cell, paper: Paper, model: str) -> dict[str, Any]:
    protocol = paper.protocols[cell.protocol]
    return {
        "method": cell.method,
        "hold": cell.hold,
        **votes_and_draw(protocol.votes if cell.votes == "all" else cell.votes, protocol.draw),
        "split": {"test": TEST, "select": protocol.select},
        "seeds": cell.seeds,
        "versions": versions(cell.method, model),
    }
