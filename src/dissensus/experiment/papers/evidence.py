"""What was measured for a paper: numbers, histories and curves by training.

Everything after the runs is computed from this: tables, figures and verdicts need no store, no model and no data.
Numbers are kept as single precision has them, from the moment they come in, so that what is judged right after the runs
is what is judged from the files (:mod:`dissensus.experiment.papers.evidence_files`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError
from dissensus.experiment.papers.experiments import Cell, Votes
from dissensus.records import Diagnosis, Slice, Weights

if TYPE_CHECKING:
    from dissensus.experiment.papers.paper import Paper

Where = Literal["evaluation", "training"]  # on which items of the run

History = Mapping[str, NDArray[np.float64]]
REORDERED = "+reorder"  # of a second run that differs in batch order and delivery seed only


@dataclass(frozen=True)
class Curve:
    """A line of a figure, of one run or of a pair of runs."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True)
class RunNumber:
    """One number, and what it is of.

    ``other`` is an outside set, or a second run by its name. Low and high are the number's own 95 % interval, not that
    of seeds; nan where it is exact.
    """

    run: str
    name: str
    value: float
    checkpoint: Weights = ""
    tempered: bool = False
    slice: Slice = "all"
    where: Where = "evaluation"
    other: str = ""
    low: float = np.nan
    high: float = np.nan

    @classmethod
    def of(cls, run: str, one: Diagnosis) -> RunNumber:
        """What was found inside a model, or between two."""
        return cls(run, one.name, one.value, one.weights, False, one.slice, "evaluation", one.other, one.low, one.high)


@dataclass(frozen=True)
class RunCurve:
    """One curve, and what it is of, as in :class:`RunNumber`."""

    run: str
    name: str
    curve: Curve
    checkpoint: Weights = ""
    tempered: bool = False
    slice: Slice = "all"
    where: Where = "evaluation"
    other: str = ""


Told = TypeVar("Told", RunNumber, RunCurve)
Found = TypeVar("Found")
Kind = Literal["one", "pair"]  # of how many seeds


