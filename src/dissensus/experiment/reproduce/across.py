"""How alike two seeds of one method are, from what their runs kept: CKA of features, agreement of Grad-CAM maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dissensus.diagnostics.cam_stability import cam_stability
from dissensus.diagnostics.findings import estimated
from dissensus.diagnostics.similarity import debiased_cka, linear_cka
from dissensus.evaluation import human_shares
from dissensus.experiment.pairs import Indices, on_shared_items
from dissensus.experiment.papers import Cell, Finding
from dissensus.experiment.reproduce.partners import by_method
from dissensus.metrics import most_disputed
from dissensus.records import CHECKPOINTS, Checkpoint, Slice, StoredRun


def across_seeds(runs: Mapping[Cell, StoredRun]) -> Iterator[Finding]:
    """Of each pair of seeds, on the items that are in both evaluation splits: neither model was trained on those."""
    kept = (cell for cell, run in runs.items() if "best_features" in run.predictions or "best_maps" in run.predictions)
    for cells in by_method(kept):
        for run, other, here, there in on_shared_items(runs[cell] for cell in cells):
            for checkpoint in CHECKPOINTS:
                yield from _representations(run, other, here, there, checkpoint)
                yield from _maps(run, other, here, there, checkpoint)


def _representations(
    run: StoredRun, other: StoredRun, here: Indices, there: Indices, checkpoint: Checkpoint
) -> Iterator[Finding]:
    name = f"{checkpoint}_features"
    if name in run.predictions and name in other.predictions:
        x = run.predictions[name][here].astype(np.float64)
        y = other.predictions[name][there].astype(np.float64)
        for measure, cka in (("cka", linear_cka), ("debiased_cka", debiased_cka)):
            yield Finding(run.name, measure, cka(x, y), checkpoint, other=other.name)


def _maps(run: StoredRun, other: StoredRun, here: Indices, there: Indices, checkpoint: Checkpoint) -> Iterator[Finding]:
    name = f"{checkpoint}_maps"
    if name not in run.predictions or name not in other.predictions:
        return
    disputed = most_disputed(human_shares(run)[here])
    a, b = run.predictions[name][here], other.predictions[name][there]
    slices: dict[Slice, Indices] = {"all": np.arange(len(here)), "disputed": disputed}
    for part, index in slices.items():
        told = cam_stability(a[index], b[index])
        row = estimated("cam_stability", told.mean, told.standard_error, len(index))
        yield Finding(
            run.name, row.name, row.value, checkpoint, False, part, "evaluation", other.name, row.low, row.high
        )
