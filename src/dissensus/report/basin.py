"""Where training ended up: what diagnostics found inside the models, by method. Numbers, not verdicts.

No rule for them was fixed before the runs, so nothing here is judged: means over seeds stand with their intervals, and
sentences say what they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from dissensus.base.words import listed
from dissensus.diagnostics.registry import DIAGNOSTICS, titled
from dissensus.records import Diagnosis
from dissensus.records.canonical import NAME_DIGITS
from dissensus.report.comparison import Comparison, Panel, mean_interval
from dissensus.report.tables import Box, Table, TableRow, csv_text, interval_cell, number
from dissensus.stats import Interval
from dissensus.stats.jackknife import over_pairs

HEADLINE = ("top_eigenvalue", "trace_times_norm", "epochs_to_95", "cka")  # told in words, where they are there
_RUN = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}")
UNJUDGED = "These are measurements, not verdicts: no rule for them was fixed before the runs."


class About(NamedTuple):
    """What a number is about, whichever run it was found in."""

    name: str
    slice: str
    other: str  # a set of images; that of two runs is in the column

    @property
    def title(self) -> str:
        told = titled(Diagnosis(self.name, np.nan, np.nan, np.nan, 0, self.slice))  # type: ignore[arg-type]
        return f"{told}, {self.other}" if self.other else told

    @property
    def place(self) -> int:
        """In the order of the registry; what is not in it comes last."""
        return list(DIAGNOSTICS).index(self.name) if self.name in DIAGNOSTICS else len(DIAGNOSTICS)

    @property
    def digits(self) -> int:
        return DIAGNOSTICS[self.name].digits if self.name in DIAGNOSTICS else 3


class Seen(NamedTuple):
    """One number, with where it was found: a method and a seed, and those of the other run, if there is one."""

    found: Diagnosis
    method: str
    seed: int  # its place in the panel
    other: tuple[str, int] | None

    @property
    def about(self) -> About:
        return About(self.found.name, self.found.slice, "" if self.other else self.found.other)


Findings = dict[About, dict[str, Interval]]  # by method, or by pair of methods


@dataclass(frozen=True)
class Basin:
    """What was found in a panel: tables, and what they say in words."""

    best: Table
    last: Table | None
    between: Table | None
    sentences: tuple[str, ...]


def basin(panel: Panel) -> Basin | None:
    """None where nobody has looked inside a run of the panel."""
    seen = list(_seen(panel))
    if not seen:
        return None
    best = by_method(seen, ("best", ""))
    last = by_method(seen, ("last",))
    between = by_pair(seen)
    errors = _own_errors(one for one in seen if one.found.weights == "best")
    paired = {one.found.name for one in seen if one.other is not None and one.other[0] == one.method}
    return Basin(
        best=_table("Inside the models, at the best epoch", best, panel.methods, _notes(panel, best, errors, paired)),
        last=_table("Inside the models, at the last epoch", last, panel.methods) if last else None,
        between=_table("Between models of one seed", between, _columns(between)) if between else None,
        sentences=(*_sentences(best), UNJUDGED),
    )


def by_method(seen: Sequence[Seen], weights: Iterable[str]) -> Findings:
    """Means over seeds; of what is said of two seeds of a method, means over the pairs of seeds."""
    values: dict[About, dict[str, dict[tuple[int, ...], float]]] = {}
    for one in seen:
        if one.found.weights in tuple(weights) and (one.other is None or one.other[0] == one.method):
            seeds = (one.seed,) if one.other is None else (one.seed, one.other[1])
            values.setdefault(one.about, {}).setdefault(one.method, {})[seeds] = one.found.value
    return {
        about: {method: _over_seeds(found) for method, found in methods.items()}
        for about, methods in sorted(values.items(), key=lambda pair: pair[0].place)
    }


def by_pair(seen: Sequence[Seen]) -> Findings:
    """Means over seeds of what is said of two methods of one seed."""
    values: dict[About, dict[str, list[float]]] = {}
    for one in seen:
        if one.other is not None and one.other[0] != one.method and one.other[1] == one.seed:
            pair = " – ".join(sorted((one.method, one.other[0])))
            values.setdefault(one.about, {}).setdefault(pair, []).append(one.found.value)
    return {
        about: {pair: mean_interval(np.array(found)) for pair, found in pairs.items()}
        for about, pairs in sorted(values.items(), key=lambda pair: pair[0].place)
    }


def basin_csv(comparison: Comparison) -> str:
    """Every number of every run, as it stands beside the run, with the method and the seed; "" if there is none."""
    names = [field.name for field in fields(Diagnosis)]
    rows = [
        (panel.votes, one.method, panel.seeds[one.seed], *(getattr(one.found, name) for name in names))
        for panel in comparison.panels
        for one in _seen(panel)
    ]
    return csv_text(("votes", "method", "seed", *names), rows) if rows else ""


def _seen(panel: Panel) -> Iterator[Seen]:
    where = {run.name: (method, seed) for method, runs in panel.runs.items() for seed, run in enumerate(runs)}
    for method, runs in panel.runs.items():
        for seed, run in enumerate(runs):
            for found in run.diagnostics():
                if found.other in where or not _RUN.fullmatch(found.other):  # a run of another panel is no column here
                    yield Seen(found, method, seed, where.get(found.other))


def _over_seeds(values: Mapping[tuple[int, ...], float]) -> Interval:
    if all(len(seeds) == 1 for seeds in values):
        return mean_interval(np.array(list(values.values())))
    return over_pairs({(seeds[0], seeds[1]): value for seeds, value in values.items()}).interval()


def _table(title: str, found: Findings, columns: Sequence[str], notes: tuple[str, ...] = ()) -> Table:
    rows = tuple(
        TableRow(about.title, "method", tuple(_cell(about, methods.get(column)) for column in columns))
        for about, methods in found.items()
    )
    return Table(title, ("", *columns), rows, notes)


def _cell(about: About, interval: Interval | None) -> Box:
    if interval is not None and about.name in DIAGNOSTICS:
        low, high = DIAGNOSTICS[about.name].within(interval.low, interval.high)
        interval = replace(interval, low=low, high=high)
    return interval_cell(interval, digits=about.digits)


def _columns(found: Findings) -> list[str]:
    return sorted({pair for pairs in found.values() for pair in pairs})


def _notes(panel: Panel, found: Findings, errors: Mapping[str, float], paired: Collection[str]) -> tuple[str, ...]:
    seeds = len(panel.seeds)
    notes = ["One seed: there are no intervals." if seeds == 1 else f"Means over {seeds} seeds, with 95 % intervals."]
    if errors:
        off = listed([f"{DIAGNOSTICS[name].title} ± {number(100 * error, 1)} %" for name, error in errors.items()])
        notes.append(f"The estimates for one model are uncertain by themselves, too, by at most {off}.")
    names = dict.fromkeys(about.name for about in found if about.name in DIAGNOSTICS)
    if two := [DIAGNOSTICS[name].title for name in names if name in paired]:
        notes.append(f"Of two seeds of a method, on the items that neither was trained on: {'; '.join(two)}.")
    return (*notes, *(f"{DIAGNOSTICS[name].title}: {DIAGNOSTICS[name].meaning}." for name in names))


def _own_errors(seen: Iterable[Seen]) -> dict[str, float]:
    """The widest half-interval of the curvature of any one model on all its items, as a share of its value."""
    widest: dict[str, float] = {}
    for one in (one.found for one in seen if one.found.slice == "all"):
        if one.name in ("top_eigenvalue", "trace") and one.value and np.isfinite(one.high):
            widest[one.name] = max(widest.get(one.name, 0.0), (one.high - one.low) / 2 / abs(one.value))
    return widest


def _sentences(found: Findings) -> Iterator[str]:
    """From the lowest mean to the highest, for the numbers that people ask for first."""
    for about, methods in found.items():
        if about.name in HEADLINE and about.slice == "all" and not any(np.isnan(i.mean) for i in methods.values()):
            ordered = sorted(methods.items(), key=lambda pair: pair[1].mean)
            told = [f"{number(interval.mean, about.digits)} with {method}" for method, interval in ordered]
            yield f"{about.title}: {listed(told)}."
