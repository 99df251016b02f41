"""How far the runs of a table or figure are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence


@dataclass(frozen=True)
class Coverage:
    """Runs that are made, of those that are wanted.

    >>> str(Coverage(3, 10)), str(Coverage(10, 10))
    ('not run yet: 3 of 10 runs', 'all 10 runs are made, but this was not measured in them')
    >>> str(Coverage(0, 0))
    'no runs are planned for this'
    """

    done: int
    wanted: int

    @property
    def partly(self) -> str:
        """What stands below numbers of some of the runs; nothing where all are made.

        >>> Coverage(3, 10).partly
        'Not complete: 3 of 10 runs.'
        """
        return f"Not complete: {self.done} of {self.wanted} runs." if self.done < self.wanted else ""

    def __str__(self) -> str:
        if self.done < self.wanted:
            return f"not run yet: {self.done} of {self.wanted} runs"
        if not self.wanted:
            return "no runs are planned for this"
        return f"all {self.wanted} runs are made, but this was not measured in them"


def coverage(
    evidence: Evidence, paper: Paper, place: str | None = None, protocol: str | None = "published"
) -> Coverage:
    """Of the runs that feed a table or figure under a protocol; of all, where none is named."""
    wanted = paper.cells(protocol, feeds=place)
    made = set(evidence.runs.values())
    return Coverage(sum(cell in made for cell in wanted), len(wanted))
