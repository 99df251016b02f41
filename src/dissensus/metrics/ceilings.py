"""Human ceilings: how well half of the annotators predict the other half."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import Labels, as_counts
from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.metrics.checks import as_whole
from dissensus.metrics.estimate import Estimate
from dissensus.metrics.registry import Metric, metric

Counts = NDArray[np.int64]


def ceiling(name: str, counts: ArrayLike, *, draws: int = 20, seed: int = 0) -> Estimate | None:
    r"""What half of each item's annotators score as a prediction of the other half; None where there is no ceiling.

    Each draw deals the votes of every item into two halves at random (of an odd number the second gets one more). The
    shares of the first are the prediction, those of the second are ``human``; for accuracy the label is the second
    half's most frequent class, ties by a draw. All metrics see the same halves.

    Metrics that can be infinite (soft NLL, KL) would be, wherever the first half misses a class. For them it is
    smoothed by one vote, :math:`(n_{ik} + \pi_k) / (n_i + 1)`, where :math:`\pi` are the class shares of all first
    halves with one vote more for each class. The other metrics take the shares as they are.

    It is a ceiling for a prediction as noisy as half of the votes: a model may pass it, since it does not draw votes.

    >>> ceiling("soft_accuracy", [[10, 0], [0, 10]])
    Estimate(mean=1.0, sd=0.0)
    """
    known = metric(name)
    if not known.has_ceiling:
        return None
    return Estimate.over(_scores(known, counts, draws, seed))


def corrected_ceiling(name: str, counts: ArrayLike, *, draws: int = 20, seed: int = 0) -> Estimate | None:
    r"""The ceiling of a correlation between two sets of as many votes as there are, not half as many; None for others.

    By the formula of Spearman and Brown, :math:`2r / (1 + r)` for a correlation r of two halves.

    >>> corrected_ceiling("soft_nll", [[10, 0], [0, 10]]) is None
    True
    """
    known = metric(name)
    if not known.correlation:
        return None
    return Estimate.over(2 * r / (1 + r) for r in _scores(known, counts, draws, seed))


def halves(counts: ArrayLike, *, draw: int = 0, seed: int = 0) -> tuple[Counts, Counts]:
    """The votes of every item dealt into two halves at random; of an odd number the second gets one more.

    >>> first, second = halves([[4, 2], [0, 5]])
    >>> (first + second).tolist(), first.sum(1).tolist()
    ([[4, 2], [0, 5]], [3, 2])
    """
    votes = as_counts("counts", counts)
    total = votes.sum(1)
    if not votes.size or (total < 2).any():
        where = (
            f"item {int(np.argmax(total < 2))} has {int(total[total < 2][0])}" if votes.size else "there are no items"
        )
        raise InputError(f"counts must hold at least two votes an item to be halved, but {where}.")
    random = stream(seed, "halves", draw)
    first = np.empty_like(votes)
    left, wanted = total, total // 2
    for k in range(votes.shape[1]):  # a multivariate hypergeometric draw, class by class, for all items at once
        left = left - votes[:, k]
        first[:, k] = random.hypergeometric(votes[:, k], left, wanted)
        wanted = wanted - first[:, k]
    return first, votes - first


def _scores(known: Metric, counts: ArrayLike, draws: int, seed: int) -> Iterator[float]:
    for draw in range(as_whole("draws", draws, least=2)):
        first, second = halves(counts, draw=draw, seed=seed)
        probs = _smoothed(first) if known.can_be_infinite else _shares(first)
        if known.needs == "human":
            yield known(probs, human=_shares(second))
        else:
            yield known(probs, labels=most_frequent(second, stream(seed, "ties", draw)))


def _shares(votes: Counts) -> NDArray[np.float64]:
    return votes / votes.sum(1, keepdims=True)


def _smoothed(votes: Counts) -> NDArray[np.float64]:
    prior = votes.sum(0) + 1.0
    return (votes + prior / prior.sum()) / (votes.sum(1, keepdims=True) + 1)


def most_frequent(votes: Counts, random: np.random.Generator) -> Labels:
    """The class with most votes, (items,); ties by a draw."""
    return (votes + random.random(votes.shape)).argmax(1)  # less than one vote: it decides between equals only
