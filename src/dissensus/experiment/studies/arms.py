"""Soft and majority labels under several conditions: the comparison that every question on annotators needs."""

from __future__ import annotations

from collections.abc import Iterable

from dissensus.experiment.studies.finding import Contrast, class_doubt
from dissensus.experiment.studies.score import Scores

METHODS = ("soft", "majority")
GAINS = "soft less majority"


class Arms:
    """Both arms on one data set, by condition: whose votes, how many, from which pool."""

    def __init__(self, scores: Scores, conditions: Iterable[str]) -> None:
        self.soft, self.majority = (
            {condition: scores.where(condition=condition, method=method) for condition in conditions}
            for method in METHODS
        )

    def doubt(self, *conditions: str) -> str:
        """Why nothing would follow from these conditions, if so: majority labels have learnt too little under one."""
        return next((why for condition in conditions if (why := class_doubt(self.majority[condition]))), "")

    def apart(self, data: str, question: str, condition: str, metric: str) -> Contrast:
        """Soft against majority labels under a condition, as the claims need it."""
        pair = self.soft[condition][metric], self.majority[condition][metric]
        return Contrast(data, question, *METHODS, *pair, self.doubt(condition))

    def gains(self, data: str, first: tuple[str, str], second: tuple[str, str], metric: str) -> Contrast:
        """What soft labels gain over majority labels, under one condition against another; (condition, its name)."""
        a, b = (self.soft[at][metric] - self.majority[at][metric] for at, _ in (first, second))
        return Contrast(data, GAINS, first[1], second[1], a, b, self.doubt(first[0], second[0]))
