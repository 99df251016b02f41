"""Where a hard delivery gains over soft labels: on which items, set against how far their few votes are off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dissensus.datasets import Dataset
from dissensus.diagnostics.sparse_target import sparse_target
from dissensus.experiment.pairs import relations_of
from dissensus.experiment.papers import Cell, Curve, Paper, RunCurve, RunNumber
from dissensus.experiment.papers.evidence import Where
from dissensus.experiment.parts import given_votes, parts, sparse_targets
from dissensus.experiment.reproduce.partners import soft_partner
from dissensus.experiment.reproduce.plans import TEST
from dissensus.metrics import soft_nll, softmax
from dissensus.records import CHECKPOINTS, Checkpoint, StoredRun

Rows = NDArray[np.floating]


class Gains:
    """Gains of hard deliveries in runs with few votes an item, over the soft run of the same votes and seed."""

    def __init__(self, data: Dataset, paper: Paper) -> None:
        self.data, self.paper = data, paper
        self._training = cache(self._trained_on)

    def __call__(self, cell: Cell, runs: Mapping[Cell, StoredRun]) -> Iterator[RunNumber | RunCurve]:
        partner = soft_partner(cell)
        if partner is None or partner not in runs:
            return
        run, soft = runs[cell], runs[partner]
        for checkpoint in CHECKPOINTS:
            yield from self._on_evaluation_items(cell, run, soft, checkpoint)
            yield from self._on_training_items(cell, run, soft, checkpoint)

    def _on_evaluation_items(
        self, cell: Cell, run: StoredRun, soft: StoredRun, checkpoint: Checkpoint
    ) -> Iterator[RunNumber | RunCurve]:
        """With a target drawn from their votes as those of the training items were; on those that have enough."""
        assert cell.votes != "all"
        draw = self.paper.protocols[cell.protocol].draw
        enough, sparse, full = sparse_targets(run.predictions["counts"], cell.votes, draw, cell.seed)
        logits = [one.predictions[f"{checkpoint}_logits"][enough] for one in (soft, run)]
        yield from _related(run, soft, checkpoint, "evaluation", sparse, full, logits)

    def _on_training_items(
        self, cell: Cell, run: StoredRun, soft: StoredRun, checkpoint: Checkpoint
    ) -> Iterator[RunNumber | RunCurve]:
        name = f"{checkpoint}_train_logits"
        if name in run.predictions and name in soft.predictions:
            sparse, full = self._training(cell.protocol, cell.votes, cell.seed)
            logits = [one.predictions[name] for one in (soft, run)]
            yield from _related(run, soft, checkpoint, "training", sparse, full, logits)

    def _trained_on(self, protocol: str, votes: int, seed: int) -> tuple[Rows, Rows]:
        """The shares of the votes that runs were given on their training items, and of all votes on them."""
        rules = self.paper.protocols[protocol]
        split = parts(self.data, TEST, rules.select, seed)
        train, _ = given_votes(self.data.votes, split, votes, rules.draw, seed)
        return train.frequencies(), self.data.votes.take(split.train).frequencies()


def _related(
    run: StoredRun,
    soft: StoredRun,
    checkpoint: Checkpoint,
    where: Where,
    sparse: Rows,
    full: Rows,
    logits: list[NDArray[np.floating]],
) -> Iterator[RunNumber | RunCurve]:
    if not all(np.isfinite(one).all() for one in logits):
        return  # one of the two diverged
    theirs, ours = (soft_nll(softmax(one.astype(np.float64)), full) for one in logits)
    for distance, part, relation in relations_of(sparse_target(sparse, full, theirs - ours)):
        for name, one in (
            (f"{distance}_gain", relation.plain),
            (f"{distance}_gain_given_entropy", relation.given_entropy),
        ):
            yield RunNumber(run.name, name, one.value, checkpoint, False, part, where, soft.name, one.low, one.high)
        curve = Curve(relation.bins.distance, relation.bins.improvement)
        yield RunCurve(run.name, f"gain_by_{distance}", curve, checkpoint, False, part, where, soft.name)
