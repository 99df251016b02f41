"""Every metric by data set and model, the numbers of the paper's abstract, and how many votes are enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.metrics import METRICS
from dissensus.report.paper.coverage import coverage
from dissensus.report.paper.grid import Grid, Line, box, filled, record, title_of, votes_in_words
from dissensus.report.paper.measured import BySeed, Sought, measured
from dissensus.report.tables import Box, number

if TYPE_CHECKING:
    from dissensus.experiment.claims import Enough
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence

METHODS = ("majority", "label-smoothing", "soft", "sls", "multipass")
COLUMNS = (
    ("accuracy", "all"),
    ("kl", "all"),
    ("js_distance", "all"),
    ("soft_nll", "all"),
    ("entropy_correlation", "all"),
    ("entropy_correlation_pearson", "all"),
    ("ece", "all"),
    ("entropy_gap", "disputed"),
)
BY_VOTES = tuple(metric for metric, part in COLUMNS if part == "all")
READINGS: Mapping[str, dict[str, Any]] = {
    "best epoch": {},
    "best epoch, with a temperature": {"tempered": True},
    "last epoch": {"checkpoint": "last"},
}
YARDSTICKS = {
    "human ceiling": ("ceiling", "half of the annotators predict the other half"),
    "human ceiling, corrected": ("corrected-ceiling", "as if each half had all votes"),
    "class shares": ("shares", "the same for every item"),
    "uniform": ("uniform", "all classes alike"),
}
DIGITS = 3
NOTES = (
    "Means over seeds with 95 % intervals. Best epoch and temperature by a tenth of the training items; the evaluation "
    "items only report.",
    "Most disputed: the tenth of the items with most disagreement.",
    "A model may pass the human ceiling: it draws no votes, and half of the annotators are as noisy as their number.",
)


def protocol_table(evidence: Evidence, paper: Paper, protocol: str) -> Grid:
    """A line a method and reading, a column a metric; below, what people and guesses score on the same items."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for method in METHODS:
        for said, reading in READINGS.items():
            found = [
                measured(evidence, Sought(metric, method, slice=part, protocol=protocol).read(**reading))
                for metric, part in COLUMNS
            ]
            lines.append(Line(method, said, tuple(box(one, DIGITS) for one in found)))
            records += _records(found, protocol=protocol, method=method, reading=said, kind="method")
    for name, words, found in _yardsticks(evidence, protocol):
        lines.append(Line(name, words, tuple(box(one, DIGITS) for one in found), "published"))
        records += _records(found, protocol=protocol, method=name, reading=words, kind="yardstick")
    made = coverage(evidence, paper, "table1", protocol)
    return Grid(
        f"table1-{protocol}",
        paper.protocols[protocol].about,
        ("", "", *(title_of(metric) + (", most disputed" if part != "all" else "") for metric, part in COLUMNS)),
        tuple(lines) if filled(lines) else (),
        tuple(records),
        NOTES if filled(lines) else (),
        "" if filled(lines) else str(made),
    )


def _records(found: Sequence[BySeed], *, kind: str, **whose: str) -> Iterator[dict[str, Any]]:
    """A row a column; of yardsticks, which do not have them all, those that are there."""
    for (metric, part), one in zip(COLUMNS, found, strict=True):
        if one or kind == "method":
            yield {**record(one, **whose, metric=metric, slice=part), "kind": kind}


def _yardsticks(evidence: Evidence, protocol: str) -> Iterator[tuple[str, str, list[BySeed]]]:
    """What people, guesses and the most frequent class score, in the columns of the table."""
    for name, (other, words) in YARDSTICKS.items():
        found = [
            measured(evidence, Sought(metric, "soft", slice=part, protocol=protocol, outside=other))
            for metric, part in COLUMNS
        ]
        if any(found):
            yield name, words, found
    if frequent := measured(evidence, Sought("majority_class", "soft", protocol=protocol)):
        yield "most frequent class", "of the evaluation items", [frequent, *[BySeed({})] * (len(COLUMNS) - 1)]


def abstract_table(evidence: Evidence, paper: Paper) -> Grid:
    """How much lower KL is and how much stronger the correlation, in percent, beside the abstract's numbers."""
    told = paper.published
    head = ("", "", "KL, lower by", "with a temperature in both arms", "entropy correlation, stronger by", "Pearson's")
    lines = [
        Line(
            "abstract",
            "averaged over its data sets",
            (
                Box(_percent(told.value("abstract", "soft", "kl_reduction").mean)),
                Box(),
                Box(_percent(told.value("abstract", "soft", "entropy_correlation_gain").mean)),
                Box(),
            ),
            "published",
        )
    ]
    records = []
    for protocol in paper.protocols:
        found = {
            "kl": _relative(evidence, protocol, "kl"),
            "kl, tempered": _relative(evidence, protocol, "kl", tempered=True),
            "entropy_correlation": _relative(evidence, protocol, "entropy_correlation"),
            "entropy_correlation_pearson": _relative(evidence, protocol, "entropy_correlation_pearson"),
        }
        if any(found.values()):
            lines.append(Line(protocol, "measured", tuple(_share(one) for one in found.values())))
        records += [record(one, protocol=protocol, what=what) for what, one in found.items()]
    notes = (
        "Shares of the mean of majority vote over seeds, which intervals take as known. A relative gain says nothing "
        "where the correlation of majority vote is near 0 or below: none is given where it is below .05.",
    )
    return Grid("abstract", paper.places["abstract"], head, tuple(lines), tuple(records), notes)


