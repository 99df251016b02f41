"""A paper that is repeated on several data sets and with several models: a reproduction each, in one store."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from dissensus.base.errors import InputError, unknown
from dissensus.datasets import Dataset
from dissensus.experiment.chosen import refuse_unknown
from dissensus.experiment.defaults import Defaults, defaults_for
from dissensus.experiment.events import Progress
from dissensus.experiment.papers import SMOKE_SEEDS, Cell, Evidence, Paper, Protocol
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.reproduction import Reproduction
from dissensus.experiment.reproduce.setting import Setting
from dissensus.experiment.reproduce.standing import Left, Standing
from dissensus.experiment.source import Source
from dissensus.experiment.sweep import Outcome, Say
from dissensus.records import RunStore, StoredRun

SMALL = Source(name="glyphs", options={"items": 160, "votes": 75})
TRIED = ("cifar10h-small-cnn", "chaosnli-snli-frozen")  # by a small test: one with five votes, one with a sweep


@dataclass(frozen=True)
class Several:
    """One reproduction for each protocol, and their sum: it is asked and told as :class:`Reproduction` is."""

    paper: Paper
    parts: Mapping[str, Reproduction]  # by protocol
    store: RunStore
    before: Evidence = field(default_factory=lambda: Evidence({}))  # what results tell of already

    @classmethod
    def open(
        cls,
        paper: Paper,
        store: RunStore,
        protocols: Collection[str],
        small: bool = False,
        before: Evidence | None = None,
        to_merge: bool = False,
        encoder: str | None = None,
    ) -> Several:
        """Of these protocols; ``small`` with a small model on embedded data, and few seeds.

        ``encoder`` is where one of texts lies, if it is not the default one.
        """
        before = before or Evidence({})
        told = {name: Source(name=paper.protocols[name].data, encoder=encoder) for name in protocols}
        sources = dict.fromkeys(protocols, SMALL) if small else told
        loaded = {source.name: source.load() for source in {one.name: one for one in sources.values()}.values()}
        parts = {}
        for name, source in sources.items():
            data = loaded[source.name]
            setting = small_setting(name) if small else full_setting(paper.protocols[name], source, data)
            known = before.only({run for run, cell in before.runs.items() if cell.protocol == name})
            parts[name] = Reproduction(paper.under([name]), setting, data, store, known, to_merge)
        return cls(paper, parts, store, before)

    @cached_property
    def plans(self) -> dict[Cell, Plan]:
        return {cell: plan for part in self.parts.values() for cell, plan in part.plans.items()}

    @property
    def stale(self) -> int:
        """How many runs results tell of that are planned otherwise by now."""
        return sum(part.stale for part in self.parts.values())

    def runs(self) -> dict[Cell, StoredRun]:
        """Of the trainings, those that are in the store."""
        return {cell: run for part in self.parts.values() for cell, run in part.runs().items()}

    def wanted(
        self, only: Sequence[str] = (), protocol: str | None = None, seeds: Collection[int] | None = None
    ) -> list[Cell]:
        """The trainings of these tables, figures or experiments; of all, where none is named."""
        refuse_unknown(self.paper, only)
        found = []
        for name, part in self.parts.items():
            feeds = {place for one in part.paper.experiments for place in (one.name, *one.feeds)}
            if not only or feeds & set(only):
                here = [place for place in only if place in feeds]
                found += part.wanted(here, name, seeds)
        if not found:
            raise InputError(f"nothing is run for that: {', '.join(only)} under {protocol or 'any protocol'}.")
        return found

    def standing(self, cells: Iterable[Cell]) -> Standing:
        """How far these trainings are."""
        several = (part.standing(mine) for part, mine in self._shared_out(cells))
        return reduce(Standing.joined, several, Standing({}, {}, frozenset(), {}))

    def left(self, now: Standing) -> Left:
        """How long what is left takes: the sum of what is known."""
        several = [part.left(part.standing(mine)) for part, mine in self._shared_out(now.left)]
        known = [one for one in several if one.seconds is not None]
        return Left(
            sum(one.seconds or 0.0 for one in known) if known else None,
            sum(one.looks for one in several),
            sum(one.runs for one in several),
            "; ".join(dict.fromkeys(one.source for one in known or several)),
        )

    def carry_out(
        self,
        now: Standing,
        *,
        budget: float | None = None,
        jobs: int = 2,
        width: int = 4,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Outcome:
        """Make what is left, one data set and model after the other."""
        end = None if budget is None else time.monotonic() + budget
        made = Outcome((), (), ())
        for part, mine in self._shared_out(now.plans):
            here = part.standing(mine)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                one = Outcome((), (), (), tuple(here.plans[cell].name for cell in here.left))
            else:
                one = part.carry_out(here, budget=left, jobs=jobs, width=width, progress=progress, say=say)
            made = made.and_then(one)
        return made

    def collect(self) -> Evidence:
        """What was measured in all runs of the paper that are in the store, and what results tell of others."""
        found = self.before.only({run for run, cell in self.before.runs.items() if cell.protocol not in self.parts})
        for part in self.parts.values():
            found = found.joined(part.collect())
        return found

    def _shared_out(self, cells: Iterable[Cell]) -> list[tuple[Reproduction, list[Cell]]]:
        by_protocol: dict[str, list[Cell]] = {}
        for cell in cells:
            by_protocol.setdefault(cell.protocol, []).append(cell)
        return [(self.parts[name], mine) for name, mine in by_protocol.items()]


def protocols_like(paper: Paper, given: str | None) -> list[str]:
    """Those that are called so, or that are of a data set or a model that is: all, where none is named.

    >>> from dissensus.experiment.papers import read_paper
    >>> protocols_like(read_paper("soft-labels"), "hs-brexit")
    ['hs-brexit-frozen', 'hs-brexit-fine-tuned']
    >>> len(protocols_like(read_paper("soft-labels"), "frozen"))
    6
    """
    if given is None:
        return list(paper.protocols)
    if given in paper.protocols:
        return [given]
    found = [name for name in paper.protocols if name.startswith(f"{given}-") or name.endswith(f"-{given}")]
    if not found:
        raise InputError(unknown("protocol", given, paper.protocols))
    return found


def of_texts(paper: Paper, protocols: Sequence[str]) -> list[str]:
    """Those of these protocols whose model reads texts.

    >>> from dissensus.experiment.papers import read_paper
    >>> of_texts(read_paper("soft-labels"), ["cifar10h-resnet18", "hs-brexit-frozen"])
    ['hs-brexit-frozen']
    """
    from dissensus.models.text import TEXT_MODELS

    found = [name for name in protocols if paper.protocols[name].model in TEXT_MODELS]
    if not found:
        raise InputError(f"an encoder is for texts, but {', '.join(protocols)} has none.")
    return found


def full_setting(protocol: Protocol, source: Source, data: Dataset) -> Setting:
    """The data set, model and recipe that a protocol names."""
    default = defaults_for(protocol.data, data, protocol.model or None)
    recipe = {**default.recipe, **protocol.recipe}
    return Setting(source, Defaults(protocol.model or default.model, recipe), reliability=False)


def small_setting(protocol: str) -> Setting:
    """Runs of a second. No two protocols are the same runs: each is a little slower than the one before."""
    recipe = {"epochs": 2, "batch_size": 64, "lr": 0.05 + 1e-4 * sum(map(ord, protocol))}
    return Setting(SMALL, Defaults("small-cnn", recipe), seeds=SMOKE_SEEDS, reliability=False)
