"""Runs in, judged numbers out: what the tables, the figures and the page show.

Runs that differ in the method alone are compared, seed by seed. Runs that differ in the number of votes they were given
stand in panels of their own. Runs that differ in anything else (data, split, model, recipe) do not belong in one
comparison, and :func:`collect` says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.base.words import listed
from dissensus.evaluation import records_of
from dissensus.metrics import METRICS, Estimate
from dissensus.records import StoredRun
from dissensus.report.pairing import Group, occurring, pair
from dissensus.report.phrases import phrase
from dissensus.report.references import People, ceilings, class_shares, floors, people
from dissensus.report.rules import ALPHA, RULES, Rule
from dissensus.report.the_votes import TheVotes
from dissensus.stats import Interval, Verdict, bootstrap, fewest_seeds, judge
from dissensus.votes import Votes

Scores: TypeAlias = NDArray[np.float64]  # (seeds,), one number a seed

# What tables for people show, from what the rules judge to what it must not cost; files hold every metric.
HEADLINE = ("kl", "soft_nll", "entropy_correlation", "soft_brier", "js_distance", "wasserstein", "accuracy", "ece")


class Measure(NamedTuple):
    """What a score says: which metric, of which checkpoint, before or after a temperature, against whom."""

    metric: str
    tempered: bool = False
    checkpoint: str = "best"
    against: str = "human"

    @property
    def title(self) -> str:
        """The measure in words.

        >>> Measure("kl", tempered=True).title, Measure("entropy_correlation").title
        ('KL after temperature', 'Entropy correlation')
        """
        spelt = "Entropy correlation" if self.metric == "entropy_correlation" else METRICS[self.metric].title
        return spelt + (" after temperature" if self.tempered else "")


@dataclass(frozen=True)
class Judgement:
    """One rule applied to one panel at one checkpoint."""

    rule: Rule
    checkpoint: str
    seeds: int
    verdicts: tuple[Verdict, ...]
    unfit: tuple[str, ...]  # methods without a finite score in every seed, which no test can rank

    @property
    def measure(self) -> Measure:
        return Measure(self.rule.metric, self.rule.tempered, self.checkpoint)

    @property
    def seeds_needed(self) -> int:
        """The fewest seeds with which any of the pairs could ever be told apart."""
        return fewest_seeds(len(self.verdicts), alpha=ALPHA)

    @property
    def hopeless(self) -> bool:
        """Too few seeds to ever reject, whatever the scores are; where they differ at all."""
        return bool(self.verdicts) and self.seeds < self.seeds_needed and not self.identical

    @property
    def identical(self) -> bool:
        """Whether no seed tells any two methods apart: with one vote an item, all of them show the learner the same."""
        return all(one.difference.low == one.difference.high == 0 for one in self.verdicts)

    @property
    def best(self) -> tuple[str, ...]:
        """The methods that beat another one and are beaten by none."""
        winners = {verdict.winner for verdict in self.verdicts if verdict.winner}
        losers = {v.second if v.winner == v.first else v.first for v in self.verdicts if v.winner}
        return tuple(sorted(name for name in winners - losers if name))

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, with the metric's name in front."""
        return f"{self.measure.title}: {self.words}."

    @property
    def words(self) -> str:
        return "; ".join(self._clauses())

    def _clauses(self) -> Iterable[str]:
        if self.unfit:
            is_are = "is" if len(self.unfit) == 1 else "are"
            yield f"{listed(self.unfit)} {is_are} not judged, since not every seed has a finite score"
        if self.seeds < 2:
            yield "one seed decides nothing"
        elif self.verdicts and self.identical:
            methods = dict.fromkeys(name for one in self.verdicts for name in (one.first, one.second))
            yield f"{listed(list(methods))} have the same score in every seed"
        elif self.verdicts:
            yield phrase(self.verdicts)
        elif not self.unfit:
            yield "there is only one method, so nothing to compare"


