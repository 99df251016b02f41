"""A paper, what it is repeated on, and a store: what would run, running it, and what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from dissensus.base.arrays import Labels
from dissensus.base.errors import InputError
from dissensus.base.words import many
from dissensus.datasets import Dataset
from dissensus.experiment.chosen import refuse_unknown
from dissensus.experiment.events import Event, Progress
from dissensus.experiment.papers import Cell, Evidence, Paper
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.lines import Models, drawn, joined, lines_of
from dissensus.experiment.reproduce.look import Look, looks_of
from dissensus.experiment.reproduce.partners import Comparable, comparable_on
from dissensus.experiment.reproduce.plans import plans_of
from dissensus.experiment.reproduce.setting import Setting, outside_images
from dissensus.experiment.reproduce.standing import Left, Standing, diverged_of, standing, times
from dissensus.experiment.sweep import Outcome, Say, compare
from dissensus.records import RunStore, StoredRun


@dataclass(frozen=True)
class Reproduction:
    """One paper in one setting."""

    paper: Paper
    setting: Setting
    data: Dataset
    store: RunStore
    before: Evidence = field(default_factory=lambda: Evidence({}))  # what results tell of already
    to_merge: bool = False  # the store with one that has the runs that results tell of

    @classmethod
    def open(
        cls,
        paper: Paper,
        setting: Setting,
        store: RunStore,
        before: Evidence | None = None,
        to_merge: bool = False,
    ) -> Reproduction:
        return cls(paper, setting, setting.source.load(), store, before or Evidence({}), to_merge)

    @cached_property
    def plans(self) -> dict[Cell, Plan]:
        """Of all trainings, each once."""
        seeds = self.setting.seeds
        cells = [cell for cell in self.paper.cells() if seeds is None or cell.seed < seeds]
        return plans_of(cells, self.paper, self.setting, self.data)

    @cached_property
    def looks(self) -> dict[str, Look]:
        return looks_of(self.plans, self.paper, self.setting.effort, Models.beside(self.store))

    @cached_property
    def comparable(self) -> Comparable:
        """Whether the evaluation items of two trainings have enough in common to compare the models on them."""
        return comparable_on(self.data)

    def own_labels(self, run: StoredRun) -> Labels | None:
        """The data set's own label of each evaluation item of a run, where it has any."""
        if self.data.labels is None:
            return None
        places = {str(item): place for place, item in enumerate(self.data.votes.items)}
        return self.data.labels[[places[item] for item in run.predictions["ids"]]]

    @cached_property
    def planned(self) -> Evidence:
        """Of what results tell, that which is still planned so."""
        names = {cell: plan.name for cell, plan in self.plans.items()}
        return self.before.only({run for run, cell in self.before.runs.items() if names.get(cell, run) == run})

    def recorded(self) -> Evidence:
        """Of that, what the store does not say itself, and what is true of its runs: they may have been made again."""
        from dissensus.experiment.reproduce.collect import about

        if not self.planned.runs:
            return self.planned
        runs = self.runs()
        stored = Evidence(
            {run.name: cell for cell, run in runs.items()}, {run.name: about(cell, run) for cell, run in runs.items()}
        )
        return self.planned.joined(stored)

    @property
    def stale(self) -> int:
        """How many runs results tell of that are planned otherwise by now: of another recipe, model or version."""
        return len(self.before.runs) - len(self.planned.runs)

    def runs(self) -> dict[Cell, StoredRun]:
        """Of the trainings, those that are in the store."""
        return {cell: self.store.read(plan.name) for cell, plan in self.plans.items() if plan.name in self.store}

    def wanted(
        self, only: Sequence[str] = (), protocol: str | None = None, seeds: Collection[int] | None = None
    ) -> list[Cell]:
        """The trainings of these tables, figures or experiments; of all, where none is named.

        With them come those that lie at the other ends of their lines, since a seed's lines are drawn together.
        """
        return wanted_of(self.paper, self.plans, only, protocol, seeds)

    def standing(self, cells: Iterable[Cell]) -> Standing:
        """How far these trainings are."""
        plans = {cell: self.plans[cell] for cell in cells}
        found = self.recorded()
        return standing(plans, self.looks, self.paper, self.store, found, self.comparable, self.to_merge)

    def left(self, now: Standing) -> Left:
        """How long what is left takes."""
        known = times(now, self.store)
        seconds, looks = known.left(now)
        return Left(seconds, looks, len(now.left) if seconds is None else 0, known.source)

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
        """Make what is left, as :func:`~dissensus.experiment.compare` does: it can be killed, and called again.

        The recipe is the paper's, so a run that diverges is an outcome, kept as such and not made again: a GPU does not
        repeat itself, and another try would be a choice among outcomes.
        """
        later = set(self._postponed(now, budget))
        chosen = [plan for cell, plan in now.plans.items() if cell not in later | now.recorded]
        self._refuse_no_images(now.plans[cell] for cell in now.left if cell not in later)
        for cell, why in now.again.items():
            if say is not None:
                say(f"{cell.words} is made again: {why}")
            if (name := now.plans[cell].name) in self.store:  # else only results tell of it
                self.store.remove(name)
        self._forget_lost({now.plans[cell].name for cell in now.left})
        protocols = {plan.name: cell.protocol for cell, plan in now.plans.items()}

        def named(event: Event) -> Event:
            return replace(event, protocol=protocols[event.run])

        try:
            outcome = compare(
                chosen,
                self.setting.source,
                self.store,
                jobs,
                None if progress is None else lambda event: progress(named(event)),
                width=width,
                budget=budget,
                say=say,
                diagnose=self.looks,
                keep_diverged=True,
            )
        finally:
            self.forget_models()
        left = (*outcome.left, *(now.plans[cell].name for cell in later))
        failed, diverged = (tuple(map(named, events)) for events in (outcome.failed, outcome.diverged))
        return replace(outcome, failed=failed, diverged=diverged, left=left)

    def _refuse_no_images(self, left: Iterable[Plan]) -> None:
        """Sets of images to look at must be there and fit; to learn that after the first training would be late."""
        looks = [look for plan in left if (look := self.looks.get(plan.name)) is not None]
        for name in dict.fromkeys(name for look in looks for name in look.outside):
            try:
                outside_images(name, self.data.array, self.setting.effort)
            except InputError as error:
                for_it = many(sum(name in look.outside for look in looks), "run")
                raise InputError(
                    f"{for_it} would be looked into with images of {name}, but {str(error).rstrip('.')}. Lay them into "
                    f"the data folder as ood/{name}.npz, with an array images (items, height, width, 3)."
                ) from None

    def _forget_lost(self, left: Collection[str]) -> None:
        """Delete weights of runs that are still to be made, and lines to them: another model will have their names.

        A process was killed when it had looked into the model and before it had kept the run, or the run was removed.
        """
        lost = {name for name in left if not self.store.busy(name)}
        models = Models.beside(self.store)
        for name in lost & set(models.runs()):
            models.forget(name)
        for cell in {cell for line in lines_of(self.plans, self.paper) for cell in line.ends}:
            if (name := self.plans[cell].name) in self.store:
                run = self.store.read(name)
                found = run.diagnostics()
                if len(true := [one for one in found if one.other not in lost]) < len(found):
                    run.write_diagnostics(true)

    def forget_models(self) -> None:
        """Delete weights that no line needs any more."""
        models = Models.beside(self.store)
        kept = set(models.runs())
        if not kept:
            return
        waiting, recorded = set(), self.recorded()
        whole = self.plans.keys() - diverged_of(self.plans, self.store, recorded)
        for line in lines_of(whole, self.paper):
            names = {self.plans[cell].name for cell in line.ends}
            if names & kept and not drawn(line, self.plans, self.store, recorded):
                waiting |= names
        for run in kept - waiting:
            models.forget(run)

    def _postponed(self, now: Standing, budget: float | None) -> Iterator[Cell]:
        """Trainings at the ends of lines that would not all be done in time, though they would be in another call."""
        known = times(now, self.store)
        if budget is None or known.training is None:
            return
        ends = {cell for line in lines_of(now.plans, self.paper) for cell in line.ends}
        spent = 0.0
        for (_, together), cells in groupby(now.left, key=lambda cell: (cell.seed, cell in ends)):
            group = list(cells)
            seconds, _ = known.left(replace(now, plans={cell: now.plans[cell] for cell in group}))
            if together and seconds is not None and spent < budget < spent + seconds and seconds < budget:
                yield from group
            else:
                spent += seconds or 0.0

    def collect(self) -> Evidence:
        """What was measured in all runs of the paper that are in the store, and what results tell of others."""
        from dissensus.experiment.reproduce.collect import collect

        return self.planned.joined(collect(self))


