"""How alike two seeds of one method are, from what their runs kept: CKA of features, agreement of Grad-CAM maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dissensus.evaluation import human_shares
from dissensus.experiment.pairs import features_alike, maps_alike, on_shared_items
from dissensus.experiment.papers import Cell, RunNumber
from dissensus.experiment.reproduce.partners import by_method
from dissensus.records import CHECKPOINTS, StoredRun


def across_seeds(runs: Mapping[Cell, StoredRun]) -> Iterator[RunNumber]:
    """Of each pair of seeds, on the items that are in both evaluation splits: neither model was trained on those."""
    kept = (cell for cell, run in runs.items() if "best_features" in run.predictions or "best_maps" in run.predictions)
    for cells in by_method(kept):
        for run, other, here, there in on_shared_items(runs[cell] for cell in cells):
            for checkpoint in CHECKPOINTS:
                for one in features_alike(run, other, here, there, checkpoint):
                    yield RunNumber(run.name, one.name, one.value, checkpoint, other=other.name)
                maps = f"{checkpoint}_maps"
                if maps in run.predictions and maps in other.predictions:
                    pair = run.predictions[maps][here], other.predictions[maps][there]
                    for one in maps_alike(*pair, human_shares(run)[here], checkpoint, other.name):
                        yield RunNumber.of(run.name, one)
