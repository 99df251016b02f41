"""What every metric asks of its arrays, checked once at the door."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import SUM_TOLERANCE, Labels, as_labels, as_matrix, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.votes import Votes

Matrix = NDArray[np.float64]


def as_rows(name: str, value: ArrayLike) -> Matrix:
    """``value`` as rows of a simplex, at least one, with a word on multi-label votes where they may be the reason."""
    _refuse_votes(name, value)
    try:
        rows = as_simplex(name, value)
    except InputError as error:
        if not _all_in_unit_interval(value):
            raise
        raise InputError(
            f"{error} If several classes may be chosen at once, these are per-class shares, and simplex metrics need "
            "one class a vote; soft_micro_f1 takes per-class shares."
        ) from None
    return _not_empty(name, rows)


def as_shares(name: str, value: ArrayLike) -> Matrix:
    """``value`` as per-class shares in [0, 1] whose rows need not sum to 1."""
    _refuse_votes(name, value)
    shares = _not_empty(name, as_matrix(name, value).astype(np.float64))
    bad = ~((shares >= 0) & (shares <= 1 + SUM_TOLERANCE))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"{name} must hold shares in 0 to 1, but row {row}, column {column} holds {shares[row, column]:.6g}."
        )
    return shares


def as_logits(name: str, value: ArrayLike) -> Matrix:
    """``value`` as finite float64 rows, at least one."""
    logits = _not_empty(name, as_matrix(name, value).astype(np.float64))
    if not np.isfinite(logits).all():
        row, column = np.argwhere(~np.isfinite(logits))[0]
        raise InputError(f"{name} must be finite, but row {row}, column {column} holds {logits[row, column]}.")
    return logits


def as_pair(probs: ArrayLike, human: ArrayLike) -> tuple[Matrix, Matrix]:
    """Predictions and human distributions of the same items and classes."""
    return same_shape(probs=as_rows("probs", probs), human=as_rows("human", human))


def as_labelled(probs: ArrayLike, labels: ArrayLike) -> tuple[Matrix, Labels]:
    """Predictions and one class an item."""
    rows = as_rows("probs", probs)
    checked = as_labels("labels", labels, classes=rows.shape[1])
    same_length(probs=rows, labels=checked)
    return rows, checked


def same_shape(**matrices: Matrix) -> tuple[Matrix, Matrix]:
    """The two matrices, if they have the same items and the same number of classes."""
    (one, first), (other, second) = matrices.items()
    same_length(**matrices)
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"{one} has {first.shape[1]} classes, but {other} has {second.shape[1]}. "
            "Both need one column a class, in the same order."
        )
    return first, second


def as_whole(name: str, value: int, least: int) -> int:
    """``value`` as a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, but it is {value!r}.")
    return int(value)


def _refuse_votes(name: str, value: object) -> None:
    if isinstance(value, Votes):
        raise InputError(f"{name} must be an array, but votes were given. Pass their shares, votes.frequencies().")


def _not_empty(name: str, array: Matrix) -> Matrix:
    if not array.size:
        raise InputError(f"{name} has the shape {array.shape}: there is nothing to score.")
    return array


def _all_in_unit_interval(value: ArrayLike) -> bool:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError, RuntimeError):  # torch's, of a tensor with a gradient
        return False
    return array.ndim == 2 and array.size > 0 and bool(((array >= 0) & (array <= 1)).all())
