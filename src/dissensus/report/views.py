"""What the figures show, as arrays: computed here, drawn in :mod:`dissensus.report.figures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus import metrics
from dissensus.evaluation import human_shares, plain_probs
from dissensus.metrics import METRICS, entropy
from dissensus.metrics.calibration import equal_mass
from dissensus.records import StoredRun
from dissensus.report.comparison import Comparison, Judgement, Measure, Panel
from dissensus.stats import Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Differences:
    """Score differences of every pair of methods, seed by seed."""

    title: str
    higher_is_better: bool
    margin: float
    pairs: tuple[tuple[str, str], ...]
    values: Floats  # (pairs, seeds), first minus second
    intervals: tuple[Interval, ...]
    winners: tuple[str | None, ...]


def differences(panel: Panel, judgement: Judgement) -> Differences:
    """The paired scores behind one judgement."""
    scores = panel.scores[judgement.measure]
    pairs = tuple((verdict.first, verdict.second) for verdict in judgement.verdicts)
    return Differences(
        title=judgement.measure.title,
        higher_is_better=bool(METRICS[judgement.rule.metric].higher_is_better),
        margin=judgement.rule.margin,
        pairs=pairs,
        values=np.array([scores[first] - scores[second] for first, second in pairs]),
        intervals=tuple(verdict.difference for verdict in judgement.verdicts),
        winners=tuple(verdict.winner for verdict in judgement.verdicts),
    )


@dataclass(frozen=True)
class ReliabilityCurve:
    """A reliability curve: how sure a method was, and how often that came true; as dots and as a line."""

    said: Floats  # (bins,)
    came_true: Floats  # (bins,)
    line_said: Floats  # (points,)
    line_came_true: Floats  # (points,), NaN where no item is near


def label_reliability(runs: Sequence[StoredRun]) -> ReliabilityCurve:
    """Confidence against accuracy over the items of all seeds: the bins of ECE, the line of smooth ECE."""
    probs = np.concatenate([best_probs(run) for run in runs])
    labels = np.concatenate([run.predictions["labels"] for run in runs])
    binned, smooth = metrics.reliability(probs, labels), metrics.smooth_reliability(probs, labels)
    return ReliabilityCurve(binned.confidence, binned.accuracy, smooth.confidence, smooth.accuracy)


def human_reliability(runs: Sequence[StoredRun], bins: int = 15) -> ReliabilityCurve:
    """Confidence against the share of annotators who chose the predicted class, in the same kind of bins."""
    probs = np.concatenate([best_probs(run) for run in runs])
    shares = np.concatenate([human_shares(run) for run in runs])
    top = probs.argmax(1)[:, None]
    confidence, share = (np.take_along_axis(rows, top, 1)[:, 0] for rows in (probs, shares))
    bin = equal_mass(confidence, bins)
    items = np.bincount(bin)
    said, came_true = np.bincount(bin, confidence) / items, np.bincount(bin, share) / items
    return ReliabilityCurve(said, came_true, said, came_true)


@dataclass(frozen=True)
class Entropies:
    """Entropy of the model's predictions against that of the humans, item by item and in bins."""

    method: str
    human: Floats  # (items,)
    model: Floats  # (items,)
    centres: Floats  # (bins,)
    quartiles: Floats  # (3, bins)
    correlation: float
    people: tuple[str, float] | None  # what they reach among themselves, by what that is called


def entropies(comparison: Comparison, panel: Panel, method: str, bins: int = 8) -> Entropies:
    """What the model of ``method`` makes of human disagreement, over the evaluation items of all seeds."""
    runs = finite(panel.runs[method])
    human = np.concatenate([entropy(human_shares(run)) for run in runs])
    model = np.concatenate([entropy(best_probs(run)) for run in runs])
    edges = np.unique(np.quantile(human, np.linspace(0, 1, bins + 1)))
    which = np.clip(np.searchsorted(edges, human, side="right") - 1, 0, max(len(edges) - 2, 0))
    members = [which == b for b in np.unique(which)]
    scores = panel.scores.get(Measure("entropy_correlation"), {}).get(method)
    limit = comparison.ceilings.get("entropy_correlation")
    return Entropies(
        method=method,
        human=human,
        model=model,
        centres=np.array([human[m].mean() for m in members]),
        quartiles=np.array([np.quantile(model[m], [0.25, 0.5, 0.75]) for m in members]).T,
        correlation=np.nan if scores is None else float(scores.mean()),
        people=None if limit is None else ("ceiling" if comparison.people.ceiling else "people", limit.mean),
    )


@dataclass(frozen=True)
class Learning:
    """Soft NLL of the evaluation items by epoch, over seeds, and where the best epoch lies."""

    epochs: Floats
    mean: Floats
    low: Floats
    high: Floats
    best_epoch: float
    best: float


def learning(runs: Sequence[StoredRun]) -> Learning:
    """The learning curve of one method: mean over seeds, with a band of one standard deviation."""
    curves = np.array([run.history["soft_nll"] for run in runs], np.float64)
    mean, spread = curves.mean(0), curves.std(0, ddof=1) if len(curves) > 1 else np.zeros(curves.shape[1])
    epochs = np.asarray(runs[0].history["epoch"], np.float64)
    bests = [int(run.predictions["best_epoch"]) for run in runs]
    at_best = [c[np.asarray(run.history["epoch"]) == e] for c, run, e in zip(curves, runs, bests, strict=True)]
    return Learning(
        epochs=epochs,
        mean=mean,
        low=mean - spread,
        high=mean + spread,
        best_epoch=float(np.mean(bests)),
        best=float(np.mean(np.concatenate(at_best))) if any(map(len, at_best)) else np.nan,
    )


@dataclass(frozen=True)
class ByVotes:
    """One measure by the number of votes the runs were given."""

    title: str
    panels: tuple[str, ...]  # numbers of votes, with a star where they were drawn with replacement
    intervals: Mapping[str, tuple[Interval | None, ...]]  # method -> one a panel


def by_votes(comparison: Comparison, measure: Measure) -> ByVotes:
    return ByVotes(
        title=measure.title,
        panels=tuple(panel.votes.split()[0] + "*" * (panel.redrawn is not None) for panel in comparison.panels),
        intervals={
            method: tuple(panel.interval(measure, method) for panel in comparison.panels)
            for method in comparison.methods
        },
    )


def finite(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs whose training did not diverge: only they can be drawn."""
    return [run for run in runs if np.isfinite(run.predictions["best_logits"]).all()]


def best_probs(run: StoredRun) -> Floats:
    """Predictions for the evaluation items at the best epoch."""
    return plain_probs(run, "best")
