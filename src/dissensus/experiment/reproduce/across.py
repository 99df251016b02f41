"""How alike two seeds of one method are, from what their runs kept: CKA of features, agreement of Grad-CAM maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dissensus.evaluation import human_shares
from dissensus.experiment.pairs import CKAS, kept_by_both, maps_alike, on_shared_items
from dissensus.experiment.papers import Cell, RunNumber
from dissensus.experiment.reproduce.partners import by_method
from dissensus.records import CHECKPOINTS, StoredRun


def across_seeds(runs: Mapping[Cell, StoredRun]) -> Iterator[RunNumber]:
    """Of each pair of seeds, on the items that are in both evaluation splits: neither model was trained on those."""
    kept = (cell for cell, run in runs.items() if "best_features" in run.predictions or "best_maps" in run.predictions)
    for cells in by_method(kept):
        for run, other, here, there in on_shared_items(runs[cell] for cell in cells):
            for checkpoint in CHECKPOINTS:
                if (features := kept_by_both(f"{checkpoint}_features", run, other, here, there)) is not None:
                    for name, cka in CKAS.items():
                        yield RunNumber(run.name, name, cka(*features), checkpoint, other=other.name)
                if (maps := kept_by_both(f"{checkpoint}_maps", run, other, here, there)) is not None:
                    found = maps_alike(*maps, human_shares(run)[here], checkpoint, other.name)
                    yield from (RunNumber.of(run.name, one) for one in found)
