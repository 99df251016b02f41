"""Cells of text that are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

SAMPLE = 1000  # rows that are tried first: most columns of text are seen to be text there


def whole_numbers(column: pl.Series) -> pl.Series:
    """A text column as whole numbers if that loses nothing ("7" is one, "007" and "+7" are not), else as it is.

    >>> whole_numbers(pl.Series(["7", "10"])).dtype, whole_numbers(pl.Series(["7", "010"])).dtype
    (Int64, String)
    """
    numbers = _cast(column, pl.Int64())
    if numbers is None:
        return column
    # the usual writing of a number is its shortest, so all are written so if together they are as short as can be
    return numbers if int(column.str.len_bytes().sum()) == written_length(numbers) else column


def numbers_or_text(column: pl.Series) -> pl.Series:
    """A text column as numbers if all its cells are, "nan" for one that is missing included, else as it is.

    Codes are no numbers: where one begins with a zero, "010" may be another than "10".

    >>> numbers_or_text(pl.Series(["1.0", "2"])).to_list(), numbers_or_text(pl.Series(["010", "10"])).to_list()
    ([1.0, 2.0], ['010', '10'])
    """
    column = whole_numbers(column)
    numbers = _cast(column, pl.Float64())
    if numbers is None or numbers.is_infinite().any() or column.str.contains(r"^[+-]?0[0-9]").any():
        return column
    return numbers


def _cast(column: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """A text column in another type, or None if it is no text column or a cell does not fit."""
    if column.dtype != pl.String:
        return None
    for part in (column.head(SAMPLE), column):
        numbers = part.cast(dtype, strict=False)
        if numbers.null_count() > part.null_count():
            return None
    return numbers


def written_length(numbers: pl.Series) -> int:
    """How many characters it takes to write all these whole numbers.

    >>> written_length(pl.Series([7, None, -10]))
    4
    """
    numbers = numbers.drop_nulls()
    if not len(numbers):
        return 0
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    small = low >= -(2**31) and high < 2**31
    values: NDArray[Any] = numbers.cast(pl.Int32 if small else pl.Int64).to_numpy()
    size = len(values) + int(np.count_nonzero(values < 0))
    for digits in range(1, len(str(max(high, -low)))):
        size += int(np.count_nonzero(values >= 10**digits)) if high >= 10**digits else 0
        size += int(np.count_nonzero(values <= -(10**digits))) if low <= -(10**digits) else 0
    return size
