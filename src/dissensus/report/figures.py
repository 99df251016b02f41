"""The figures: each ``plot_x(data, ax=...)`` draws one view into one set of axes and touches nothing else.

Colours are those of Okabe and Ito, which people with colour-blindness tell apart, and every method keeps its colour and
marker in all figures. matplotlib's global settings are never changed.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dissensus.base.errors import require
from dissensus.report.comparison import Comparison, Measure, Panel
from dissensus.report.gallery import Item
from dissensus.report.rules import RULES
from dissensus.report.views import (
    ByVotes,
    Differences,
    Entropies,
    Learning,
    ReliabilityCurve,
    by_votes,
    differences,
    entropies,
    finite,
    human_reliability,
    label_reliability,
    learning,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2328"
FAINT = "#8b949e"
HAIR = "#d0d7de"
HUMANS = "#1f2328"
TRUTH = "#8b949e"

FONT = "DejaVu Sans"  # comes with matplotlib: figures look the same on every machine
# For names in scripts that it has not, those of these that are here.
_OTHER_FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Nirmala UI", "Leelawadee UI"),
)
_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "dissensus",  # ids in an SVG follow from its content: the same runs give the same file
    "svg.fonttype": "path",
}


class MethodLook(NamedTuple):
    """How a method is drawn."""

    colour: str
    marker: str


_LOOKS = {
    "soft": MethodLook("#0072B2", "o"),
    "sls": MethodLook("#E69F00", "s"),
    "multipass": MethodLook("#009E73", "^"),
    "majority": MethodLook("#D55E00", "D"),
    "deterministic-control": MethodLook("#CC79A7", "v"),
    "label-smoothing": MethodLook("#56B4E9", "P"),
    "mixup": MethodLook("#8C6D1F", "X"),
    "shuffled-sls": MethodLook("#5E3C99", "*"),
}


def looks(methods: Sequence[str]) -> dict[str, MethodLook]:
    """A colour and a marker for every method: its own where it is a known one, else one that is free.

    >>> looks(["soft", "mine"])["soft"] == looks(["soft"])["soft"]
    True
    """
    free = [look for name, look in _LOOKS.items() if name not in methods] or list(_LOOKS.values())
    strange = [method for method in methods if method not in _LOOKS]
    return {method: _LOOKS.get(method) or free[strange.index(method) % len(free)] for method in methods}


@contextmanager
def styled() -> Iterator[None]:
    """Our style for the figures drawn inside, and nobody else's."""
    matplotlib = require("matplotlib", extra="report")
    with matplotlib.rc_context({**_STYLE, "font.family": _fonts()}):
        yield


def _fonts() -> list[str]:
    here = set(require("matplotlib.font_manager", extra="report").fontManager.get_font_names())
    return [FONT, *(name for name in _OTHER_FONTS if name in here)]


def without_glyph(texts: Iterable[str]) -> str:
    """The characters that no font has with which figures are drawn here.

    >>> without_glyph(["groß", "Ελλάδα", "да"])
    ''
    """
    manager = require("matplotlib.font_manager", extra="report")
    fonts = [manager.get_font(manager.findfont(name)) for name in _fonts()]
    characters = dict.fromkeys("".join(texts))
    return "".join(c for c in characters if c.isprintable() and not any(font.get_char_index(ord(c)) for font in fonts))


