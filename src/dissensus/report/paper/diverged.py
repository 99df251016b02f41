"""Runs of a paper that diverged: which they are, and how claims are judged without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissensus.base.words import many

if TYPE_CHECKING:
    from dissensus.experiment.papers.evidence import Evidence

RULE = (
    "They count as made, are not made again and have no numbers. A seed that lost a run so is left out of each "
    "comparison with it, in both arms, and claims are judged on the others as long as those are nine in ten; where "
    "one of two methods is claimed to be better, the seed is also counted as the largest difference against the one "
    "that diverged, and the larger p-value is taken."
)


def diverged_runs(evidence: Evidence) -> str:
    """All of them by name; nothing where none did.

    >>> from dissensus.experiment.papers import Cell, Evidence
    >>> cell = Cell("published", "sls", 5, 1, seed=3)
    >>> diverged_runs(Evidence.from_rows(about={cell: {"diverged": 12}})).partition(". ")[0]
    '1 run diverged: sls, 5 votes, seed 3 (published), in epoch 12'
    >>> diverged_runs(Evidence({}))
    ''
    """
    if not evidence.diverged:
        return ""
    names = [f"{cell.words}, in epoch {epoch}" for cell, epoch in evidence.diverged.items()]
    return f"{many(len(names), 'run')} diverged: {'; '.join(names)}. {RULE}"
