"""What figures of papers have in common: panels, means with intervals over seeds, bands, and published points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import require
from dissensus.report.figures import FAINT, HAIR, INK, MethodLook, looks, sheet
from dissensus.report.paper.measured import METHODS, BySeed
from dissensus.report.tables import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dissensus.experiment.papers.evidence import Curve

LOOKS: Mapping[str, MethodLook] = looks(METHODS)
PUBLISHED = "published"
BLACK = MethodLook(INK, "o")
ACROSS = 3  # panels
ENTRY = 1.45  # inches that an entry of a legend may take
BESIDE = -0.22  # where a published number stands, left of ours
BANDED = 3  # seeds, from which on a line has a band


@dataclass(frozen=True)
class Drawn:
    """A figure with what it shows, for those who cannot see it, and how to read it."""

    figure: Figure
    alt: str
    caption: str


def panels(number: int) -> tuple[Figure, list[Axes]]:
    """A figure of so many small panels, three across."""
    rows = -(-number // ACROSS)
    figure, axes = sheet(ACROSS, 10.6, 2.7 * rows + 0.4, rows)
    for ax in axes[number:]:
        ax.set_visible(False)
    return figure, axes[:number]


@dataclass(frozen=True)
class Band:
    """A line averaged over seeds, with its 95 % interval at every point."""

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    seeds: int

    @property
    def has_interval(self) -> bool:
        return self.seeds >= BANDED


def band(lines: Iterable[tuple[Any, Any]]) -> Band | None:
    r"""The mean of lines (x, y) of several seeds with the t-interval :math:`\bar y \pm t\, s / \sqrt n`.

    That of two seeds is 13 standard errors to either side, and would hide the lines: it is left out.

    Lines of as many points are averaged point by point, x as well: their points are bins of equal mass. Others are
    first interpolated over what they share.

    >>> found = band([([0, 1], [1, 3]), ([0, 1], [3, 5])])
    >>> found.mean.tolist(), found.seeds
    ([2.0, 4.0], 2)
    """
    from scipy.special import stdtrit

    told = [(np.asarray(x, np.float64), np.asarray(y, np.float64)) for x, y in lines]
    told = [(x, y) for x, y in told if len(x) and np.isfinite(y).all()]
    if not told:
        return None
    if len({len(x) for x, _ in told}) > 1:
        grid = np.linspace(max(x[0] for x, _ in told), min(x[-1] for x, _ in told), min(len(x) for x, _ in told))
        told = [(grid, np.interp(grid, x, y)) for x, y in told]
    xs, ys = np.array([x for x, _ in told]), np.array([y for _, y in told])
    n = len(ys)
    half = stdtrit(n - 1, 0.975) * ys.std(0, ddof=1) / np.sqrt(n) if n >= BANDED else np.full(ys.shape[1], np.nan)
    return Band(xs.mean(0), ys.mean(0), ys.mean(0) - half, ys.mean(0) + half, n)


def of_curves(curves: Mapping[int, Curve]) -> Band | None:
    return band((curve.x, curve.y) for curve in curves.values())


def draw_band(ax: Axes, found: Band, look: MethodLook, label: str, *, dots: bool = False, dashed: bool = False) -> None:
    ax.fill_between(found.x, found.low, found.high, color=look.colour, alpha=0.18, lw=0, zorder=2)
    ax.plot(
        found.x,
        found.mean,
        color=look.colour,
        lw=1.6,
        ls=(0, (4, 2)) if dashed else "-",
        marker=look.marker if dots else None,
        ms=4.5,
        label=label,
        zorder=3,
    )


def draw_mean(
    ax: Axes,
    x: float,
    found: BySeed,
    look: MethodLook,
    *,
    seeds: bool = True,
    hollow: bool = False,
    label: str | None = None,
) -> None:
    """A mean with its interval; behind it a faint dot a seed, or a pair of seeds."""
    interval = found.interval
    if interval is None or not np.isfinite(interval.mean):
        return
    values = np.array(list(found.values.values()))
    if seeds:
        spread = 0.10 * np.sin(2.4 * np.arange(len(values)))  # so that dots of one height stand beside each other
        ax.scatter(x + spread, values, s=9, color=look.colour, alpha=0.35, lw=0, zorder=2)
    if found.has_interval:
        ax.plot([x, x], [interval.low, interval.high], color=look.colour, lw=2.2, solid_capstyle="round", zorder=4)
    inside, edge, width = ("white", look.colour, 1.5) if hollow else (look.colour, "white", 0.8)
    ax.plot(x, interval.mean, ls="", marker=look.marker, ms=6.5, mfc=inside, mec=edge, mew=width, zorder=5, label=label)


def draw_published(ax: Axes, x: float, y: float | None, look: MethodLook = BLACK) -> None:
    """The paper's own number, where it has one: a hollow diamond, so that it is told from ours without colours, too."""
    if y is not None:
        ax.plot(x, y, ls="", marker="D", ms=6.5, mfc="none", mec=look.colour, mew=1.3, zorder=6)