@dataclass(frozen=True)
class Panel:
    """The methods that were given equally many votes, over the seeds that all of them share."""

    votes: str  # "all votes", "5 votes an item", "2 votes an item, drawn with replacement"
    seeds: tuple[str, ...]
    runs: Mapping[str, tuple[StoredRun, ...]]  # method -> one run a seed
    scores: Mapping[Measure, Mapping[str, Scores]]  # measure -> method -> one number a seed
    judgements: tuple[Judgement, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self.runs)

    @property
    def slug(self) -> str:
        """The panel's name in file names.

        >>> Panel("5 votes an item, drawn with replacement", (), {}, {}, ()).slug
        '5-votes-an-item-drawn-with-replacement'
        """
        return re.sub("[^a-z0-9]+", "-", self.votes.lower())

    @property
    def plan(self) -> Mapping[str, Any]:
        """Of its first run; all have its votes and its draw."""
        return next(iter(self.runs.values()))[0].plan

    @property
    def redrawn(self) -> int | None:
        """So many votes an item were drawn with replacement; None where they are real votes, each at most once."""
        number = self.plan["votes"]
        return None if number == "all" or self.plan.get("draw") != "resample" else int(number)

    @cached_property
    def cross_fitted(self) -> bool:
        """No items were set aside: the checkpoint was chosen, and the temperature fitted, on the evaluation items."""
        return any("select_ids" not in run.predictions for runs in self.runs.values() for run in runs)

    @cached_property
    def intervals(self) -> dict[Measure, dict[str, Interval]]:
        """Mean over seeds with an interval, whose bounds are NaN for one seed and for infinite scores."""
        return {
            measure: {method: mean_interval(values) for method, values in methods.items()}
            for measure, methods in self.scores.items()
        }

    def interval(self, measure: Measure, method: str) -> Interval | None:
        return self.intervals.get(measure, {}).get(method)

    def judgement(self, measure: Measure) -> Judgement | None:
        return next((judgement for judgement in self.judgements if judgement.measure == measure), None)


