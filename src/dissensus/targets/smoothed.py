"""Shares, drawn towards what is common among all items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError
from dissensus.votes import Votes


def smoothed(votes: Votes, strength: float = 1.0, prior: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""The posterior mean under a Dirichlet prior that counts as ``strength`` votes an item:

    .. math:: \frac{n_{ik} + s\,\pi_k}{n_i + s}.

    ``prior`` is one probability a class; by default :math:`\pi` is the share of the class among all votes of all
    items (``np.full(C, 1 / C)`` would be uniform). An item without votes gets the prior. Where a vote may name
    several classes the same formula is a Beta prior for each class.

    >>> smoothed(Votes.from_counts([[3, 1], [1, 3]]), strength=4.0)
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """
    if not np.isfinite(strength) or strength < 0:
        raise InputError(f"strength must be a number of votes, 0 or more, but it is {strength!r}.")
    if strength == 0:
        return votes.frequencies()
    counts = votes.counts()
    pi = _overall(votes, counts) if prior is None else _given(votes, prior)
    return (counts + strength * pi) / (votes.votes_per_item[:, None] + strength)


def _overall(votes: Votes, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    if votes.n_votes == 0:
        raise InputError("there are no votes at all, so no class is more common than another; pass prior=.")
    return counts.sum(0) / votes.n_votes


def _given(votes: Votes, prior: ArrayLike) -> NDArray[np.float64]:
    pi = np.asarray(prior, np.float64)
    if pi.shape != (votes.n_classes,):
        raise InputError(
            f"prior must hold one probability for each of {votes.n_classes} classes; its shape is {pi.shape}."
        )
    if not (np.isfinite(pi).all() and (pi >= 0).all() and (pi <= 1).all()):
        raise InputError("prior must hold probabilities between 0 and 1.")
    if not votes.multilabel and abs(pi.sum() - 1) > 1e-6:
        raise InputError(f"prior must sum to 1, but it sums to {pi.sum():.6g}.")
    return pi
