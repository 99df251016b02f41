"""The comparison as tables: for a terminal, as CSV, Markdown and HTML, and as JSON.

Tables that people read are made of :class:`Box`; tables that programs read hold every number in full precision.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from dissensus.base.words import listed, shown
from dissensus.metrics import METRICS, Estimate
from dissensus.records import Checkpoint
from dissensus.report.comparison import HEADLINE, Comparison, Judgement, Measure, Panel
from dissensus.report.in_short import in_short
from dissensus.report.rules import ALPHA, RULES
from dissensus.report.ties import ties
from dissensus.report.votes_needed import votes_needed
from dissensus.stats import Interval, Verdict
from dissensus.stats.bootstrap import FEWEST

BEST = "*"


@dataclass(frozen=True)
class Box:
    """One place of a table: a number as it is printed, with its interval; ``best`` only where a verdict supports it,
    ``differs`` where a paper has another one.
    """

    text: str = "–"
    detail: str = ""
    best: bool = False
    differs: bool = False

    def __str__(self) -> str:
        text = self.text + (BEST if self.best else "")
        return f"{text} {self.detail}" if self.detail else text


@dataclass(frozen=True)
class TableRow:
    """One line of a table: a method, a method after its temperature, or a reference that is no method."""

    name: str
    kind: Literal["method", "tempered", "reference"]
    cells: tuple[Box, ...]


@dataclass(frozen=True)
class Table:
    """Rows under a head, with what a reader has to know below."""

    title: str
    head: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()


def number(value: float, digits: int = 3) -> str:
    """A score as it is printed.

    >>> number(0.35), number(float("inf")), number(float("nan")), number(-0.00001)
    ('0.350', '∞', '–', '0.000')
    """
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def p_value(value: float) -> str:
    """A p-value as it is printed.

    >>> p_value(0.0469), p_value(1.0), p_value(0.00002)
    ('0.047', '1', '< 0.001')
    """
    if value >= 0.9995:
        return "1"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval_cell(interval: Interval | None, best: bool = False, digits: int = 3) -> Box:
    """Mean and interval, ``0.352 [0.341, 0.361]``; the mean alone where there is no interval."""
    if interval is None:
        return Box()
    if np.isnan(interval.low):
        return Box(number(interval.mean, digits), best=best)
    bounds = f"[{number(interval.low, digits)}, {number(interval.high, digits)}]"
    return Box(number(interval.mean, digits), bounds, best)


def methods_table(
    comparison: Comparison, panel: Panel, checkpoint: Checkpoint = "best", against: str = "human"
) -> Table:
    """Methods × metrics: means over seeds with intervals, plain and after a temperature, with ceiling and floor."""
    measured = {measure.metric for measure in panel.scores if measure.against == against}
    metrics = [metric for metric in HEADLINE if metric in measured]
    rows = [
        TableRow(
            method + (" + temperature" if tempered else ""),
            "tempered" if tempered else "method",
            tuple(_score_cell(panel, Measure(metric, tempered, checkpoint, against), method) for metric in metrics),
        )
        for tempered in (False, True)
        for method in panel.methods
        if any(method in panel.scores.get(Measure(m, tempered, checkpoint, against), {}) for m in metrics)
    ]
    if against == "human":
        for name, references in comparison.references.items():
            if any(metric in references for metric in metrics):
                cells = tuple(estimate_cell(references.get(metric)) for metric in metrics)
                rows.append(TableRow(name, "reference", cells))
    title = f"Methods at the {checkpoint} epoch" + ("" if against == "human" else ", against the true distribution")
    return Table(
        title,
        ("method", *(heading(metric) for metric in metrics)),
        tuple(rows),
        _legend(comparison, panel, rows, metrics, checkpoint),
    )


def others_table(panel: Panel, checkpoint: Checkpoint = "best") -> Table | None:
    """Metrics × methods: all that are in METRICS and not in the table of methods, those of one's own among them."""
    measured = [Measure(metric, checkpoint=checkpoint) for metric in METRICS if metric not in HEADLINE]
    rows = [
        TableRow(
            heading(m.metric), "method", tuple(interval_cell(panel.interval(m, method)) for method in panel.methods)
        )
        for m in measured
        if m in panel.scores
    ]
    seeds = len(panel.seeds)
    over = "One seed." if seeds == 1 else f"Means over {seeds} paired seeds, with 95 % {_interval(seeds)}s."
    notes = (over, "None of them is judged. After a temperature, and against a known truth: tables/scores.csv.")
    return (
        Table(f"Other metrics at the {checkpoint} epoch", ("metric", *panel.methods), tuple(rows), notes)
        if rows
        else None
    )