@dataclass(frozen=True)
class Comparison:
    """Methods compared on one data set, with one model and one recipe."""

    data: str
    setting: Mapping[str, Any]  # what all plans share, by dotted name
    panels: tuple[Panel, ...]
    ceilings: Mapping[str, Estimate]  # metric -> half of the annotators predict the other half
    people: People  # what the ceilings are; with few votes they are none
    floors: Mapping[str, Estimate]  # metric -> a perfect model, scored on this number of items and votes
    class_shares: Mapping[str, Estimate]  # metric -> a model that says the shares of the classes of every item
    notes: tuple[str, ...]  # what a reader has to know: seeds left out, rules that could not be kept
    source: Mapping[str, Any]  # where the data came from
    varying: Mapping[str, Sequence[Any]]  # all values that plans have where they may differ, by dotted name
    votes: TheVotes | None = None  # all of them; None where they are not at hand, and the runs do not know

    @property
    def title(self) -> str:
        """The data as a reader knows them: by name, or by one's own votes file."""
        return PurePath(self.source.get("votes") or "").name or self.data

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(method for panel in self.panels for method in panel.methods))

    @property
    def references(self) -> dict[str, Mapping[str, Estimate]]:
        """What scores are held against, by its name in tables."""
        told = {self.people.name: self.ceilings, "noise floor": self.floors, "class shares": self.class_shares}
        return {name: found for name, found in told.items() if found}

    def short_of(self, panel: Panel) -> str | None:
        """How many items have fewer votes than were drawn from them; None where that is none, or not known."""
        if panel.redrawn is None or self.votes is None or not (few := self.votes.glance.fewer_than(panel.redrawn)):
            return None
        have = "has" if few == 1 else "have"
        which = "only one" if panel.redrawn == 2 else f"fewer than {panel.redrawn}"
        return f"{few:,} of {self.votes.glance.items:,} items {have} {which}"

    def title_of(self, panel: Panel) -> str:
        """The votes that its runs were given, and what of them is there twice."""
        return "; ".join(filter(None, (panel.votes, self.short_of(panel))))

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        return tuple(run for panel in self.panels for runs in panel.runs.values() for run in runs)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words: one sentence a rule, for every number of votes."""
        return tuple(
            judgement.sentence if len(self.panels) == 1 else f"{panel.votes.capitalize()}. {judgement.sentence}"
            for panel in self.panels
            for judgement in panel.judgements
            if judgement.checkpoint == "best"
        )


def collect(
    runs: Iterable[StoredRun],
    where: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    votes: Votes | None = None,
) -> Comparison:
    """Pair, score and judge ``runs``; ``where`` keeps those whose plans have these values, by dotted name.

    ``source`` is where the data are now, if that is known: a run is known by their content, and tells of the files that
    it was made from, whatever they are called today. So do the ``votes``, which the runs know as they were read then.

    ``collect(store.read(name) for name in store.names())`` compares a whole store, and
    ``collect(runs, where={"data.name": "glyphs"})`` one data set of it.
    """
    setting, groups = pair(runs, where)
    panels = tuple(_panel(group) for group in groups)
    notes = [note for group in groups for note in group.left_out]
    for panel in panels:
        if needed := max((one.seeds_needed for one in panel.judgements if one.hopeless), default=0):
            place = f"with {panel.votes}" if len(panels) > 1 else "here"
            notes.append(f"{len(panel.seeds)} seeds can never show a difference {place}, {needed} could.")
    notes += [note for panel in panels for note in same_predictions(panel, several=len(panels) > 1)]
    if any(panel.cross_fitted for panel in panels):
        notes.append(
            "No items were set aside for selection: the best checkpoint was chosen on the evaluation items themselves, "
            "and temperatures were cross-fitted over two halves of them. Trust the last epoch more than the best one."
        )
    # The votes on the evaluation items are the same for all methods and panels of a seed.
    one_a_seed = next(iter(max(panels, key=lambda panel: len(panel.seeds)).runs.values()))
    shown = [metric for metric in HEADLINE if Measure(metric) in panels[0].scores]
    shares, limits = class_shares(one_a_seed, shown), ceilings(one_a_seed, shown)
    notes += [note for panel in panels if (note := learned_little(panel, shares))]
    every = [run for panel in panels for runs in panel.runs.values() for run in runs]
    whence = every[0].source if source is None else source
    return Comparison(
        data=str(setting["data.name"]),
        setting=setting,
        panels=panels,
        ceilings=limits,
        people=people(one_a_seed, limits, shares),
        floors=floors(one_a_seed, shown),
        class_shares=shares,
        notes=tuple(notes),
        source=whence,
        varying=occurring(every),
        votes=TheVotes.recorded(every) if votes is None else TheVotes.of(votes, whence),
    )


def learned_little(panel: Panel, shares: Mapping[str, Estimate]) -> str | None:
    """A note where no method, even after a temperature, says more of an item than how frequent the classes are."""
    rule = next(rule for rule in RULES if rule.metric == "kl" and rule.tempered)
    scores = panel.scores.get(Measure(rule.metric, rule.tempered))
    if scores is None or rule.metric not in shares:
        return None
    lowest = min((mean for values in scores.values() if np.isfinite(mean := float(np.mean(values)))), default=None)
    if lowest is None or shares[rule.metric].mean - lowest >= rule.margin:
        return None
    return (
        f"With {panel.votes} no method has learned much: the lowest KL after a temperature is {lowest:.3f}, and saying "
        f"the shares of the classes of every item scores {shares[rule.metric].mean:.3f}. The verdicts compare models "
        "that hardly see the item; a better model, other inputs or more items come first."
    )


def same_predictions(panel: Panel, several: bool = False) -> list[str]:
    """A note on methods whose models say the same of every item in every seed: as methods they are one."""
    alike: dict[bytes, list[str]] = {}
    for method, runs in panel.runs.items():
        said = [run.predictions[name] for run in runs for name in ("best_logits", "last_logits")]
        if all(np.isfinite(logits).all() for logits in said):  # models that diverged say nothing
            alike.setdefault(hashlib.sha256(b"".join(map(np.ndarray.tobytes, said))).digest(), []).append(method)
    where = f"With {panel.votes} " if several else ""
    return [
        f"{where}{listed(methods)} gave the same predictions, bit for bit, in every seed: they trained alike, whatever "
        "their names say, and are the same for that reason."
        for methods in alike.values()
        if len(methods) > 1
    ]


def mean_interval(values: Scores) -> Interval:
    """Mean over seeds with its interval, or with NaN bounds where there is none.

    >>> mean_interval(np.array([0.25]))
    Interval(mean=0.25, low=nan, high=nan, level=0.95)
    """
    if len(values) < 2 or not np.isfinite(values).all():
        mean = np.inf if np.isposinf(values).any() else float(np.mean(values))
        return Interval(mean, np.nan, np.nan)
    return bootstrap(values)


def _panel(group: Group) -> Panel:
    scores = _scores(group.runs)
    judgements = tuple(
        _judgement(rule, checkpoint, values, len(group.seeds))
        for checkpoint in ("best", "last")
        for rule in RULES
        if (values := scores.get(Measure(rule.metric, rule.tempered, checkpoint))) is not None
    )
    return Panel(group.votes, group.seeds, group.runs, scores, judgements)


def _scores(runs: Mapping[str, tuple[StoredRun, ...]]) -> dict[Measure, dict[str, Scores]]:
    scores: dict[Measure, dict[str, Scores]] = {}
    for method, paired in runs.items():
        by_run = [
            {Measure(r.metric, r.tempered, r.checkpoint, r.against): r.value for r in records_of(run)} for run in paired
        ]
        for measure in by_run[0]:
            if all(measure in values for values in by_run):
                scores.setdefault(measure, {})[method] = np.array([values[measure] for values in by_run], np.float64)
    return scores


def _judgement(rule: Rule, checkpoint: str, values: Mapping[str, Scores], seeds: int) -> Judgement:
    fit = {method: scores for method, scores in values.items() if np.isfinite(scores).all()}
    higher = bool(METRICS[rule.metric].higher_is_better)
    verdicts = judge(fit, margin=rule.margin, higher_is_better=higher, alpha=ALPHA) if seeds > 1 else []
    return Judgement(rule, checkpoint, seeds, tuple(verdicts), unfit=tuple(m for m in values if m not in fit))
