"""Which trainings are set against which: the seeds of one method, and a hard delivery with soft labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from dissensus.datasets import Dataset
from dissensus.delivery import is_hard
from dissensus.experiment.pairs import share_enough
from dissensus.experiment.papers import Cell
from dissensus.experiment.parts import Positions, parts
from dissensus.experiment.plan import Plan

Comparable = Callable[[Plan, Plan], bool]

SOFT = "soft"  # the method that hard deliveries are set against


def by_method(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Those that differ in nothing but their seed, together and in its order.

    >>> a, b, c = (Cell("published", method, "all", 1, seed) for method, seed in (("sls", 1), ("soft", 0), ("sls", 0)))
    >>> by_method([a, b, c]) == [[c, a], [b]]
    True
    """
    together: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        together.setdefault(cell.family, []).append(cell)
    return [sorted(alike, key=lambda cell: cell.seed) for alike in together.values()]


def soft_partner(cell: Cell) -> Cell | None:
    """The soft labels of the same few votes and seed, for a hard delivery; None for all others.

    With all votes nothing is sparse that a hard delivery could make up for.

    >>> soft_partner(Cell("published", "sls", 5, 1, seed=3)).method
    'soft'
    >>> soft_partner(Cell("published", "sls", "all", 1, seed=3)), soft_partner(Cell("published", "soft", 5, 1, seed=3))
    (None, None)
    """
    return replace(cell, method=SOFT) if cell.votes != "all" and is_hard(cell.method) else None


def comparable_on(data: Dataset) -> Comparable:
    """Whether two plans evaluate enough items that are in both splits, as their runs will say."""

    @cache
    def evaluated(test: float, seed: int) -> Positions:
        return parts(data, test, 0, seed).evaluation

    def comparable(first: Plan, second: Plan) -> bool:
        return share_enough(*(evaluated(plan.split.test, plan.seeds.split) for plan in (first, second)))

    return comparable
