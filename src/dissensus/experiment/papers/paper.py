"""A paper: its file, read and checked, and what can be asked of it."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from dissensus.base.errors import InputError, unknown
from dissensus.experiment.papers.experiments import Cell, Experiment, Protocol, experiments, protocol
from dissensus.experiment.papers.keys import check_keys, check_known
from dissensus.experiment.papers.published import Published
from dissensus.experiment.papers.tables import UNITS, published

PAPERS = ("basins", "soft-labels")


@dataclass(frozen=True)
class Paper:
    """What a paper published, and what is run to repeat it."""

    name: str
    title: str
    arxiv: str
    data: str  # "" where each protocol names its own
    places: Mapping[str, str]  # tables and figures -> titles
    published: Published
    protocols: Mapping[str, Protocol]
    diagnostics: Mapping[str, str]  # name -> what it is
    experiments: tuple[Experiment, ...]
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A set of images that is not at hand -> those that are told from the items instead, each under its own name."""

    def of(self, protocol: str | None = None, feeds: str | None = None) -> list[Experiment]:
        """The experiments of a protocol that feed a table or figure; of all, where none is named.

        >>> [one.name for one in read_paper("basins").of("published", feeds="table4")]
        ['curvature', 'curvature-family']
        """
        if protocol is not None and protocol not in self.protocols:
            raise InputError(unknown("protocol", protocol, self.protocols))
        if feeds is not None and feeds not in self.places:
            raise InputError(unknown("table or figure", feeds, self.places))
        return [
            one
            for one in self.experiments
            if (protocol is None or one.protocol == protocol) and (feeds is None or feeds in one.feeds)
        ]

    def under(self, protocols: Collection[str]) -> Paper:
        """The part of it that is run under these protocols.

        >>> sorted(read_paper("basins").under(["audited"]).protocols)
        ['audited']
        """
        return replace(
            self,
            protocols={name: one for name, one in self.protocols.items() if name in protocols},
            experiments=tuple(one for one in self.experiments if one.protocol in protocols),
        )

    def cells(self, protocol: str | None = None, feeds: str | None = None) -> list[Cell]:
        """The trainings that those experiments need, each once, seed by seed."""
        once = dict.fromkeys(cell for one in self.of(protocol, feeds) for cell in one.cells())
        return sorted(once, key=lambda cell: cell.seed)

    def diagnostics_of(self, cell: Cell) -> dict[str, tuple[str, ...]]:
        """What is looked at in a run, over all experiments that it belongs to: by diagnostic, the slices."""
        found: dict[str, tuple[str, ...]] = {}
        for one in self._around(cell):
            for name, slices in one.diagnostics.items():
                found[name] = tuple(dict.fromkeys((*found.get(name, ()), *slices)))
        return found

    def outside_of(self, cell: Cell) -> tuple[str, ...]:
        """The sets that a run has to tell from its evaluation items."""
        return tuple(dict.fromkeys(name for one in self._around(cell) for name in one.outside))

    def sets_for(self, outside: str) -> tuple[str, ...]:
        """The sets that are really told from the items, where the paper names this one.

        >>> read_paper("basins").sets_for("svhn"), read_paper("basins").sets_for("cifar100")
        (('streetview', 'dtd'), ('cifar100',))
        """
        return self.stand_ins.get(outside, (outside,))

    def _around(self, cell: Cell) -> list[Experiment]:
        return [one for one in self.experiments if cell in one]


@cache
def read_paper(name: str) -> Paper:
    """The paper of that name.

    >>> read_paper("basins").title
    'Same Target, Different Basins: Hard vs. Soft Labels for Annotator Distributions'
    """
    if name not in PAPERS:
        raise InputError(unknown("paper", name, PAPERS))
    return parse_paper((files(__package__) / f"{name.replace('-', '_')}.toml").read_text("utf-8"))


def parse_paper(text: str) -> Paper:
    """A paper from the text of its file; the first thing that is wrong with it is an error that says where."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the paper is not valid TOML: {error}.") from None
    plain = ["name", "title", "arxiv"]
    tables = ["units", "slices", "places", "protocols", "diagnostics", "stand_ins", "experiments"]
    check_keys("the paper", told, plain, ["data", *tables])
    units, slices, places, diagnostics = (told.get(key, {}) for key in ("units", "slices", "places", "diagnostics"))
    for metric, unit in units.items():
        check_known(f"units.{metric}", "unit", unit, UNITS)
    numbers = published(places, units, slices)  # first: it checks the places
    titles = {name: place["title"] for name, place in places.items()}
    titles |= {second: titles[first] for second, first in numbers.also.items()}
    data = told.get("data", "")
    protocols = {name: protocol(name, table, data) for name, table in told.get("protocols", {}).items()}
    known = {"protocols": protocols, "places": titles, "diagnostics": diagnostics, "slices": slices}
    made = tuple(one for table in told.get("experiments", []) for one in experiments(table, known))
    names = [(one.name, one.protocol) for one in made]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two experiments are called {twice[0]}.")
    return Paper(
        **{key: told[key] for key in plain},
        data=data,
        places=titles,
        published=numbers,
        protocols=protocols,
        diagnostics=diagnostics,
        experiments=made,
        stand_ins={name: tuple(sets) for name, sets in told.get("stand_ins", {}).items()},
    )
