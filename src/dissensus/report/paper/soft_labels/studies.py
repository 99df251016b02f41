"""A study as the page shows it: every comparison with its interval, and a figure where one says more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.report.paper.drawing import LOOKS, Drawn, band, draw_band, grid, legend, over_seeds, panels
from dissensus.report.paper.grid import Grid, Line, title_of
from dissensus.report.tables import Box, number

if TYPE_CHECKING:
    from dissensus.experiment.studies import Studied
    from dissensus.experiment.studies.finding import Finding
    from dissensus.experiment.studies.score import Score

TITLES = {"soft_aurc": "area of soft risk ↓", "aurc": "area of risk ↓", "excess_aurc": "excess area ↓"}
SIGNS = {"higher": "▲", "lower": "▼", "same": "=", "undecided": "?"}
ARMS = ("majority", "soft")
AT = "soft risk at "


def study_table(studied: Studied) -> Grid:
    """A line a comparison, data set by data set; a column a metric."""
    views = studied.study.views
    found = {(_place(one), (one.metric, one.tempered)): one for one in studied.findings}
    lines = [
        Line(place[0], _compared(*place[1:]), tuple(_box(found.get((place, view))) for view in views))
        for place in dict.fromkeys(place for place, _ in found)
    ]
    heads = (
        f"{TITLES.get(metric) or title_of(metric)}{', with a temperature' if tempered else ''}"
        for metric, tempered in views
    )
    return Grid(
        studied.name,
        studied.question,
        ("", "", *heads),
        tuple(lines),
        notes=_notes(studied.findings),
        missing="" if lines else f"not judged yet: {studied.seeds} of the two seeds that it takes at least",
    )


def _place(one: Finding) -> tuple[str, str, str, str]:
    return one.data, one.question, one.first, one.second


def _compared(question: str, first: str, second: str) -> str:
    return f"{question}: {first} less {second}"


def _box(one: Finding | None) -> Box:
    if one is None:
        return Box()
    sign = SIGNS[one.word.split()[0]] + (" =" if one.side and one.same else "")
    low, high = number(one.low, 3), number(one.high, 3)
    return Box(f"{number(one.difference, 3)} {sign}{' *' if one.doubt else ''}", f"[{low}, {high}]")


def _notes(findings: Sequence[Finding]) -> tuple[str, ...]:
    if not findings:
        return ()
    margins = ", ".join(
        f"{number(margin, 3)} of {(TITLES.get(metric) or title_of(metric)).rstrip(' ↑↓')}"
        for metric, margin in {one.metric: one.margin for one in findings}.items()
    )
    notes = [
        "Means over paired seeds with 95 % intervals. ▲ higher, ▼ lower (Wilcoxon, 5 %), = the same within the margin "
        f"(test of equivalence, 5 %), ? undecided; Holm over all comparisons of a data set. Margins: {margins}."
    ]
    if any(one.doubt for one in findings):
        notes.append(
            "* Nothing is decided, whatever the numbers, since the models have learnt too little: majority labels do "
            "not beat the most frequent class by five points of accuracy, or, where they are not compared, soft labels "
            "do not beat the shares of the classes by .025 of KL."
        )
    return tuple(notes)


def coverage_curves(studied: Studied) -> Drawn | None:
    """How often people contradict the answers, by the share of the items that are answered; a panel a data set."""
    rows = [row for row in studied.scores if row.checkpoint == "best" and not row.tempered]
    shown = list(dict.fromkeys((row.data, row.condition) for row in rows))
    if not shown:
        return None
    figure, axes = panels(len(shown))
    said = []
    bands = []
    for ax, place in zip(axes, shown, strict=True):
        here = [row for row in rows if (row.data, row.condition) == place]
        halves = {}
        for method in ARMS:
            found = band(_curve(row) for row in here if row.method == method)
            if found is not None:
                draw_band(ax, found, LOOKS[method], method)
                bands.append(found)
                halves[method] = float(np.interp(0.5, found.x, found.mean))
        if len(halves) == len(ARMS):
            said.append(
                f"{', '.join(place)}: {halves['soft']:.1%} with soft, {halves['majority']:.1%} with majority labels"
            )
        ax.set_title(", ".join(place))
        ax.set_xlabel("share of the items that are answered")
        grid(ax)
    axes[0].set_ylabel("answers that people contradict")
    legend(figure)
    return Drawn(
        figure,
        "Share of the answers that a person, asked at random, contradicts, by the share of the items that a model "
        f"answers, the surest first. At half of the items: {'; '.join(said)}.",
        "The model answers what it is surest of first; the rest is left to people. Means "
        f"{over_seeds(bands)}; best epoch, without a temperature.",
    )


def _curve(row: Score) -> tuple[list[float], list[float]]:
    at = [(float(name.removeprefix(AT)), risk) for name, risk in row.values.items() if name.startswith(AT)]
    return [share for share, _ in at], [risk for _, risk in at]


FIGURES: Mapping[str, Callable[[Studied], Drawn | None]] = {"coverage": coverage_curves}
