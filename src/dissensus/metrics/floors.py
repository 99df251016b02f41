"""Noise floors: what a perfect model would score, because items and votes are few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.metrics.ceilings import most_frequent
from dissensus.metrics.checks import as_rows, as_whole
from dissensus.metrics.estimate import Estimate
from dissensus.metrics.registry import Metric, metric


def floor(name: str, probs: ArrayLike, votes_per_item: ArrayLike, *, draws: int = 20, seed: int = 0) -> Estimate | None:
    """What ``probs`` would score if they were the truth; None where a metric has no floor.

    Each draw takes ``votes_per_item`` votes from every item's own row (one number for all items, or one each), and
    scores ``probs`` against their shares. Accuracy and AURC are scored against the most frequent of these votes, ties
    by a draw; calibration and the Brier score against one vote an item, of a model whose every probability is right.
    What is left over is noise, and a score near it can rank nothing. Where higher is better, it is the most that a
    perfect model can expect.

    >>> floor("total_variation", [[0.5, 0.5]] * 100, votes_per_item=100_000_000).mean < 0.001
    True
    """
    known = metric(name)
    if not known.has_floor:
        return None
    truth = as_rows("probs", probs)
    truth /= truth.sum(1, keepdims=True)  # float32 rows sum to 1 only nearly, and the draw is strict
    votes = _votes(votes_per_item, len(truth))
    return Estimate.over(_scores(known, truth, votes, as_whole("draws", draws, least=2), seed))


def _scores(
    known: Metric, truth: NDArray[np.float64], votes: NDArray[np.int64], draws: int, seed: int
) -> Iterator[float]:
    for draw in range(draws):
        random = stream(seed, "floor", known.needs, draw)
        if known.needs == "human":
            yield known(truth, human=random.multinomial(votes, truth) / votes[:, None])
        elif known.top_class:
            yield known(truth, labels=most_frequent(random.multinomial(votes, truth), random))
        else:
            yield known(truth, labels=random.multinomial(1, truth).argmax(1))


def _votes(votes_per_item: ArrayLike, items: int) -> NDArray[np.int64]:
    votes = np.asarray(votes_per_item)
    if votes.dtype.kind not in "iu" or votes.shape not in ((), (items,)):
        raise InputError(
            f"votes_per_item must be one whole number, or one for each of the {items} items, but it has the dtype "
            f"{votes.dtype} and the shape {votes.shape}."
        )
    votes = np.broadcast_to(votes, (items,)).astype(np.int64)
    if (votes < 1).any():
        item = int(np.argmax(votes < 1))
        raise InputError(f"votes_per_item must be at least 1, but item {item} has {votes[item]}.")
    return votes
