"""The votes as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.votes import Votes


def shares(votes: Votes) -> NDArray[np.float64]:
    r"""The share :math:`n_{ik} / n_i` of an item's votes that name the class: the human distribution itself.

    Rows sum to 1 with one label a vote, and need not where a vote may name several.

    >>> shares(Votes.from_counts([[3, 1]]))
    array([[0.75, 0.25]])
    """
    return votes.frequencies()
