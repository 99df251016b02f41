"""The part of a paper that a smoke test repeats."""

from __future__ import annotations

from dataclasses import replace

from dissensus.experiment.papers.evidence import Evidence
from dissensus.experiment.papers.paper import Paper

SMOKE_SEEDS = 2  # the least that can be compared


def smoke_part(paper: Paper, evidence: Evidence) -> Paper:
    """Few seeds; where each protocol has its own data set, of those only that were tried.

    >>> from dissensus.experiment.papers import read_paper
    >>> basins = smoke_part(read_paper("basins"), Evidence({}))
    >>> len(basins.cells("published")), len(basins.cells("audited"))
    (58, 26)
    """
    tried = set(paper.protocols) if paper.data else {cell.protocol for cell in evidence.runs.values()}
    made = (replace(one, seeds=one.seeds[:SMOKE_SEEDS]) for one in paper.experiments if one.protocol in tried)
    return replace(paper, experiments=tuple(made))
