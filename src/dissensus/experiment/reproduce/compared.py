"""Runs that are compared with one another from what both kept: seeds of a method, hard deliveries with soft labels.

What is kept (features, Grad-CAM maps, logits of training items) is too large for results. So numbers of two runs are
computed while both are in one store, and a group of runs that was made here and there, in stores that are gone, lacks
some of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from dissensus.experiment.papers import Cell, Evidence
from dissensus.experiment.papers.evidence import Where
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.look import Look
from dissensus.experiment.reproduce.partners import Comparable, by_method, soft_partner

GAIN = "js_gain"  # on training items too: for these the logits are kept


@dataclass(frozen=True)
class RunGroup:
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


def groups_of(plans: Mapping[Cell, Plan], looks: Mapping[str, Look], comparable: Comparable) -> list[RunGroup]:
    """All of them, among these trainings. Seeds that are not ``comparable`` are nobody's to compare."""
    looked = {cell: look for cell, plan in plans.items() if (look := looks.get(plan.name)) is not None}
    features = [cell for cell, look in looked.items() if look.features]
    maps = [cell for cell, look in looked.items() if look.maps]
    groups = [
        RunGroup(tuple(pair for pair in combinations(seeds, 2) if comparable(*(plans[cell] for cell in pair))), number)
        for number, kept in (("cka", features), ("cam_stability", maps))
        for seeds in by_method(kept)
    ]
    gains: dict[Cell, list[tuple[Cell, Cell]]] = {}
    for cell, look in looked.items():
        soft = soft_partner(cell)
        if look.train_logits and soft is not None and soft in plans:
            gains.setdefault(soft, []).append((cell, soft))
    groups += [RunGroup(tuple(pairs), GAIN, "training") for pairs in gains.values()]
    return [group for group in groups if group.pairs]
