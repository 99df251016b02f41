"""Runs that are compared with one another from what both kept: seeds of a method, hard deliveries with soft labels.

What is kept (features, Grad-CAM maps, logits of training items) is too large for results. So numbers of two runs are
computed while both are in one store, and a group of runs that was made here and there, in stores that are gone, lacks
some of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from dissensus.delivery import DELIVERIES, METHODS
from dissensus.experiment.papers import Cell, Evidence
from dissensus.experiment.papers.evidence import Where
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.look import Look

YARDSTICK = "soft"  # what hard deliveries are compared with
GAIN = "js_gain"  # on training items too: for these the logits are kept


@dataclass(frozen=True)
class Group:
    """Trainings of which each two are compared, or each with the first."""

    pairs: tuple[tuple[Cell, Cell], ...]  # the first has the number
    number: str  # by which one sees that they were compared, on these items
    where: Where = "evaluation"

    @property
    def cells(self) -> set[Cell]:
        return {cell for pair in self.pairs for cell in pair}

    def apart(self, names: Mapping[Cell, str], stored: Collection[Cell], recorded: Evidence) -> Iterator[set[Cell]]:
        """The pairs that nobody compared and nobody can: what one of the two kept is gone."""
        for first, second in self.pairs:
            there = {first, second} <= set(stored)
            if not there and not any(
                (one.name, one.where, one.other) == (self.number, self.where, names[second])
                for one in recorded.of(names[first])
            ):
                yield {first, second}


def groups_of(plans: Mapping[Cell, Plan], looks: Mapping[str, Look]) -> list[Group]:
    """All of them, among these trainings."""
    families: dict[tuple[str, Cell], list[Cell]] = {}
    for cell, plan in plans.items():
        look = looks.get(plan.name)
        if look is not None and look.features:
            families.setdefault(("cka", replace(cell, seed=0)), []).append(cell)
        if look is not None and look.maps:
            families.setdefault(("cam_stability", replace(cell, seed=0)), []).append(cell)
        soft = replace(cell, method=YARDSTICK)
        if look is not None and look.train_logits and _hard(cell) and soft in plans:
            families.setdefault((GAIN, soft), [soft]).append(cell)
    return [
        Group(tuple(_pairs(number, cells)), number, "training" if number == GAIN else "evaluation")
        for (number, _), cells in families.items()
        if len(cells) > 1
    ]


def _pairs(number: str, cells: list[Cell]) -> Iterator[tuple[Cell, Cell]]:
    if number == GAIN:
        soft, *hard = cells
        yield from ((cell, soft) for cell in hard)
    else:
        yield from combinations(sorted(cells, key=lambda cell: cell.seed), 2)


def _hard(cell: Cell) -> bool:
    return DELIVERIES[METHODS[cell.method].delivery].hard