def heading(metric: str, more: str = "") -> str:
    """A metric's title with its direction.

    >>> heading("kl")[-1], heading("accuracy")[-1]
    ('↓', '↑')
    """
    higher = METRICS[metric].higher_is_better
    return METRICS[metric].title + more + ("" if higher is None else " ↑" if higher else " ↓")


def _score_cell(panel: Panel, measure: Measure, method: str) -> Box:
    judgement = panel.judgement(measure)
    best = judgement is not None and method in judgement.best
    return interval_cell(panel.interval(measure, method), best)


def estimate_cell(estimate: Estimate | None, digits: int = 3) -> Box:
    return Box() if estimate is None else Box(number(estimate.mean, digits), f"± {number(estimate.sd, digits)}")


def _legend(
    comparison: Comparison,
    panel: Panel,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    checkpoint: Checkpoint,
) -> tuple[str, ...]:
    seeds = len(panel.seeds)
    notes = [
        "One seed: there are no intervals, and nothing can be tested."
        if seeds == 1
        else f"Means over {seeds} paired seeds, with 95 % {_interval(seeds)}s."
    ]
    if any(cell.best for row in rows for cell in row.cells):
        notes.append(f"{BEST} beats another method and is beaten by none, by the rules; other columns are not judged.")
    if any(row.kind == "tempered" for row in rows):
        where = (
            "cross-fitted over two halves of the evaluation items" if panel.cross_fitted else "on the selection items"
        )
        notes.append(f"+ temperature: one number a run, fitted by soft cross-entropy {where}.")
    names = {row.name for row in rows}
    if comparison.people.name in names:
        notes.append(comparison.people.words)
    if "noise floor" in names:
        notes.append(
            "Noise floor: what a perfect model would score with this number of items and votes. Where no truth is "
            "known the shares of the votes stand for it, and few votes make the floor look lower than it is."
        )
        notes += _near_floor(comparison, panel)
    if "class shares" in names:
        notes.append(
            "Class shares: how frequent each class is, said of every item alike, as if a model never looked at one. "
            "One that has learned may have a KL as high if it is too sure; its KL after a temperature tells."
        )
    if names & comparison.references.keys():
        of = "ceiling" if comparison.people.ceiling else "people"
        notes.append(f"± of {of} and floor: the spread over draws of one seed; of class shares: the standard error.")
    if "accuracy" in metrics:
        which = "Accuracy and ECE are" if "ece" in metrics else "Accuracy is"
        classes = comparison.setting.get("data.classes")
        order = list(map(shown, classes)) if isinstance(classes, list | tuple) else []
        found, of_files = ties(panel.runs, checkpoint), "votes" in comparison.source
        notes.append(" ".join(filter(None, (f"{which} against the most frequent vote.", found.rule(of_files, order)))))
        if found.share and of_files:
            votes = panel.votes + "," * ("," in panel.votes)  # "2 votes an item, drawn with replacement," and on
            notes.append(found.told(f" with {votes}" if len(comparison.panels) > 1 else ""))
    if "ece" in metrics:
        notes.append(
            "A model that matches divided annotators is right more often than it says, and ECE counts that as an error."
        )
    return tuple(notes)


def _near_floor(comparison: Comparison, panel: Panel) -> list[str]:
    """ECE is never 0: near its floor it ranks nothing, and that has to be said beside the number."""
    floor = comparison.floors.get("ece")
    scores = panel.intervals.get(Measure("ece"), {})
    near = [method for method, i in scores.items() if floor is not None and i.mean <= floor.mean + 2 * floor.sd]
    return (
        [f"ECE cannot rank {listed(near)}: so near to the noise floor, differences are noise."] if len(near) > 1 else []
    )


