"""Models that wait for the one at the other end of a line.

A barrier lies between two models, and weights are too large to be handed from machine to machine. So every model at an
end of a line leaves its weights beside the store; whichever of the two is looked into second finds those of the first,
and the numbers go with its own run. When all lines of a seed are drawn, its weights are deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from dissensus.base.errors import StoreError
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.experiment.plan import Plan
from dissensus.records import RunStore

if TYPE_CHECKING:
    from torch import Tensor, nn

FOLDER = ".models"  # in a store


@dataclass(frozen=True)
class Models:
    """Weights of runs, by run and epoch."""

    folder: Path

    @classmethod
    def beside(cls, store: RunStore) -> Models:
        return cls(store.path / FOLDER)

    def save(self, run: str, weights: str, model: nn.Module) -> None:
        from dissensus.training.checkpoint import Saved, save

        save(self._path(run, weights), Saved(_whose(run, weights), [], model.state_dict()))

    def load(self, run: str, weights: str) -> dict[str, Tensor] | None:
        """None where they are not here; an error where they are damaged, or those of another run."""
        from dissensus.training.checkpoint import read

        path = self._path(run, weights)
        if not path.exists():
            return None
        try:
            saved = read(path)
            if saved.run != _whose(run, weights):
                raise ValueError("it holds the weights of another run, or of another epoch")
        except ValueError as error:
            why = f"{path} cannot be used ({error}). Delete it, and the run is made again."
            raise StoreError(why) from None
        return saved.tensors

    def has(self, run: str) -> bool:
        return all(self._path(run, weights).exists() for weights in ("best", "last"))

    def runs(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*"))

    def forget(self, run: str) -> None:
        shutil.rmtree(self.folder / run, ignore_errors=True)

    def _path(self, run: str, weights: str) -> Path:
        return self.folder / run / f"{weights}.safetensors"


def _whose(run: str, weights: str) -> dict[str, str]:
    return {"run": run, "weights": weights}


@dataclass(frozen=True)
class LineBetween:
    """Between two trainings; ``first`` is where it begins on paper, whichever is made first."""

    first: Cell
    second: Cell

    @property
    def ends(self) -> tuple[Cell, Cell]:
        return self.first, self.second

    @property
    def within(self) -> bool:
        """Two runs of one method: what a line between methods is compared with."""
        return self.first.method == self.second.method

    def other(self, cell: Cell) -> Cell:
        return self.second if cell == self.first else self.first


def lines_of(cells: Iterable[Cell], paper: Paper) -> list[LineBetween]:
    """Between the methods of a seed, and from each to itself with another batch order and other labels.

    >>> from dissensus.experiment.papers import read_paper
    >>> basins = read_paper("basins")
    >>> [(line.first.method, line.second.method, line.second.reorder) for line in lines_of(basins.cells(), basins)[:3]]
    [('sls', 'soft', 0), ('sls', 'sls', 500), ('soft', 'soft', 500)]
    """
    ends = [cell for cell in cells if "barrier" in paper.diagnostics_of(cell)]
    ends.sort(key=lambda cell: (cell.protocol, cell.seed, cell.reorder, cell.method))
    return [LineBetween(a, b) for a, b in combinations(ends, 2) if _joined(a, b)]


def _joined(a: Cell, b: Cell) -> bool:
    if (a.protocol, a.votes, a.hold, a.seed) != (b.protocol, b.votes, b.hold, b.seed):
        return False
    between = a.method != b.method and a.reorder == b.reorder == 0
    return between or (a.method == b.method and a.reorder != b.reorder)


def drawn(line: LineBetween, plans: Mapping[Cell, Plan], store: RunStore, recorded: Evidence) -> bool:
    """Whether its numbers are there, with either of its runs, or in results."""
    names = [plans[cell].name for cell in line.ends]
    if any(one.name == "barrier" and one.other == names[1] for one in recorded.of(names[0])):
        return True
    return all(name in store for name in names) and any(
        one.name == "barrier" and one.other == other
        for name, other in (names, reversed(names))
        for one in store.read(name).diagnostics()
    )


def joined(cells: Iterable[Cell], paper: Paper) -> list[Cell]:
    """These, and whatever lies at the other end of a line from them: a seed's lines are drawn together."""
    given = dict.fromkeys(cells)
    near = {(cell.protocol, cell.seed) for cell in given}
    for line in lines_of(paper.cells(), paper):
        if (line.first.protocol, line.first.seed) in near and any(cell in given for cell in line.ends):
            given |= dict.fromkeys(line.ends)
    return list(given)