def grid(ax: Axes) -> None:
    ax.grid(axis="y", color=HAIR, lw=0.5, alpha=0.7)


def legend(figure: Figure, *, published: bool = False) -> None:
    """Above all axes: what any of them has, each once, and what the hollow diamonds are."""
    told: dict[str, Any] = {}
    for ax in figure.axes:  # where runs are still to be made, no panel need have everything
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            told.setdefault(name, handle)
    if published:
        lines = require("matplotlib.lines", extra="report")
        told[PUBLISHED] = lines.Line2D([], [], ls="", marker="D", ms=6.5, mfc="none", mec=INK, mew=1.3)
    if told:
        wide = max(1, int(figure.get_figwidth() / ENTRY))
        figure.legend(list(told.values()), list(told), loc="outside upper center", ncols=min(len(told), wide))


def over_seeds(found: Iterable[Band | BySeed]) -> str:
    """What follows "means" in a caption: how many seeds there are, which may not be all yet, and what is drawn of them.

    >>> seven, ten = (band([([0, 1], [1, 3])] * seeds) for seeds in (7, 10))
    >>> over_seeds([ten, ten]), over_seeds([ten, seven])
    ('over 10 seeds with 95 % intervals', 'over 7 to 10 seeds with 95 % intervals')
    """
    drawn = [one for one in found if isinstance(one, Band) or one]
    numbers = sorted({one.seeds if isinstance(one, Band) else len(one.seeds) for one in drawn})
    if not numbers:
        return f"over seeds{with_intervals(drawn)}"
    of = (
        "1 seed" if numbers == [1] else f"{' to '.join(str(n) for n in dict.fromkeys((numbers[0], numbers[-1])))} seeds"
    )
    return f"over {of}{with_intervals(drawn)}"


def with_intervals(found: Iterable[Band | BySeed]) -> str:
    """What follows "means over seeds" in a caption: intervals are promised as far as they are drawn.

    >>> one, two, three = (band([([0, 1], [1, 3])] * seeds) for seeds in (1, 2, 3))
    >>> with_intervals([three, three]), with_intervals([two, three]), with_intervals([one, two])
    (' with 95 % intervals', ', with 95 % intervals from three seeds on', ', too few for intervals')
    """
    drawn: dict[bool, list[Band | BySeed]] = {True: [], False: []}
    for one in found:
        if isinstance(one, Band) or one:
            drawn[one.has_interval].append(one)
    if not drawn[True]:
        return ", too few for intervals"
    if not drawn[False]:
        return " with 95 % intervals"
    of_two = not any(isinstance(one, Band) or one.of_pairs for one in drawn[False])
    return f", with 95 % intervals from {'two' if of_two else 'three'} seeds on"


def told_mean(found: BySeed, digits: int = 3) -> str:
    """A mean with its interval in words: "0.505 (0.490 to 0.520)"."""
    interval = found.interval
    if interval is None:
        return "not measured"
    if not found.has_interval:
        return number(interval.mean, digits)
    return f"{number(interval.mean, digits)} ({number(interval.low, digits)} to {number(interval.high, digits)})"


def zero(ax: Axes) -> None:
    ax.axhline(0, color=FAINT, lw=0.8, zorder=1)
