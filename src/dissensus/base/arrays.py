"""The shapes that travel between the rooms, and the checks at their doors.

Checks return the array in the dtype that the callee works in and never change the caller's array.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.errors import InputError

Simplex: TypeAlias = NDArray[np.floating]  # (items, classes), rows sum to 1
Counts: TypeAlias = NDArray[np.integer]  # (items, classes), votes per class
Labels: TypeAlias = NDArray[np.int64]  # (items,), class indices
PerItem: TypeAlias = NDArray[np.float64]  # (items,), one number an item

SUM_TOLERANCE = 1e-3  # rows of float32 or half-precision probabilities of a thousand classes stay well within this
SHARES = "Shares cannot be turned back into votes; deliveries take them as they are, as in Soft(shares)."
MOST_VOTES = 1 << 53  # in a cell: up to here every whole number is a float64, too
UNREADABLE = (  # what np.load raises of a damaged npy or npz
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def as_array(name: str, value: Any, meant: str = "an array") -> NDArray[Any]:
    """``value`` as an array. A tensor that NumPy cannot see into is told how to come: never by a traceback of torch."""
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"{name} must be {meant}, but its rows have different lengths.") from None
    except (TypeError, RuntimeError) as why:  # torch: on another device, with a gradient, in bfloat16
        raise InputError(
            f"{name} cannot be read as an array ({why}). Of a tensor pass tensor.detach().cpu(), and .float() where it "
            "is in bfloat16."
        ) from None


def as_matrix(name: str, value: ArrayLike) -> NDArray[Any]:
    """``value`` as a two-dimensional array of numbers."""
    array = as_array(name, value, "a matrix (items, classes)")
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers, but its dtype is {array.dtype}.")
    if array.ndim != 2:
        raise InputError(f"{name} must have the shape (items, classes), but its shape is {array.shape}.")
    return array


def as_simplex(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """``value`` as float64 rows of probabilities that sum to 1.

    >>> as_simplex("probs", [[0.2, 1.5]])
    Traceback (most recent call last):
    dissensus.base.errors.InputError: probs must have rows that sum to 1, but row 0 sums to 1.7 (1 of 1 rows are
    wrong). If these are logits, pass softmax(logits).
    """
    array = as_matrix(name, value).astype(np.float64)
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(1))[0])
        raise InputError(f"{name} must be finite, but row {row} holds {array[row][~np.isfinite(array[row])][0]}.")
    if array.min(initial=0.0) < 0:
        row = int(np.flatnonzero((array < 0).any(1))[0])
        raise InputError(
            f"{name} must not be negative, but row {row} holds {array[row].min():.6g}. "
            "If these are logits, pass softmax(logits)."
        )
    sums = np.einsum("ij->i", array)  # a quarter of the time of array.sum(1) for ten classes
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        counts = bool((array == np.floor(array)).all())
        raise InputError(
            f"{name} must have rows that sum to 1, but row {row} sums to {sums[row]:.6g} "
            f"({int(wrong.sum())} of {len(sums)} rows are wrong). "
            f"If these are {'counts, divide each row by its sum' if counts else 'logits, pass softmax(logits)'}."
        )
    return array


def as_counts(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """``value`` as whole, non-negative numbers of votes; rows may be empty of votes."""
    array = as_matrix(name, value)
    if array.dtype.kind == "f" and (bad := array != np.floor(array)).any():
        row, column = np.argwhere(bad)[0]
        hint = f" {SHARES}" if 0 < array[row, column] < 1 else ""
        raise InputError(
            f"{name} must hold whole numbers of votes, but row {row}, column {column} holds "
            f"{array[row, column]:.6g}.{hint}"
        )
    if (array < 0).any():
        row, column = np.argwhere(array < 0)[0]
        raise InputError(f"{name} must not be negative, but row {row}, column {column} holds {array[row, column]}.")
    if (array > MOST_VOTES).any():
        row, column = np.argwhere(array > MOST_VOTES)[0]
        raise InputError(f"{name} must be numbers of votes, but row {row}, column {column} holds {array[row, column]}.")
    return array.astype(np.int64)


def as_labels(name: str, value: ArrayLike, classes: int) -> Labels:
    """``value`` as class indices below ``classes``."""
    array = as_array(name, value)
    if array.ndim != 1:
        raise InputError(f"{name} must have the shape (items,), but its shape is {array.shape}.")
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(f"{name} must be class indices (integers), but its dtype is {array.dtype}.")
    outside = (array < 0) | (array >= classes)
    if outside.any():
        item = int(outside.argmax())
        raise InputError(f"{name} must lie in 0 to {classes - 1}, but item {item} has {array[item]}.")
    return array.astype(np.int64)


def same_length(**arrays: Any) -> int:
    """The common length of the arrays, or an error that names the odd ones."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"these must be equally long, but {told}.")
    return next(iter(lengths.values()))
