"""A run that is made again, since it lacks something that is wanted: what it takes over from the one before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.records import RunStore, StoredRun, read_diagnostics, renewed, write_diagnostics
from dissensus.records.merging import forget_lines


def taken_over(before: StoredRun, staging: Path, predictions: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """All arrays of the run, those that only the one ``before`` had as well; its diagnostics go to ``staging``.

    That is where both are the same model, as they are on the CPU of one machine. On a GPU they are not: nothing that
    was found in the one before is true any more, in other runs neither.
    """
    arrays = dict(predictions)
    if not _same_model(before.predictions, arrays):
        forget_lines(RunStore(before.path.parent), [before.name], {})
        return arrays
    path = staging / "diagnostics.csv"
    if diagnostics := renewed(before.diagnostics(), read_diagnostics(path) if path.exists() else []):
        write_diagnostics(path, diagnostics)
    return {**before.predictions, **arrays}


def _same_model(before: Mapping[str, NDArray[Any]], now: Mapping[str, NDArray[Any]]) -> bool:
    """To the last bit, at both epochs."""
    return all(name in before and np.array_equal(before[name], now[name]) for name in ("best_logits", "last_logits"))
