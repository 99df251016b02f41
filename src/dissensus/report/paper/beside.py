"""What stands beside the numbers of a paper: every deviation from it, and what can be reached at all. Data, in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from dissensus.base.errors import InputError
from dissensus.metrics import Estimate
from dissensus.report.paper.grid import Grid, Line, box, filled, title_of
from dissensus.report.paper.measured import Sought, measured
from dissensus.report.tables import estimate_cell, number

if TYPE_CHECKING:
    from dissensus.experiment.papers.evidence import Evidence

KINDS = {
    "instead": "Done otherwise than in the paper",
    "open": "Chosen, where the paper leaves it open",
    "audited": "Mended in the audited protocol",
    "more": "Done beyond the paper",
}


@dataclass(frozen=True)
class Deviation:
    """What the paper says or leaves open, and what was done."""

    what: str
    kind: str
    paper: str
    ours: str
    why: str


@dataclass(frozen=True)
class Reach:
    """What half of the annotators and what a perfect model score."""

    ceiling: Estimate | None = None
    corrected: Estimate | None = None
    floor: Estimate | None = None


@dataclass(frozen=True)
class Beside:
    """All of it, for one paper."""

    deviations: tuple[Deviation, ...]
    reach: Mapping[str, Reach]

    @property
    def ceilings(self) -> dict[str, Estimate]:
        return {metric: one.ceiling for metric, one in self.reach.items() if one.ceiling is not None}


@cache
def read_beside(paper: str) -> Beside:
    """What is written of that paper.

    >>> told = read_beside("basins")
    >>> told.deviations[0].ours
    '2,000 street-view characters and 1,200 textures (DTD), both 32 x 32'
    >>> round(told.ceilings["entropy_correlation"].mean, 2)
    0.54
    """
    told = tomllib.loads((files(__package__) / f"{paper.replace('-', '_')}.toml").read_text("utf-8"))
    deviations = tuple(Deviation(**entry) for entry in told["deviations"])
    if strange := next((one for one in deviations if one.kind not in KINDS), None):
        raise InputError(
            f"the deviation {strange.what!r} is of the kind {strange.kind!r}; choose of {', '.join(KINDS)}."
        )
    reach = {
        metric: Reach(**{kind: Estimate(*given) for kind, given in table.items()})
        for metric, table in told.get("reach", {}).items()
    }
    return Beside(deviations, reach)


def by_kind(told: Beside) -> dict[str, list[Deviation]]:
    """The deviations under what their kind is called."""
    return {words: [one for one in told.deviations if one.kind == kind] for kind, words in KINDS.items()}


def reach_table(evidence: Evidence, told: Beside) -> Grid:
    """What can be reached, beside what was reached with all votes."""
    metrics, reach = list(told.reach), told.reach.values()
    rows = {"human ceiling": "ceiling", "human ceiling, as many votes": "corrected", "noise floor": "floor"}
    lines = [
        Line("what can be reached", words, tuple(estimate_cell(getattr(one, kind), 4) for one in reach), "published")
        for words, kind in rows.items()
    ]
    records: list[dict[str, object]] = [
        {"who": words, "metric": metric, "mean": one.mean, "sd": one.sd}
        for words, kind in rows.items()
        for metric in metrics
        if (one := getattr(told.reach[metric], kind)) is not None
    ]
    for method in ("soft", "sls", "multipass", "majority"):
        found = [measured(evidence, Sought(metric, method)) for metric in metrics]
        line = Line(method, "measured, all votes", tuple(box(one, 4) for one in found))
        if filled([line]):
            lines.append(line)
            records += [
                {"who": method, "metric": metric, "mean": one.mean, "sd": one.sd}
                for metric, one in zip(metrics, found, strict=True)
                if one
            ]
    head = ("", "", *map(title_of, metrics))
    notes = (
        "Human ceiling: half of an image's annotators predict the other half. A model may pass it, since it draws no "
        "votes. Noise floor: what a perfect model would score, because images and votes are few.",
        *sentences(told),
    )
    return Grid("reach", "What can be reached", head, tuple(lines), tuple(records), notes)


def sentences(told: Beside) -> list[str]:
    """What has to be said beside ECE and beside entropy correlation."""
    ece, entropy = told.reach["ece"].floor, told.reach["entropy_correlation"]
    said = []
    if ece is not None:
        said.append(
            f"ECE: a perfectly calibrated model scores {number(ece.mean, 4)} ± {number(ece.sd, 4)} on 2,000 items in "
            "15 bins. So near to it, as SLS and soft labels are as published, ECE ranks nothing: differences are noise."
        )
    if entropy.ceiling is not None and entropy.corrected is not None:
        said.append(
            f"EntCorr, entropy correlation, has a ceiling below 1: two halves of the votes correlate at "
            f"{number(entropy.ceiling.mean, 2)}, and two full sets would at {number(entropy.corrected.mean, 2)}."
        )
    return said