def sheet(
    columns: int, width: float, height: float, rows: int = 1, layout: str = "constrained", **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with its axes, outside of pyplot's global state."""
    figure = require("matplotlib.figure", extra="report").Figure(figsize=(width, height), layout=layout)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def rendered(figure: Figure) -> dict[str, bytes]:
    """The figure as the content of a ``png`` and of an ``svg`` file; the same figure gives the same bytes.

    Where a character has no glyph here, an ``svg`` holds its texts as texts: whoever looks at it may have a font.
    """
    matplotlib = require("matplotlib", extra="report")
    files = {}
    kept: dict[str, Any] = {}
    for kind, metadata in (("png", None), ("svg", {"Date": None})):
        file = io.BytesIO()
        with warnings.catch_warnings(), matplotlib.rc_context(kept):
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            figure.savefig(file, format=kind, dpi=160, metadata=metadata)
        files[kind] = file.getvalue()
        figure.set_layout_engine("none")  # it is laid out: to do it again takes as long as drawing
        if without_glyph(text.get_text() for text in figure.findobj(matplotlib.text.Text)):
            kept = {"svg.fonttype": "none"}
    return files


def plot_differences(data: Differences, ax: Axes) -> None:
    """A row a pair: a dot a seed, the mean with its interval; grey is what counts as the same."""
    known = looks(list(dict.fromkeys(name for pair in data.pairs for name in pair)))
    ax.axvspan(-data.margin, data.margin, color="#eef1f4", lw=0, zorder=0)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=1)
    for y, (values, interval, winner) in enumerate(zip(data.values, data.intervals, data.winners, strict=True)):
        colour = known[winner].colour if winner else FAINT
        spread = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else np.zeros(1)
        ax.scatter(values, y + spread, s=12, color=colour, alpha=0.55, lw=0, zorder=3)
        ax.plot([interval.low, interval.high], [y, y], color=colour, lw=2.4, solid_capstyle="round", zorder=4)
        ax.plot(interval.mean, y, marker="o", ms=5.5, mfc="white", mec=colour, mew=1.8, zorder=5)
    ax.set_yticks(range(len(data.pairs)), [f"{first} − {second}" for first, second in data.pairs])
    ax.set_ylim(len(data.pairs) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    reach = 1.08 * max(float(np.abs(data.values).max(initial=0.0)), 1.3 * data.margin)
    ax.set_xlim(-reach, reach)
    ax.set_title(data.title)
    sides = ("second", "first") if data.higher_is_better else ("first", "second")
    ax.set_xlabel(f"← {sides[0]} better      {sides[1]} better →")


def plot_reliability(curves: Mapping[str, ReliabilityCurve], ax: Axes) -> None:
    """Dots: bins of equal mass. On the diagonal, what is said comes true."""
    known = looks(list(curves))
    ax.plot([0, 1], [0, 1], color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=1)
    for method, c in curves.items():
        look = known[method]
        inside = (c.line_said >= c.said[0]) & (c.line_said <= c.said[-1])  # beyond the outer bins a curve shows nothing
        ax.plot(c.line_said[inside], c.line_came_true[inside], color=look.colour, lw=1.6, label=method, zorder=3)
        ax.scatter(c.said, c.came_true, s=20, marker=look.marker, color=look.colour, lw=0, alpha=0.75, zorder=4)
    low = min(min(c.said.min(), c.came_true.min()) for c in curves.values())
    edge = max(0.0, np.floor(10 * low) / 10)
    ax.set_xlim(edge, 1.01)
    ax.set_ylim(edge, 1.01)
    ax.set_aspect("equal")
    ax.grid(color=HAIR, lw=0.5, alpha=0.7)


def plot_entropy(data: Entropies, ax: Axes, top: float) -> None:
    """All items as a density, the quartiles of the model's entropy by that of the humans, and the identity."""
    ax.hexbin(
        data.human, data.model, gridsize=34, extent=(0, top, 0, top), bins="log", cmap="Greys", mincnt=1, alpha=0.55,
        linewidths=0, rasterized=True, zorder=1,
    )  # fmt: skip
    ax.plot([0, top], [0, top], color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=2)
    look = looks([data.method])[data.method]
    low, middle, high = data.quartiles
    ax.fill_between(data.centres, low, high, color=look.colour, alpha=0.22, lw=0, zorder=3)
    ax.plot(data.centres, middle, color=look.colour, marker=look.marker, ms=4.5, lw=1.8, zorder=4)
    people = "" if data.people is None else f"  ({data.people[0]} {data.people[1]:.2f})"
    ax.set_title(data.method, pad=18)  # inside, the line below would lie on the items of a model that is never sure
    ax.text(0, 1.02, f"ρ = {data.correlation:.2f}{people}", transform=ax.transAxes, va="bottom", fontsize=8.5)
    ax.set_xlim(0, top)
    ax.set_ylim(0, top)
    ax.set_aspect("equal")


def plot_learning(curves: Mapping[str, Learning], ax: Axes) -> None:
    """Mean over seeds with a band of one standard deviation; the mark is the mean best epoch."""
    known = looks(list(curves))
    for method, c in curves.items():
        look = known[method]
        ax.fill_between(c.epochs, c.low, c.high, color=look.colour, alpha=0.16, lw=0, zorder=2)
        ax.plot(c.epochs, c.mean, color=look.colour, lw=1.6, label=method, zorder=3)
        ax.plot(c.best_epoch, c.best, marker=look.marker, ms=7, color=look.colour, mec="white", mew=0.9, zorder=4)
    ax.grid(axis="y", color=HAIR, lw=0.5, alpha=0.7)
    ax.set_xlabel("epoch")
    ax.locator_params(axis="x", integer=True)
    ax.set_ylabel("soft NLL, evaluation items (nats)")
    finite = np.concatenate([np.r_[c.mean, c.best] for c in curves.values()])
    finite = finite[np.isfinite(finite)]
    if len(finite):  # the first epochs may be far off and would flatten everything after them
        low, high = finite.min(), np.quantile(finite, 0.97)
        ax.set_ylim(low - 0.08 * (high - low) - 1e-6, high + 0.12 * (high - low) + 1e-6)


def plot_by_votes(data: ByVotes, ax: Axes) -> None:
    """One measure by the number of votes that the runs were given."""
    known = looks(list(data.intervals))
    offsets = np.linspace(-0.12, 0.12, len(data.intervals)) if len(data.intervals) > 1 else [0.0]
    for offset, (method, intervals) in zip(offsets, data.intervals.items(), strict=True):
        look = known[method]
        at = [(x + offset, i) for x, i in enumerate(intervals) if i is not None and np.isfinite(i.mean)]
        if not at:
            continue
        x, mean = [p for p, _ in at], [i.mean for _, i in at]
        ax.plot(x, mean, color=look.colour, marker=look.marker, ms=5, lw=1.4, label=method, zorder=3)
        for position, i in at:
            if np.isfinite(i.low):
                ax.plot([position, position], [i.low, i.high], color=look.colour, lw=1.2, zorder=2)
    ax.set_xticks(range(len(data.panels)), data.panels)
    ax.set_xlabel("votes an item" + (", *: with replacement" if any("*" in name for name in data.panels) else ""))
    ax.set_title(data.title)
    ax.grid(axis="y", color=HAIR, lw=0.5, alpha=0.7)


def plot_bars(item: Item, ax: Axes) -> None:
    """One item: a column of bars each for the humans, the truth where it is known, and every method."""
    known = looks([name for name in item.bars if name not in ("humans", "truth")])
    colours = {name: look.colour for name, look in known.items()} | {"humans": HUMANS, "truth": TRUTH}
    step = 1.22
    rows = range(len(item.classes))
    for column, (name, shares) in enumerate(item.bars.items()):
        left = column * step
        ax.barh(rows, np.ones(len(rows)), left=left, height=0.72, color="#f3f5f7", lw=0, zorder=1)
        ax.barh(rows, shares, left=left, height=0.72, color=colours[name], lw=0, zorder=2)
        for row, share in zip(rows, shares, strict=True):
            if share >= 0.005:
                inside = share > 0.72
                ax.text(
                    left + share + (-0.04 if inside else 0.04), row, f"{100 * share:.0f}", va="center_baseline",
                    ha="right" if inside else "left", fontsize=7, color="white" if inside else INK, zorder=3,
                )  # fmt: skip
        ax.text(left, -0.75, name, fontsize=8, fontweight="bold" if name == "humans" else "normal", va="bottom")
    ax.set_yticks(rows, item.classes)
    ax.set_xlim(-0.02, len(item.bars) * step - 0.2)
    ax.set_ylim(len(rows) - 0.5, -1.3)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def differences_figure(panel: Panel) -> Figure | None:
    """Paired differences of every rule at the best epoch, side by side; None where there is no pair."""
    judged = [j for j in panel.judgements if j.checkpoint == "best" and j.verdicts]
    if not judged:
        return None
    rows = max(len(j.verdicts) for j in judged)
    figure, axes = sheet(
        len(judged), 3.6 * len(judged) + 0.8, 0.9 + 0.36 * rows, sharey=len({j.unfit for j in judged}) == 1
    )
    for ax, judgement in zip(axes, judged, strict=True):
        plot_differences(differences(panel, judgement), ax)
    return figure


def reliability_figure(panel: Panel) -> Figure | None:
    runs = {method: sound for method, runs in panel.runs.items() if (sound := finite(runs))}
    if not runs:
        return None
    figure, (left, right) = sheet(2, 9.6, 4.9, layout="compressed")
    plot_reliability({method: label_reliability(r) for method, r in runs.items()}, left)
    plot_reliability({method: human_reliability(r) for method, r in runs.items()}, right)
    left.set_title("Against the reference label")
    left.set_ylabel("share of items where it is right")
    right.set_title("Against the annotators")
    right.set_ylabel("share of annotators who chose it")
    for ax in (left, right):
        ax.set_xlabel("probability of the predicted class")
    _legend(figure, left)
    return figure


def entropy_figure(comparison: Comparison, panel: Panel) -> Figure | None:
    views = [entropies(comparison, panel, method) for method, runs in panel.runs.items() if finite(runs)]
    if not views:
        return None
    columns = min(4, len(views))
    rows = -(-len(views) // columns)
    figure, axes = sheet(columns, 2.9 * columns + 0.3, 3.5 * rows + 0.3, rows, "compressed", sharex=True, sharey=True)
    top = 1.02 * max(max(float(view.human.max()), float(view.model.max()), 1e-3) for view in views)
    for ax, view in zip(axes, views, strict=False):
        plot_entropy(view, ax, top)
    for ax in axes[len(views) :]:
        ax.set_visible(False)
    figure.supxlabel("entropy of the annotators (nats)", fontsize=9)
    figure.supylabel("entropy of the model (nats)", fontsize=9)
    return figure


def learning_figure(panel: Panel) -> Figure | None:
    sound = {method: there for method, runs in panel.runs.items() if (there := finite(runs))}
    if not sound or not all(
        "soft_nll" in run.history and len(run.history["epoch"]) for runs in sound.values() for run in runs
    ):
        return None
    figure, (ax,) = sheet(1, 7.6, 4.0)
    plot_learning({method: learning(runs) for method, runs in sound.items()}, ax)
    _legend(figure, ax)
    return figure


def by_votes_figure(comparison: Comparison) -> Figure | None:
    """How the measures of the rules change with the number of votes; None where there is only one number."""
    if len(comparison.panels) < 2:
        return None
    measures = [Measure(rule.metric, rule.tempered) for rule in RULES]
    measures = [m for m in measures if any(m in panel.scores for panel in comparison.panels)]
    figure, axes = sheet(len(measures), 3.5 * len(measures), 3.6)
    for ax, measure in zip(axes, measures, strict=True):
        plot_by_votes(by_votes(comparison, measure), ax)
    _legend(figure, axes[0])
    return figure


def bars_figure(item: Item) -> Figure:
    left = 0.2 + 0.085 * max(map(len, item.classes))  # inches for the names: a layout engine takes longer than the bars
    width, height = left + 1.25 * len(item.bars), 0.4 + 0.21 * len(item.classes)
    figure = require("matplotlib.figure", extra="report").Figure(figsize=(width, height))
    plot_bars(item, figure.add_axes((left / width, 0.02, 1 - left / width, 0.96)))
    return figure


def _legend(figure: Figure, ax: Axes) -> None:
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(len(names), 8) or 1)