def _relative(evidence: Evidence, protocol: str, metric: str, tempered: bool = False) -> BySeed:
    """By seed, the gain of soft labels as a share of the mean of majority vote."""
    soft, hard = (
        measured(evidence, Sought(metric, method, protocol=protocol, tempered=tempered))
        for method in ("soft", "majority")
    )
    if not soft or not hard or hard.mean < (0.05 if METRICS[metric].correlation else 0.0):
        return BySeed({})
    sign = 1 if METRICS[metric].higher_is_better else -1
    shared = [seed for seed in soft.values if seed in hard.values]
    return BySeed({seed: sign * (soft.values[seed] - hard.values[seed]) / hard.mean for seed in shared})


def _share(found: BySeed) -> Box:
    interval = found.interval
    if interval is None:
        return Box()
    detail = f"[{_percent(interval.low)}, {_percent(interval.high)}]" if np.isfinite(interval.low) else ""
    return Box(_percent(interval.mean), detail)


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"


def enough_table(found: Sequence[tuple[str, str, Sequence[Enough]]], title: str, missing: str) -> Grid:
    """Data set by data set and method by method, how many votes are enough, a column a metric."""
    head = ("", "", *(_head(one) for _, _, several in found[:1] for one in several))
    lines = [Line(name, method, tuple(map(_enough, several))) for name, method, several in found]
    records = [
        {
            "data": name,
            "method": method,
            "metric": one.metric,
            "margin": one.margin,
            "votes": one.votes,
            "p": "; ".join(f"{votes}: {p:.3g}" for votes, p in one.p.items()),
            "barred": int(one.barred),
            "margin_added": int(one.added),
        }
        for name, method, several in found
        for one in several
    ]
    notes = [
        "The fewest votes an item from which on more of them, up to all hundred, make no difference that counts: not "
        "worse than with all votes by the margin (one-sided paired t-test over seeds, 5 %), tested from 50 votes "
        "downwards until one fails."
    ]
    if any(one.barred for _, _, several in found for one in several):
        notes.append(
            "In brackets: the model hardly beats the shares of the classes (by less than .025 of KL). Few votes are "
            "enough there because more cannot help; no answer counts that."
        )
    if any(one.added for _, _, several in found for one in several):
        notes.append("† The margin was set when results had been seen; no answer counts these.")
    if not any(one.votes is not None for _, _, several in found for one in several):
        return Grid("table2", title, head, (), tuple(records), tuple(notes), missing)
    return Grid("table2", title, head, tuple(lines), tuple(records), tuple(notes))


def _head(one: Enough) -> str:
    return f"{title_of(one.metric)} within {one.margin:g}{' †' if one.added else ''}"


def _enough(one: Enough) -> Box:
    if one.votes is None:
        return Box()
    return Box(f"({_votes(one.votes)})" if one.barred else _votes(one.votes))


def _votes(votes: int | str) -> str:
    return "more than 50" if votes == "all" else str(votes)


def by_votes_table(evidence: Evidence, paper: Paper) -> Grid:
    """The numbers of the sweep over votes: a line a method and number of votes, a column a metric."""
    few = {cell.protocol for cell in evidence.runs.values() if cell.votes != "all"}
    lines, records = [], []
    for one in (one for one in paper.experiments if one.name == "votes" and one.protocol in few):
        for method, votes, (said, reading) in product(one.methods, one.votes, READINGS.items()):
            found = {
                metric: measured(evidence, Sought(metric, method, votes, protocol=one.protocol).read(**reading))
                for metric in BY_VOTES
            }
            whose = {"protocol": one.protocol, "method": method, "votes": votes, "reading": said}
            records += [record(told, **whose, metric=metric) for metric, told in found.items()]
            if not reading:
                boxes = tuple(box(told, DIGITS) for told in found.values())
                lines.append(Line(one.protocol, f"{method}, {votes_in_words(votes)}", boxes))
    return Grid(
        "by-votes",
        "Every metric by the number of votes an item",
        ("", "", *map(title_of, BY_VOTES)),
        tuple(lines) if filled(lines) else (),
        tuple(records),
        ("Means over seeds with 95 % intervals, at the best epoch; the file has the other readings, too.",),
        "" if filled(lines) else str(coverage(evidence, paper, "table2", None)),
    )