def verdicts_table(panel: Panel, checkpoint: str = "best") -> Table:
    """One row a pair of methods and rule: the difference, both p-values, and the verdict."""
    rows = tuple(
        TableRow(
            judgement.measure.title,
            "method",
            (
                Box(f"{v.first} − {v.second}"),
                interval_cell(v.difference, digits=4),
                Box(p_value(v.p_differ)),
                Box(p_value(v.p_same)),
                Box(outcome(v)),
            ),
        )
        for judgement in panel.judgements
        if judgement.checkpoint == checkpoint
        for v in judgement.verdicts
    )
    head = ("metric", "pair", "difference", "p (differ)", "p (same)", "verdict")
    mean = f"Difference: first minus second, mean over seeds, with a 95 % {_interval(len(panel.seeds))}."
    return Table(f"Verdicts at the {checkpoint} epoch", head, rows, (mean, *RULES_IN_WORDS))


def _interval(seeds: int) -> str:
    """As ``stats.bootstrap`` takes it."""
    return "bootstrap interval" if seeds >= FEWEST else "Student's t interval"


def outcome(verdict: Verdict) -> str:
    """A verdict where the pair is named beside it."""
    return {
        "better": f"{verdict.winner} is better",
        "better within the margin": f"{verdict.winner} is better, by less than {verdict.margin:g}",
        "same": f"the same within {verdict.margin:g}",
        "undecided": "undecided",
    }[verdict.word]


RULES_IN_WORDS = (
    "p (differ): two-sided exact Wilcoxon signed-rank test over paired seeds, Holm over all pairs of the metric.",
    "p (same): equivalence within the margin, the larger of two one-sided t-tests, Holm over all pairs of the metric.",
    f"A method is better where p (differ) < {ALPHA:g} and the mean difference is on the side of the ranks; two are the "
    f"same where p (same) < {ALPHA:g}; else undecided.",
)


def summary(comparison: Comparison, checkpoint: Checkpoint = "best") -> list[Table]:
    """What a terminal shows, a table for every number of votes: what the rules judge, and accuracy."""
    measures = [Measure(rule.metric, rule.tempered, checkpoint) for rule in RULES]
    measures.append(Measure("accuracy", checkpoint=checkpoint))
    return [
        _summary(comparison, panel, [m for m in measures if m in panel.scores], checkpoint)
        for panel in comparison.panels
    ]


def _summary(comparison: Comparison, panel: Panel, measures: Sequence[Measure], checkpoint: Checkpoint) -> Table:
    rows = [
        TableRow(method, "method", tuple(_narrow(_score_cell(panel, measure, method)) for measure in measures))
        for method in panel.methods
    ]
    for name, references in comparison.references.items():
        cells = tuple(_narrow(estimate_cell(references.get(m.metric))) for m in measures)
        rows.append(TableRow(name, "reference", cells))
    head = ("method", *(heading(m.metric, " + temperature" if m.tempered else "") for m in measures))
    short = comparison.short_of(panel)
    title = f"{comparison.title}, {panel.votes}, {checkpoint} epoch"
    title += f" ({short})" if short else ""
    return Table(title, head, tuple(rows), _legend(comparison, panel, rows, [m.metric for m in measures], checkpoint))


def _narrow(cell: Box) -> Box:
    """The same in 80 columns: ``[.341, .361]``."""
    return replace(cell, detail=re.sub(r"(?<!\d)0\.", ".", cell.detail))


