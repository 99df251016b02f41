"""From a store to evidence: every number, history and line of the runs of a paper, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.base.errors import InputError
from dissensus.diagnostics.proposition import proposition_deviation
from dissensus.evaluation import human_shares, plain_probs, records_of
from dissensus.experiment.budget import took
from dissensus.experiment.papers import Cell, Curve, Evidence, RunCurve, RunNumber
from dissensus.experiment.reproduce.across import across_seeds
from dissensus.experiment.reproduce.gains import Gains
from dissensus.experiment.reproduce.lines import lines_of
from dissensus.experiment.reproduce.yardsticks import YARDSTICK, entropy_gaps, yardsticks
from dissensus.experiment.subject import dynamics_of
from dissensus.metrics import entropy, smooth_reliability
from dissensus.metrics.calibration import equal_mass
from dissensus.models.text.encoder import PACKAGED
from dissensus.records import CHECKPOINTS, Checkpoint, StoredRun

if TYPE_CHECKING:
    from dissensus.experiment.reproduce.reproduction import Reproduction

GRID = 101  # points of a smooth reliability diagram
BINS = 10  # of items by their entropy
LEFT_OUT = "seconds"  # of a history: no two machines agree on it

Runs = Mapping[Cell, StoredRun]
Found = Iterator[RunNumber | RunCurve]


def collect(of: Reproduction) -> Evidence:
    """What was measured in all runs of the paper that are in the store."""
    runs = of.runs()
    found = [one for cell, run in runs.items() for one in _of_run(cell, run, of)]
    if any("sparse_target" in one.diagnostics for one in of.paper.experiments):
        gains = Gains(of.data, of.paper)
        found += [one for cell in runs for one in gains(cell, runs)]
    found += [*across_seeds(runs), *_barriers(runs, of)]
    return Evidence(
        {run.name: cell for cell, run in runs.items()},
        {run.name: about(cell, run) for cell, run in runs.items()},
        [one for one in found if isinstance(one, RunNumber)],
        {
            run.name: {name: told for name, told in run.history.items() if name != LEFT_OUT}
            for run in runs.values()
            if run.diverged is None
        },
        [one for one in found if isinstance(one, RunCurve)],
    )


def about(cell: Cell, run: StoredRun) -> dict[str, Any]:
    """Where and how a run was made; of the seconds, its share of a device that several runs used at once.

    ``given`` is how many votes an item had, where its protocol gives so few as all.
    """
    told, packages = run.about, run.about.get("packages", {})
    spent = took(run)
    found = {
        "data": run.plan["data"]["name"],
        "model": model_told(run.plan["model"]),
        "version": told.get("dissensus"),
        "commit": told.get("commit"),
        "torch": packages.get("torch"),
        "device": told.get("device"),
        "precision": run.plan["recipe"].get("precision"),
        "seconds": round(spent.share + spent.looking, 3),
        "given": run.plan["votes"] if run.plan["votes"] != cell.votes else None,
        "diverged": run.diverged,
    }
    return {name: value for name, value in found.items() if value is not None}  # as files have it


def model_told(model: Mapping[str, Any]) -> str:
    """Its name, and where it reads texts by another encoder than the default one, that one's.

    >>> model_told({"name": "frozen", "encoder": "all-MiniLM-L6-v2"}), model_told({"name": "frozen", "encoder": "mine"})
    ('frozen', 'frozen, mine')
    """
    encoder = model.get("encoder")
    return str(model["name"]) if encoder in (None, PACKAGED) else f"{model['name']}, {encoder}"


def _of_run(cell: Cell, run: StoredRun, of: Reproduction) -> Found:
    if _in_full(cell):
        yield from yardsticks(run, cell.method == YARDSTICK)  # of the items, so of a run that diverged as well
    if run.diverged is not None:
        return
    for record in records_of(run):
        if record.against == "human":
            yield RunNumber(run.name, record.metric, record.value, record.checkpoint, record.tempered)
    yield from _dynamics(run)
    yield from entropy_gaps(run)
    for one in run.diagnostics():
        if one.weights and one.other not in of.looks:  # lines between runs are told below, from one end to the other
            yield RunNumber.of(run.name, one)
    human = human_shares(run)
    for checkpoint in CHECKPOINTS:
        if np.isfinite(run.predictions[f"{checkpoint}_logits"]).all():
            yield from _at(checkpoint, cell, run, human, of)


def _at(checkpoint: Checkpoint, cell: Cell, run: StoredRun, human: Any, of: Reproduction) -> Found:
    """What the predictions of an epoch say beyond the metrics."""
    probs = plain_probs(run, checkpoint)
    yield RunNumber(run.name, "proposition1_deviation", proposition_deviation(probs, human), checkpoint)
    if (own := of.own_labels(run)) is not None:
        yield RunNumber(run.name, "label_accuracy", float((probs.argmax(1) == own).mean()), checkpoint)
    if of.setting.reliability and _in_full(cell):
        curve = smooth_reliability(probs, run.predictions["labels"], GRID)
        near = np.isfinite(curve.accuracy)
        yield RunCurve(run.name, "reliability", Curve(curve.confidence[near], curve.accuracy[near]), checkpoint)
    if (variance := run.predictions.get(f"{checkpoint}_gradient_variance")) is not None:
        yield RunCurve(run.name, "gradient_variance_by_entropy", _binned(entropy(human), variance), checkpoint)


def _in_full(cell: Cell) -> bool:
    """All votes, every label for one epoch, and no second run of its seed."""
    return (cell.votes, cell.hold, cell.reorder) == ("all", 1, 0)


def _dynamics(run: StoredRun) -> Found:
    try:
        found = dynamics_of(run.history, len(run.predictions["counts"]))
    except InputError:  # the run diverged, and got nowhere
        return
    yield from (RunNumber.of(run.name, one) for one in found)


def _binned(by: Any, values: Any) -> Curve:
    """Means in bins of about equally many items; those that are alike stay in one bin."""
    which = equal_mass(np.asarray(by), BINS)
    items = np.bincount(which)
    return Curve(np.bincount(which, by) / items, np.bincount(which, values) / items)


def _barriers(runs: Runs, of: Reproduction) -> Found:
    """Lines from their first to their second run, whichever of the two was made last and has the numbers.

    Two that were looked into at the same time both drew the line; it is told once.
    """
    for line in lines_of(runs, of.paper):
        first, second = runs[line.first], runs[line.second]
        told = set()
        for here, there, turned in ((first, second, False), (second, first, True)):
            for one in here.diagnostics():
                if one.other == there.name and (one.name, one.weights) not in told:
                    told.add((one.name, one.weights))
                    yield replace(RunNumber.of(first.name, one), other=second.name)
                    losses = here.predictions.get(f"{one.weights}_{one.name}_{there.name}")
                    if losses is not None:
                        curve = Curve(np.linspace(0, 1, len(losses)), losses[::-1] if turned else losses)
                        yield RunCurve(first.name, one.name, curve, one.weights, other=second.name)