class Evidence:
    """Numbers, histories and curves of trainings. What was not run is not there, and asking for it is no error.

    >>> runs = [Cell("published", "sls", "all", 1, seed) for seed in (0, 1)]
    >>> evidence = Evidence.from_rows(
    ...     numbers=[
    ...         {"cell": runs[0], "name": "soft_nll", "value": 0.51, "checkpoint": "best"},
    ...         {"cell": runs[1], "name": "soft_nll", "value": 0.49, "checkpoint": "best"},
    ...         {"cell": runs[0], "name": "cka", "value": 0.92, "checkpoint": "best", "other": runs[1]},
    ...     ]
    ... )
    >>> evidence.numbers("soft_nll", protocol="published", method="sls")
    {0: 0.51, 1: 0.49}
    >>> evidence.pairs("cka", protocol="published", method="sls")
    {(0, 1): 0.92}
    >>> evidence.numbers("soft_nll", protocol="published", method="soft")
    {}
    """

    def __init__(
        self,
        runs: Mapping[str, Cell],
        about: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        findings: Iterable[RunNumber] = (),
        histories: Mapping[str, Mapping[str, ArrayLike]] = MappingProxyType({}),
        lines: Iterable[RunCurve] = (),
    ) -> None:
        order = sorted(runs, key=lambda run: _sorting(runs[run]))
        self.runs: Mapping[str, Cell] = {run: runs[run] for run in order}
        self.about: Mapping[str, Mapping[str, Any]] = {run: dict(about.get(run, {})) for run in order}
        self.findings = tuple(self._sorted(_single(one) for one in findings))
        self.lines = tuple(self._sorted(replace(one, curve=_single_curve(one.curve)) for one in lines))
        self.histories: Mapping[str, History] = {
            run: {name: _singles(column) for name, column in histories[run].items()}
            for run in order
            if run in histories
        }
        self._numbers: dict[tuple[Any, ...], dict[Any, RunNumber]] = {}
        self._curves: dict[tuple[Any, ...], dict[Any, Curve]] = {}
        self._by_run: dict[str, list[RunNumber]] = {}
        for found in self.findings:
            self._by_run.setdefault(found.run, []).append(found)
            address, seeds = self._address(found)
            self._numbers.setdefault(address, {})[seeds] = found
        for line in self.lines:
            address, seeds = self._address(line)
            self._curves.setdefault(address, {})[seeds] = line.curve

    @cached_property
    def diverged(self) -> dict[Cell, int]:
        """The trainings that diverged, which have no numbers: in which epoch."""
        return {
            self.runs[run]: int(told["diverged"])
            for run, told in self.about.items()
            if told.get("diverged") is not None
        }

    def comparable(self, paper: Paper) -> bool:
        """Whether its runs are of the data that the paper names. Those of a smoke test are not, and their numbers have
        nothing to do with the published ones.
        """
        data = {run: paper.protocols[cell.protocol].data for run, cell in self.runs.items()}
        return all(self.about[run].get("data", name) == name for run, name in data.items())

    def numbers(
        self,
        name: str,
        *,
        protocol: str,
        method: str,
        votes: Votes = "all",
        hold: int = 1,
        reorder: int = 0,
        checkpoint: str = "best",
        tempered: bool = False,
        slice: str = "all",
        where: str = "evaluation",
        other: str = "",
    ) -> dict[int, float]:
        """Seed -> value of a metric or a diagnostic.

        ``other`` names an outside set, or, for a number of two runs of one seed, the other method: "soft", or
        "sls+reorder" for the same method with another batch order and delivery seed. What is said of a whole run is
        found under both checkpoints.
        """
        cell = (protocol, method, votes, hold, reorder)
        found = _under(self._numbers, "one", name, cell, checkpoint, tempered, slice, where, other)
        return {seed: one.value for seed, one in found.items()}

    def pairs(
        self,
        name: str,
        *,
        protocol: str,
        method: str,
        votes: Votes = "all",
        hold: int = 1,
        checkpoint: str = "best",
        slice: str = "all",
        where: str = "evaluation",
        other: str | None = None,
    ) -> dict[tuple[int, int], float]:
        """Two seeds -> a number of two runs that differ in their seeds; of one method, where no ``other`` is named."""
        cell, second = (protocol, method, votes, hold, 0), method if other is None else other
        found = _under(self._numbers, "pair", name, cell, checkpoint, False, slice, where, second)
        return {seeds: one.value for seeds, one in found.items()}

    def history(
        self, *, protocol: str, method: str, votes: Votes = "all", hold: int = 1, reorder: int = 0
    ) -> dict[int, History]:
        """Seed -> the columns of its history, a number an epoch."""
        wanted = (protocol, method, votes, hold, reorder)
        return {self.runs[run].seed: told for run, told in self.histories.items() if self.runs[run].family == wanted}

    def curves(
        self,
        name: str,
        *,
        protocol: str,
        method: str,
        votes: Votes = "all",
        checkpoint: str = "best",
        slice: str = "all",
        where: str = "evaluation",
        other: str = "",
    ) -> dict[int, Curve]:
        """Seed -> the line of a figure."""
        cell = (protocol, method, votes, 1, 0)
        return _under(self._curves, "one", name, cell, checkpoint, False, slice, where, other)

    def joined(self, other: Evidence) -> Evidence:
        """Both; of a run that is in both, what the other says, and of two runs of which it knows one, what this says.

        >>> one, two = (Cell("published", "sls", "all", 1, seed) for seed in (0, 1))
        >>> rows = [{"cell": cell, "name": "kl", "value": 0.5, "checkpoint": "best"} for cell in (one, two)]
        >>> both = Evidence.from_rows(rows[:1]).joined(Evidence.from_rows(rows[1:]))
        >>> both.numbers("kl", protocol="published", method="sls")
        {0: 0.5, 1: 0.5}
        """
        same = {run for run in self.runs if run in other.runs and self.about[run] == other.about[run]}

        def stays(one: RunNumber | RunCurve) -> bool:
            """Not what the other says itself, and nothing of a training that has been made again since."""
            runs = {one.run, one.other} & self.runs.keys()
            return bool(runs - other.runs.keys()) and runs <= same | (self.runs.keys() - other.runs.keys())

        return Evidence(
            {**self.runs, **other.runs},
            {**self.about, **other.about},
            [*filter(stays, self.findings), *other.findings],
            {**self.histories, **other.histories},
            [*filter(stays, self.lines), *other.lines],
        )

    def only(self, runs: Collection[str]) -> Evidence:
        """What is said of these runs, and of two of them."""
        gone = self.runs.keys() - set(runs)

        def stays(one: RunNumber | RunCurve) -> bool:
            return not {one.run, one.other} & gone

        return Evidence(
            {run: cell for run, cell in self.runs.items() if run not in gone},
            self.about,
            filter(stays, self.findings),
            self.histories,
            filter(stays, self.lines),
        )

    def of(self, run: str) -> list[RunNumber]:
        """The numbers of one run."""
        return self._by_run.get(run, [])

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Leave it in ``folder``, four files; one content, one text, byte for byte."""
        from dissensus.experiment.papers.evidence_files import write

        write(self, folder)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Evidence:
        """What :meth:`write` wrote."""
        from dissensus.experiment.papers.evidence_files import read

        return read(folder)

    @classmethod
    def from_rows(
        cls,
        numbers: Iterable[Mapping[str, Any]] = (),
        histories: Iterable[Mapping[str, Any]] = (),
        curves: Iterable[Mapping[str, Any]] = (),
        about: Mapping[Cell, Mapping[str, Any]] = MappingProxyType({}),
    ) -> Evidence:
        """From plain rows, each with the ``cell`` that it is of; runs are called by what they are.

        A number has a ``name`` and a ``value``, a curve has a ``name``, ``x`` and ``y``, and both whatever else of
        :class:`RunNumber` is not as it is there by itself; a history has its columns. ``other`` may be a cell.
        """
        rows = [[dict(row) for row in kind] for kind in (numbers, histories, curves)]
        cells = [row["cell"] for kind in rows for row in kind] + list(about)
        cells += [row["other"] for kind in rows for row in kind if isinstance(row.get("other"), Cell)]
        named = [[_with_names(row) for row in kind] for kind in rows]
        return cls(
            {called(cell): cell for cell in cells},
            {called(cell): told for cell, told in about.items()},
            [RunNumber(**row) for row in named[0]],
            {row.pop("run"): row for row in named[1]},
            [RunCurve(curve=Curve(row.pop("x"), row.pop("y")), **row) for row in named[2]],
        )

    def _address(self, one: RunNumber | RunCurve) -> tuple[tuple[Any, ...], Any]:
        """Under what a number is looked up, and the seed or seeds that it is of."""
        cell, second = self.runs[one.run], self.runs.get(one.other)
        kind: Kind = "one"
        other, seeds = one.other, cast(Any, cell.seed)
        if second is not None:
            other = second.method + (REORDERED if second.reorder != cell.reorder else "")
            if second.seed != cell.seed:
                kind, seeds = "pair", (cell.seed, second.seed)
        return (kind, one.name, cell.family, one.checkpoint, one.tempered, one.slice, one.where, other), seeds

    def _sorted(self, told: Iterable[Told]) -> list[Told]:
        place = {run: number for number, run in enumerate(self.runs)}
        listed = list(told)
        for one in listed:
            if one.run not in place:
                raise InputError(f"{one.name} is said of the run {one.run}, but not which training that is.")
        return sorted(listed, key=lambda one: (place[one.run], _subject(one)))


def _under(
    table: Mapping[Any, Mapping[Any, Found]], kind: Kind, name: str, cell: Any, checkpoint: str, *rest: Any
) -> dict[Any, Found]:
    """By seeds, what is said of a checkpoint or of the whole run."""
    found: dict[Any, Found] = {}
    for when in ("", checkpoint):
        found |= table.get((kind, name, cell, when, *rest), {})
    return dict(sorted(found.items()))


def called(cell: Cell) -> str:
    """A name for a training that has no run of its own.

    >>> called(Cell("published", "sls", 5, 1, seed=3))
    'published sls 5 1 3 0'
    """
    return " ".join(map(str, vars(cell).values()))


def _with_names(row: dict[str, Any]) -> dict[str, Any]:
    cell = row.pop("cell")
    if isinstance(row.get("other"), Cell):
        row["other"] = called(row["other"])
    return {"run": called(cell), **row}


def _sorting(cell: Cell) -> tuple[Any, ...]:
    """Protocol by protocol, fewest votes first and all votes last."""
    votes = np.inf if cell.votes == "all" else cell.votes
    return cell.protocol, cell.method, votes, cell.hold, cell.reorder, cell.seed


def _subject(one: RunNumber | RunCurve) -> tuple[Any, ...]:
    return one.name, one.checkpoint, one.tempered, one.slice, one.where, one.other


def _single(one: RunNumber) -> RunNumber:
    value, low, high = _singles([one.value, one.low, one.high]).tolist()
    return replace(one, value=value, low=low, high=high)


def _single_curve(curve: Curve) -> Curve:
    return Curve(_singles(curve.x), _singles(curve.y))


def _singles(values: ArrayLike) -> NDArray[np.float64]:
    """The shortest decimal numbers that are these in single precision: 0.1 stays 0.1."""
    with np.errstate(over="ignore"):  # a diverged run is infinite either way
        return np.asarray(values, np.float32).astype(str).astype(np.float64)