def to_markdown(table: Table) -> str:
    """A table in Markdown; best values are bold, and so need no asterisk."""

    def cell(cell: Box) -> str:
        return _escape((f"**{cell.text}**" if cell.best else cell.text) + (f" {cell.detail}" if cell.detail else ""))

    lines = [
        f"## {_escape(table.title)}",
        "",
        "| " + " | ".join(map(_escape, table.head)) + " |",
        "|" + " --- |" * len(table.head),
        *("| " + " | ".join([_escape(row.name), *map(cell, row.cells)]) + " |" for row in table.rows),
        "",
        *(f"- {_escape(note.replace(f'{BEST} beats', 'Bold: beats'))}" for note in table.notes),
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def scores_csv(comparison: Comparison) -> str:
    """Every measure of every method: mean, interval and number of seeds, a row each."""
    head = ("votes", "method", "metric", "checkpoint", "tempered", "against", "seeds", "mean", "low", "high")
    return csv_text(
        head,
        (
            (panel.votes, method, *_measure_fields(measure), len(panel.seeds), i.mean, i.low, i.high)
            for panel in comparison.panels
            for measure, methods in panel.intervals.items()
            for method, i in methods.items()
        ),
    )


def seeds_csv(comparison: Comparison) -> str:
    """Every score of every run, a row each: what all other numbers are made of."""
    head = ("votes", "method", "seed", "run", "metric", "checkpoint", "tempered", "against", "value")
    return csv_text(
        head,
        (
            (panel.votes, method, seed, run.name, *_measure_fields(measure), float(value))
            for panel in comparison.panels
            for measure, methods in panel.scores.items()
            for method, values in methods.items()
            for seed, run, value in zip(panel.seeds, panel.runs[method], values, strict=True)
        ),
    )


def verdicts_csv(comparison: Comparison) -> str:
    """Every verdict, a row each."""
    head = (
        *("votes", "metric", "checkpoint", "tempered", "first", "second", "difference", "low", "high"),
        *("p_differ", "p_same", "margin", "winner", "same", "verdict"),
    )
    return csv_text(
        head,
        (
            (panel.votes, *_verdict_fields(judgement, verdict).values())
            for panel in comparison.panels
            for judgement in panel.judgements
            for verdict in judgement.verdicts
        ),
    )


def to_json(comparison: Comparison) -> str:
    """The whole comparison as strict JSON; infinite and undefined numbers are null."""
    content = {
        "data": comparison.data,
        "title": comparison.title,
        "sentences": list(comparison.sentences),
        "in_short": in_short(comparison),
        "votes_needed": votes_needed(comparison),
        "notes": list(comparison.notes),
        "votes": None if comparison.votes is None else comparison.votes.as_json,
        "setting": dict(comparison.setting),
        "varying": {field: list(values) for field, values in comparison.varying.items()},
        "ceilings_are": comparison.people.name,
        "ceilings": {m: {"mean": e.mean, "sd": e.sd} for m, e in comparison.ceilings.items()},
        "floors": {m: {"mean": e.mean, "sd": e.sd} for m, e in comparison.floors.items()},
        "class_shares": {m: {"mean": e.mean, "sd": e.sd} for m, e in comparison.class_shares.items()},
        "panels": [_panel_json(comparison, panel) for panel in comparison.panels],
    }
    return json.dumps(_strict(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _panel_json(comparison: Comparison, panel: Panel) -> dict[str, Any]:
    return {
        "votes": panel.votes,
        "title": comparison.title_of(panel),
        "seeds": list(panel.seeds),
        "methods": list(panel.methods),
        "ties": asdict(ties(panel.runs)),
        "runs": {method: [run.name for run in runs] for method, runs in panel.runs.items()},
        "scores": [
            {
                "method": method,
                **measure._asdict(),
                "mean": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "values": panel.scores[measure][method].tolist(),
            }
            for measure, methods in panel.intervals.items()
            for method, interval in methods.items()
        ],
        "verdicts": [_verdict_fields(j, v) for j in panel.judgements for v in j.verdicts],
        "sentences": [{**j.measure._asdict(), "sentence": j.sentence} for j in panel.judgements],
    }


def _measure_fields(measure: Measure) -> tuple[str, str, int, str]:
    return measure.metric, measure.checkpoint, int(measure.tempered), measure.against


def _verdict_fields(judgement: Judgement, verdict: Verdict) -> dict[str, Any]:
    return {
        "metric": judgement.rule.metric,
        "checkpoint": judgement.checkpoint,
        "tempered": int(judgement.rule.tempered),
        "first": verdict.first,
        "second": verdict.second,
        "difference": verdict.difference.mean,
        "low": verdict.difference.low,
        "high": verdict.difference.high,
        "p_differ": verdict.p_differ,
        "p_same": verdict.p_same,
        "margin": verdict.margin,
        "winner": verdict.winner,
        "same": bool(verdict.same),
        "verdict": verdict.word,
    }


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """For programs: every number so that it reads the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([repr(float(v)) if isinstance(v, float | np.floating) else v for v in row] for row in rows)
    return text.getvalue()
