"""What the top class is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dissensus.base.arrays import PerItem
from dissensus.metrics.checks import as_labelled


def confidence_and_hits(probs: ArrayLike, labels: ArrayLike) -> tuple[PerItem, PerItem]:
    """The probability of each item's top class, and 1 where that class is the label, else 0.

    Of equally probable classes the first is the top one.
    """
    rows, classes = as_labelled(probs, labels)
    top = rows.argmax(1)
    confidence = np.minimum(rows[np.arange(len(rows)), top], 1.0)  # a row may sum to a little more than 1
    return confidence, (top == classes).astype(np.float64)


def accuracy(probs: ArrayLike, labels: ArrayLike) -> float:
    """The share of items whose top class is the label.

    >>> accuracy([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]], [0, 1, 1, 0])
    0.75
    """
    return float(confidence_and_hits(probs, labels)[1].mean())
