"""Items on which several classes have most votes: which of them accuracy counts, and what it is without that choice.

A run keeps one label an item. Where the data have no label of their own it is the first of the tied classes, in the
order of the classes; splits are stratified by it, too. Training on the majority draws one of them by lot. With three
votes an item every fourth may tie, and the first class of a scale is its mildest: such an accuracy is kind to models
that say it too often. A lot would be as arbitrary, so a tie is shared here: of t tied classes each counts 1/t, which is
what a lot gives on average. The labels of stored runs, and the accuracy against them, stay what they are: they are how
the published protocols score, and numbers that were made earlier stay comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.base.words import listed
from dissensus.evaluation import plain_probs
from dissensus.records import Checkpoint, StoredRun

ORDER = 6  # classes at most, for all of them to be named


@dataclass(frozen=True)
class Ties:
    """Of the evaluation items of one panel."""

    share: float  # of the items, over all seeds
    most: float  # the accuracy of saying one of the tied classes of every item, ties shared
    accuracy: Mapping[str, float]  # with ties shared: method -> mean over seeds; none where a run has diverged

    def rule(self, of_files: bool, classes: Sequence[str] = ()) -> str:
        """How a label comes about where several could be, for a reader; nothing where that is nowhere.

        ``of_files`` says that the data have votes alone, and no label of their own.
        """
        if not self.share:
            return ""
        share = f"{100 * self.share:.0f} %" if self.share >= 0.01 else "less than 1 %"
        order = f" ({', '.join(classes)})" if 0 < len(classes) <= ORDER else ""
        first = f"the first of them in the order of the classes{order}"
        right = first if of_files else "the data's own label if it is one of them, else the first of them"
        return (
            f"Several classes have most votes on {share} of the evaluation items: right is {right}, while training on "
            "the majority draws one of them by lot."
        )

    def told(self, where: str = "") -> str:
        """Accuracy without that choice, ``where`` there are several such numbers."""
        methods = listed([f"{value:.3f} for {method}" for method, value in self.accuracy.items()])
        reached = f"{methods}, of {self.most:.3f} at most" if methods else f"{self.most:.3f} at most"
        return f"With a tie shared among its classes, accuracy{where} is {reached}."


def ties(runs: Mapping[str, Sequence[StoredRun]], checkpoint: Checkpoint = "best") -> Ties:
    """The ties among the evaluation items, and what accuracy is when they are shared."""
    counts = [run.predictions["counts"] for run in next(iter(runs.values()))]
    credits = np.concatenate([shared(one) for one in counts])
    return Ties(
        share=float((credits.max(1) < 1).mean()),
        most=float(np.mean([shared(one).max(1).mean() for one in counts])),
        accuracy={
            method: float(np.mean([_accuracy(run, checkpoint) for run in paired]))
            for method, paired in runs.items()
            if all(np.isfinite(run.predictions[f"{checkpoint}_logits"]).all() for run in paired)
        },
    )


def shared(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """What saying a class counts, (items, classes): 1 for the one with most votes, 1/t for each of t that are tied.

    >>> shared(np.array([[3, 1, 0], [2, 2, 0]])).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    tied = counts == counts.max(1, keepdims=True)
    return tied / tied.sum(1, keepdims=True)


def _accuracy(run: StoredRun, checkpoint: Checkpoint) -> float:
    credit = shared(run.predictions["counts"])
    said = plain_probs(run, checkpoint).argmax(1)
    return float(np.take_along_axis(credit, said[:, None], 1).mean())
