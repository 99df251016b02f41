"""What is run to repeat a paper: experiments, and the trainings that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dissensus.base.errors import InputError
from dissensus.base.words import run_in_words
from dissensus.delivery import METHODS
from dissensus.experiment.papers.keys import check_keys, check_known, check_lists

Votes = int | Literal["all"]


@dataclass(frozen=True)
class Protocol:
    """How runs are made: the share of training items that picks the checkpoint, and how few votes are drawn.

    Where a paper is repeated on several data sets or with several models, also on which and with which.
    """

    name: str
    about: str
    select: float
    draw: Literal["subsample", "resample"]
    data: str = ""
    model: str = ""  # "": that of the data set's papers
    votes: Votes = "all"  # what "all" means in its trainings: so many an item, where that is not really all
    recipe: Mapping[str, Any] = field(default_factory=dict)  # what differs from the recipe of data and model


@dataclass(frozen=True)
class Cell:
    """One training.

    >>> Cell("published", "sls", "all", 1, seed=3, reorder=500).seeds
    {'split': 3, 'init': 3, 'order': 503, 'delivery': 503}
    """

    protocol: str
    method: str
    votes: Votes
    hold: int
    seed: int
    reorder: int = 0

    @property
    def seeds(self) -> dict[str, int]:
        """Those of the plan: one for everything, but for a run with another batch order and other labels."""
        moved = self.seed + self.reorder
        return {"split": self.seed, "init": self.seed, "order": moved, "delivery": moved}

    @property
    def family(self) -> tuple[str, str, Votes, int, int]:
        """What it has in common with those of other seeds.

        >>> Cell("published", "sls", 5, 1, seed=3).family == Cell("published", "sls", 5, 1, seed=4).family
        True
        """
        return self.protocol, self.method, self.votes, self.hold, self.reorder

    @property
    def words(self) -> str:
        """As a person knows it.

        >>> Cell("published", "sls", 5, 1, seed=3).words, Cell("published", "sls", "all", 10, 0, reorder=500).words
        ('sls, 5 votes, seed 3 (published)', 'sls, held for 10 epochs, seed 0, reordered (published)')
        """
        known = self.method, self.votes, self.hold, self.seed
        return run_in_words(*known, reordered=self.reorder > 0, protocol=self.protocol)


@dataclass(frozen=True)
class Experiment:
    """Methods times votes times hold times seeds, and what is looked at in those runs."""

    name: str
    protocol: str
    feeds: tuple[str, ...]  # tables and figures
    methods: tuple[str, ...]
    votes: tuple[Votes, ...]
    hold: tuple[int, ...]
    seeds: tuple[int, ...]  # ours
    published_seeds: Mapping[str, int]  # how many, by method; without those that the paper does not tell
    diagnostics: Mapping[str, tuple[str, ...]]  # by name, the slices
    outside: tuple[str, ...]  # sets that are told from the evaluation items
    reorder: int

    def __contains__(self, cell: Cell) -> bool:
        """Whether it is one of its trainings."""
        return (cell.protocol, cell.reorder) == (self.protocol, self.reorder) and (
            cell.method in self.methods
            and cell.votes in self.votes
            and cell.hold in self.hold
            and cell.seed in self.seeds
        )

    def cells(self) -> list[Cell]:
        """Seed by seed, so that what is done first can be compared first."""
        return [
            Cell(self.protocol, method, votes, hold, seed, self.reorder)
            for seed in self.seeds
            for votes in self.votes
            for hold in self.hold
            for method in self.methods
        ]


def protocol(name: str, table: Mapping[str, Any], data: str = "") -> Protocol:
    """From its table in a paper's file; ``data`` is the set of a paper that has but one."""
    where = f"protocols.{name}"
    check_keys(where, table, ["about", "select", "draw"], ["data", "model", "votes", "recipe"])
    check_known(where, "draw", table["draw"], ["subsample", "resample"])
    if not 0 <= table["select"] < 1:
        raise InputError(f"{where}: select must be a share of at least 0 and below 1, but is {table['select']}.")
    made = Protocol(name, **{"data": data, **table})
    if not made.data:
        raise InputError(f"{where}: data is missing: neither the protocol nor the paper names a data set.")
    if made.votes != "all" and not _counts(made.votes):
        raise InputError(f'{where}: votes must be "all" or a whole number of at least 1, but is {made.votes!r}.')
    return made


def experiments(table: Mapping[str, Any], known: Mapping[str, Iterable[str]]) -> list[Experiment]:
    """From its table in a paper's file, one for each of its protocols where it names several."""
    if "protocols" not in table:
        return [experiment(table, known)]
    if "protocol" in table:
        raise InputError(f"the experiment {table.get('name', 'without a name')} has a protocol and protocols: say one.")
    shared = {key: given for key, given in table.items() if key != "protocols"}
    return [experiment({**shared, "protocol": name}, known) for name in table["protocols"]]


def experiment(table: Mapping[str, Any], known: Mapping[str, Iterable[str]]) -> Experiment:
    """Of one protocol; ``known`` are the paper's protocols, places, diagnostics and slices."""
    where = f"the experiment {table.get('name', 'without a name')}"
    lists = ["feeds", "methods", "votes", "hold", "outside"]
    optional = ["hold", "published_seeds", "diagnostics", "outside", "reorder"]
    check_keys(where, table, ["name", "protocol", "feeds", "methods", "votes", "seeds"], optional)
    check_lists(where, table, lists)
    published = table.get("published_seeds", {})
    if isinstance(published, int):
        published = dict.fromkeys(table["methods"], published)
    made = Experiment(
        name=table["name"],
        protocol=table["protocol"],
        feeds=tuple(table["feeds"]),
        methods=tuple(table["methods"]),
        votes=tuple(table["votes"]),
        hold=tuple(table.get("hold", [1])),
        seeds=tuple(range(table["seeds"])),
        published_seeds=published,
        diagnostics={name: tuple(slices) for name, slices in table.get("diagnostics", {}).items()},
        outside=tuple(table.get("outside", ())),
        reorder=table.get("reorder", 0),
    )
    _check(where, made, known)
    return made


def _check(where: str, made: Experiment, known: Mapping[str, Iterable[str]]) -> None:
    slices = [part for slices in made.diagnostics.values() for part in slices]
    for kind, given, names in (
        ("protocol", [made.protocol], known["protocols"]),
        ("table or figure", made.feeds, known["places"]),
        ("method", made.methods, METHODS),
        ("method of the experiment", made.published_seeds, made.methods),
        ("diagnostic", made.diagnostics, known["diagnostics"]),
        ("slice", slices, known["slices"]),
    ):
        for one in given:
            check_known(where, kind, one, names)
    if not all(votes == "all" or _counts(votes) for votes in made.votes):
        raise InputError(f'{where}: votes must be "all" and whole numbers of at least 1, but are {list(made.votes)}.')
    if not all(map(_counts, made.hold)):
        raise InputError(f"{where}: hold must be whole numbers of at least 1, but is {list(made.hold)}.")
    if not made.seeds:
        raise InputError(f"{where} has no seeds.")
    if len(set(made.cells())) < len(made.cells()):
        raise InputError(f"{where} says a method, a number of votes or a hold twice.")


def _counts(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 1