def wanted_of(
    paper: Paper,
    planned: Collection[Cell],
    only: Sequence[str] = (),
    protocol: str | None = None,
    seeds: Collection[int] | None = None,
) -> list[Cell]:
    """The planned trainings of these tables, figures or experiments, with those at the other ends of their lines."""
    refuse_unknown(paper, only)
    cells = [
        cell
        for one in paper.of(protocol)
        if not only or {one.name, *one.feeds} & set(only)
        for cell in one.cells()
        if cell in planned and (seeds is None or cell.seed in seeds)
    ]
    if not cells:
        have = sorted({cell.seed for cell in planned})
        raise InputError(
            f"nothing is run for that: {', '.join(only) or 'the paper'} under the protocol {protocol or 'any'}, "
            f"with seeds among {have[0]} to {have[-1]}."
        )
    return _in_order(joined(cells, paper), paper)


def _in_order(cells: Iterable[Cell], paper: Paper) -> list[Cell]:
    """Those first that lie at the ends of lines, so that they go side by side; then those whose seeds are compared with
    one another, so that one store has them all; then the others. Each seed by seed.
    """
    listed = list(cells)
    ends = {cell for line in lines_of(listed, paper) for cell in line.ends}
    over_seeds = {cell for cell in listed if {"cka", "gradcam"} & paper.diagnostics_of(cell).keys()}
    return sorted(listed, key=lambda cell: (cell not in ends, cell not in over_seeds | ends, cell.seed))
