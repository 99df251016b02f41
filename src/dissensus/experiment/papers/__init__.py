"""The papers as data: what was published, and what is run to repeat it. A TOML file each; no torch, no pydantic.

>>> from dissensus.experiment.papers import read_paper
>>> basins = read_paper("basins")
>>> basins.published.value("table1", "sls", "soft_nll", votes=5)
Number(mean=0.5599, sd=None, seeds=5, unit='nats')
>>> len(basins.cells("audited"))
130
"""

from __future__ import annotations

from dissensus.experiment.papers.evidence import Curve, Evidence, RunCurve, RunNumber
from dissensus.experiment.papers.experiments import Cell, Experiment, Protocol
from dissensus.experiment.papers.paper import PAPERS, Paper, parse_paper, read_paper
from dissensus.experiment.papers.published import Address, Number, Published, PValue, Range
from dissensus.experiment.papers.smoke import SMOKE_SEEDS, smoke_part

__all__ = [
    "PAPERS",
    "SMOKE_SEEDS",
    "Address",
    "Cell",
    "Curve",
    "Evidence",
    "Experiment",
    "Number",
    "PValue",
    "Paper",
    "Protocol",
    "Published",
    "Range",
    "RunCurve",
    "RunNumber",
    "parse_paper",
    "read_paper",
    "smoke_part",
]
