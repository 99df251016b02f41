"""What a run must have kept besides its predictions, to be of use for what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.records.run import StoredRun


@dataclass(frozen=True)
class Wanted:
    """What is asked of every run; by default nothing that not all of them have.

    >>> from pathlib import Path
    >>> Wanted(weights=True).lacking(StoredRun("0123456789abcdef", Path("no-such-folder")))
    ['weights']
    """

    weights: bool = False  # of the best epoch
    features: bool = False  # what entered the last layer
    diagnostics: bool = False  # what was found inside the model

    @classmethod
    def as_kept_by(cls, run: StoredRun) -> Wanted:
        """All that the run kept."""
        lacking = (everything := cls(weights=True, features=True, diagnostics=True)).lacking(run)
        return cls(**{what: what not in lacking for what in vars(everything)})

    def lacking(self, run: StoredRun) -> list[str]:
        """What of it the run did not keep."""
        return [
            what
            for what, wanted, has in (
                ("weights", self.weights, lambda: run.has_weights),
                ("features", self.features, lambda: run.has_features),
                ("diagnostics", self.diagnostics, lambda: any(one.weights for one in run.diagnostics())),
            )
            if wanted and not has()
        ]
