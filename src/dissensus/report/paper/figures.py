"""The paper's twelve figures as we measured them, with intervals over seeds and the published numbers where it has any.

Each function takes the evidence and the paper, and draws; None where nothing of it has been measured. Those of
:data:`AUDITED` show one protocol at a time, the published one if not said; published numbers stand beside that alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dissensus.base.words import listed
from dissensus.report.figures import FAINT, HAIR, sheet
from dissensus.report.paper.beside import read_beside
from dissensus.report.paper.drawing import (
    BESIDE,
    BLACK,
    LOOKS,
    Drawn,
    band,
    draw_band,
    draw_mean,
    draw_published,
    grid,
    legend,
    of_curves,
    over_seeds,
    told_mean,
    with_intervals,
    zero,
)
from dissensus.report.paper.grid import title_of
from dissensus.report.paper.measured import HARD, METHODS, VOTES, BySeed, Sought, measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence

SWEEP = ("soft", *HARD)
PROTOCOLS = ("published", "audited")
PAIR = ("sls", "soft")


def sweep(evidence: Evidence, paper: Paper) -> Drawn | None:
    """1: soft NLL, accuracy and entropy correlation by the number of votes an item."""
    metrics = ("soft_nll", "accuracy", "entropy_correlation")
    found = {
        (protocol, metric, method, k): one
        for protocol in PROTOCOLS
        for metric in metrics
        for method in SWEEP
        for k in VOTES
        if (one := measured(evidence, Sought(metric, method, k, protocol=protocol)))
    }
    rows = [protocol for protocol in PROTOCOLS if any(key[0] == protocol and key[3] != "all" for key in found)]
    if not rows:
        return None
    figure, axes = sheet(3, 10.6, 3.1 * len(rows) + 0.4, len(rows), sharey="col")
    for number, protocol in enumerate(rows):
        votes = [k for k in VOTES if any(key[0] == protocol and key[3] == k for key in found)]
        for column, metric in enumerate(metrics):
            ax = axes[3 * number + column]
            for offset, method in zip(np.linspace(-0.18, 0.18, len(SWEEP)), SWEEP, strict=True):
                keys = [(i, (protocol, metric, method, k)) for i, k in enumerate(votes)]
                at = [(i, found[key]) for i, key in keys if key in found]
                # published: few votes are other draws than all votes, so no line leads there; audited: nested
                line = [(i + offset, one.mean) for i, one in at if votes[i] != "all" or protocol == "audited"]
                ax.plot([x for x, _ in line], [y for _, y in line], color=LOOKS[method].colour, lw=1.2, zorder=3)
                for i, one in at:
                    draw_mean(ax, i + offset, one, LOOKS[method], seeds=False, label=method)
                if protocol == "published" and metric == "soft_nll":
                    for i, k in enumerate(votes):
                        told = _published(paper, "table1", method, metric, votes=k)
                        draw_published(ax, i + offset, told, LOOKS[method])
            if metric == "entropy_correlation":
                _told(ax, f"human ceiling {read_beside(paper.name).ceilings[metric].mean:.2f}")
            ax.set_xticks(range(len(votes)), [str(k) for k in votes])
            ax.set_xlabel("votes an item")
            ax.set_title(f"{title_of(metric)}, {protocol} protocol")
            grid(ax)
    legend(figure, published="published" in rows)
    gains = [
        f"{k} votes: " + ", ".join(f"{m} {found['published', 'soft_nll', m, k].mean:.3f}" for m in SWEEP
                                   if ("published", "soft_nll", m, k) in found)
        for k in VOTES if ("published", "soft_nll", "soft", k) in found
    ]  # fmt: skip
    return Drawn(
        figure,
        f"Soft NLL, accuracy and entropy correlation of {listed(SWEEP)} by the number of votes an item. "
        f"Soft NLL under the published protocol, {'; '.join(gains)}.",
        f"Means {over_seeds(found.values())}. The published protocol draws votes anew for each number of "
        "votes, so its lines carry that noise; the audited one takes nested subsamples of real votes. Human ceiling: "
        "what half of the annotators reach with the other half.",
    )


def _gain_figure(evidence: Evidence, name: str, part: str, words: str, protocol: str) -> Drawn | None:
    """2, 5 and 6: the improvement over soft labels by the distance of the sparse target."""
    votes = VOTES[:-1]
    found = {
        (where, k, method): one
        for where in ("evaluation", "training")
        for k in votes
        for method in HARD
        if (
            one := of_curves(
                evidence.curves(
                    f"gain_by_{name}",
                    protocol=protocol,
                    method=method,
                    votes=k,
                    slice=part,
                    other="soft",
                    where=where,
                )
            )
        )
        is not None
    }
    if not found:
        return None
    rows = [where for where in ("evaluation", "training") if any(key[0] == where for key in found)]
    votes = tuple(k for k in votes if any(key[1] == k for key in found))
    figure, axes = sheet(len(votes), 11.0, 2.7 * len(rows) + 0.5, len(rows), sharey="row")
    for number, where in enumerate(rows):
        for column, k in enumerate(votes):
            ax = axes[len(votes) * number + column]
            zero(ax)
            for method in HARD:
                if (where, k, method) in found:
                    draw_band(ax, found[where, k, method], LOOKS[method], method, dots=True)
            ax.set_title(f"{k} votes, {where} items")
            ax.locator_params(axis="x", nbins=5)  # more run into each other
            grid(ax)
            if number == len(rows) - 1:
                ax.set_xlabel(f"{words} of the target")
            if column == 0:
                ax.set_ylabel("soft NLL gained over soft (nats)")
    legend(figure)
    ends = [
        f"{method} with {k} votes from {one.mean[0]:+.3f} to {one.mean[-1]:+.3f}"
        for (where, k, method), one in found.items()
        if where == rows[0] and k in (votes[0], votes[-1])
    ]
    items = "the most disputed items" if part == "disputed" else "all items"
    return Drawn(
        figure,
        f"Improvement over soft labels by the {words} of the sparse target, {items}, from the nearest bin to the "
        f"farthest: {'; '.join(ends)} ({rows[0]} items).".replace("-0.", "−0."),
        f"At most ten bins of equal mass by the {words} between the few votes and all votes, {items}; those at one "
        "distance, such as all that few votes tell exactly, stay in one bin. Means "
        f"{over_seeds(found.values())}. Above 0 the hard delivery is better than soft labels. The distance is "
        "nearly the annotators' entropy: what is left of the relation given entropy stands in the table below.",
    )


def gain_by_js(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    return _gain_figure(evidence, "js", "all", "Jensen-Shannon distance", protocol)


def gain_by_l1(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    return _gain_figure(evidence, "l1", "all", "L1 distance", protocol)


def gain_disputed(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    return _gain_figure(evidence, "l1", "disputed", "L1 distance", protocol)


def reliability(evidence: Evidence, paper: Paper) -> Drawn | None:
    """3: smooth reliability diagrams."""
    shown = {
        protocol: {
            method: one
            for method in METHODS
            if method != "shuffled-sls"  # at chance: it is never sure of anything
            and (one := of_curves(evidence.curves("reliability", protocol=protocol, method=method))) is not None
        }
        for protocol in PROTOCOLS
    }
    shown = {protocol: lines for protocol, lines in shown.items() if lines}
    if not shown:
        return None
    figure, axes = sheet(len(shown), 4.9 * len(shown) + 0.6, 5.0, layout="compressed")
    said = []
    for ax, (protocol, lines) in zip(axes, shown.items(), strict=True):
        low = 1.0
        for method, one in lines.items():
            draw_band(ax, one, LOOKS[method], method)
            low = min(low, float(one.x.min()), float(one.mean.min()))
            smooth = measured(evidence, Sought("smooth_ece", method, protocol=protocol))
            if protocol == "published":
                told = _published(paper, "figure3", method, "smooth_ece")
                said.append(f"{method} {told_mean(smooth)}{_also(told)}")
        edge = max(0.0, np.floor(10 * low) / 10)
        ax.plot([edge, 1], [edge, 1], color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=1)
        ax.set(xlim=(edge, 1.01), ylim=(edge, 1.01), aspect="equal", title=f"{protocol.capitalize()} protocol")
        ax.set_xlabel("probability of the predicted class")
        ax.grid(color=HAIR, lw=0.5, alpha=0.7)
    axes[0].set_ylabel("share of items where it is right")
    legend(figure)
    return Drawn(
        figure,
        f"Smooth reliability diagrams with all votes. Smooth ECE: {'; '.join(said)}.",
        f"Means {over_seeds(one for lines in shown.values() for one in lines.values())}; all votes, best "
        f"epoch. Below the diagonal a method is too sure. Smooth ECE: {'; '.join(said)}.",
    )


def resampling(evidence: Evidence, paper: Paper) -> Drawn | None:
    """4: what it costs to hold a drawn label for several epochs."""
    holds = (1, 5, 10, 50)
    found = {hold: measured(evidence, Sought("soft_nll", "sls", hold=hold)) for hold in holds}
    if not any(found.values()):
        return None
    last = {hold: measured(evidence, Sought("soft_nll", "sls", hold=hold, checkpoint="last")) for hold in holds}
    figure, axes = sheet(2, 9.6, 3.8)
    for ax, values, title in zip(axes, (found, last), ("Best epoch", "Last epoch"), strict=True):
        for seed in sorted({seed for one in values.values() for seed in one.values}):
            at = [(i, one.values[seed]) for i, one in enumerate(values.values()) if seed in one.values]
            ax.plot(*zip(*at, strict=True), color=LOOKS["sls"].colour, lw=0.7, alpha=0.35, zorder=1)
        for i, one in enumerate(values.values()):
            draw_mean(ax, i, one, LOOKS["sls"], seeds=False, label="sls")
        ax.set_xticks(range(len(holds)), [str(hold) for hold in holds])
        ax.set_xlabel("epochs that a label is held")
        ax.set_title(f"{title_of('soft_nll')}, {title.lower()}")
        grid(ax)
    for i, hold in enumerate(holds):
        draw_published(axes[0], i + BESIDE / 2, _published(paper, "figure4", "sls", "soft_nll", hold=hold))
    legend(figure, published=True)
    said = "; ".join(f"{hold} epochs {told_mean(one)}" for hold, one in found.items() if one)
    return Drawn(
        figure,
        f"Soft NLL of SLS when a drawn label is held for several epochs: {said}.",
        f"Every line is a seed; marks: means over them{with_intervals([*found.values(), *last.values()])}.",
    )


def gradient_variance(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    """7: the variance of the last layer's gradient over drawn labels, by annotator entropy."""
    found = {
        method: one
        for method in PAIR
        if (one := of_curves(evidence.curves("gradient_variance_by_entropy", protocol=protocol, method=method)))
        is not None
    }
    if not found:
        return None
    figure, axes = sheet(2, 9.6, 3.9, width_ratios=(2.2, 1))
    for method, one in found.items():
        draw_band(axes[0], one, LOOKS[method], method, dots=True)
    axes[0].set(xlabel="entropy of the annotators (nats)", ylabel="gradient variance, last layer")
    axes[0].set_title("By entropy")
    grid(axes[0])
    spearman = {m: measured(evidence, Sought("gradient_variance_entropy", m, protocol=protocol)) for m in PAIR}
    _columns(axes[1], spearman)
    axes[1].set_title("Spearman with entropy")
    told = _published(paper, "figure7", "sls", "gradient_variance_entropy", protocol=protocol)
    draw_published(axes[1], BESIDE, told)
    legend(figure, published=told is not None)
    said = "; ".join(f"{method} {told_mean(one)}" for method, one in spearman.items() if one)
    return Drawn(
        figure,
        f"Gradient variance by annotator entropy. Spearman: {said}{_also(told)}.",
        "Variance of the last layer's gradient over drawn labels, exact from Proposition 1; evaluation items in bins "
        f"of annotator entropy, means {over_seeds(found.values())}. Much of it holds by construction, "
        "whatever the model: the partial correlation stands in the table below.",
    )


def dynamics(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    """8: how early SLS and soft labels get where they end."""
    found = {}
    for method in PAIR:
        histories = evidence.history(protocol=protocol, method=method)
        if (line := band((h["epoch"], h["soft_nll"]) for h in histories.values())) is not None:
            found[method] = line
    if not found:
        return None
    figure, axes = sheet(2, 10.4, 4.0, width_ratios=(1.9, 1))
    for method, one in found.items():
        draw_band(axes[0], one, LOOKS[method], method)
        best = int(one.mean.argmin())
        axes[0].plot(one.x[best], one.mean[best], marker=LOOKS[method].marker, ms=8, color=LOOKS[method].colour,
                     mec="white", zorder=5)  # fmt: skip
    values = np.concatenate([one.mean for one in found.values()])
    low, high = values.min(), np.quantile(values, 0.9)  # the first epochs would flatten everything after them
    axes[0].set_ylim(low - 0.1 * (high - low), high + 0.15 * (high - low))
    axes[0].set(xlabel="epoch", ylabel="soft NLL, evaluation items (nats)")
    axes[0].locator_params(axis="x", integer=True)
    axes[0].set_title("Learning curves, all votes")
    grid(axes[0])
    zero(axes[1])
    names = {"epochs_earlier_to_95": "95 % of\nits best", "epochs_earlier_to_best": "its best\nepoch"}
    said = []
    for i, (name, words) in enumerate(names.items()):
        earlier = measured(evidence, Sought(name, "sls", other="soft", protocol=protocol))
        draw_mean(axes[1], i, earlier, LOOKS["sls"])
        told = _published(paper, "figure8", "sls", name, protocol=protocol)
        draw_published(axes[1], i + BESIDE, told)
        said.append(f"{words.replace(chr(10), ' ')}, {told_mean(earlier, 1)}{_also(told)}")
    axes[1].set_xticks(range(len(names)), list(names.values()))
    axes[1].set_xlim(-0.6, len(names) - 0.4)
    axes[1].set_title("Epochs that SLS is earlier")
    grid(axes[1])
    legend(figure, published=protocol == "published")
    return Drawn(
        figure,
        f"Learning curves of SLS and soft labels. Epochs that SLS is earlier at {'; at '.join(said)}.",
        f"Left: means {over_seeds(found.values())}; the mark is the lowest point of the mean. Right: a "
        "dot a seed, soft minus SLS. 95 % of its best: the first epoch that is 95 % of the way from the first to the "
        "best one.",
    )


def cam_stability(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    """9: do models of two seeds look at the same places?"""
    panels = {"all items": "all", "most disputed items": "disputed"}
    return _agreement(
        evidence,
        paper,
        "figure9",
        {words: Sought("cam_stability", "", slice=part, protocol=protocol) for words, part in panels.items()},
        "Agreement of Grad-CAM maps between models of two seeds (Pearson over the map)",
    )


def cka(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    """12: do models of two seeds represent items alike?"""
    panels = {"linear CKA": "cka", "linear CKA, debiased": "debiased_cka"}
    sought = {words: Sought(metric, "", protocol=protocol) for words, metric in panels.items()}
    return _agreement(evidence, paper, "figure12", sought, "Likeness of representations between models of two seeds")


def _agreement(evidence: Evidence, paper: Paper, place: str, panels: Mapping[str, Sought], words: str) -> Drawn | None:
    found = {
        title: {m: measured(evidence, sought.read(method=m, other=m)) for m in PAIR} for title, sought in panels.items()
    }
    if not any(one for panel in found.values() for one in panel.values()):
        return None
    figure, axes = sheet(len(panels), 3.5 * len(panels) + 0.6, 3.9, sharey=True)
    said = []
    for ax, (title, sought) in zip(axes, panels.items(), strict=True):
        _columns(ax, found[title])
        for i, method in enumerate(PAIR):
            told = _published(paper, place, method, sought.metric, protocol=sought.protocol, slice=sought.slice)
            draw_published(ax, i + BESIDE, told)
            if found[title][method]:
                said.append(f"{title}, {method} {told_mean(found[title][method])}{_also(told)}")
        ax.set_title(title)
    axes[0].set_ylabel("between models of two seeds")
    means = [one for panel in found.values() for one in panel.values()]
    by_jackknife = any(one.has_interval for one in means)
    legend(figure, published=any(sought.protocol == "published" for sought in panels.values()))
    return Drawn(
        figure,
        f"{words}: {'; '.join(said)}.",
        f"{words}, on the items that neither was trained on. A dot a pair of seeds; marks: means over all pairs"
        f"{with_intervals(means)}{', by the jackknife over seeds: pairs share them' if by_jackknife else ''}.",
    )


def brier(evidence: Evidence, paper: Paper, protocol: str = "published") -> Drawn | None:
    """10: the parts of the Brier score."""
    parts = {"brier_reliability": "reliability ↓", "brier_resolution": "resolution ↑", "brier": "Brier score ↓"}
    found = {
        metric: {
            method: one
            for method in METHODS
            if method != "shuffled-sls" and (one := measured(evidence, Sought(metric, method, protocol=protocol)))
        }
        for metric in parts
    }
    if not any(found.values()):
        return None
    figure, axes = sheet(3, 11.0, 4.2)
    for ax, (metric, words) in zip(axes, parts.items(), strict=True):
        _columns(ax, found[metric])
        ax.tick_params(axis="x", rotation=35)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
        ax.set_title(words)
    said = [
        f"{words.rstrip(' ↑↓')} " + ", ".join(f"{m} {told_mean(of[m], 4)}" for m in PAIR if m in of)
        for words, of in zip(parts.values(), found.values(), strict=True)
    ]
    return Drawn(
        figure,
        f"Parts of the Brier score, all votes: {'; '.join(said)}.",
        "Brier score = reliability − resolution + uncertainty; the last is the same for all methods. Means "
        f"{over_seeds(one for of in found.values() for one in of.values())}; a dot a seed; all votes, best epoch. "
        "Shuffled SLS, at chance, is left out. The paper prints no numbers.",
    )


def barrier(evidence: Evidence, paper: Paper) -> Drawn | None:
    """11: the loss on the line between two models, with controls of one method."""
    pairs = {("sls", "soft"): "sls to soft", ("sls", "sls+reorder"): "sls to sls again",
             ("soft", "soft+reorder"): "soft to soft again"}  # fmt: skip
    names = {"barrier": "Batch-norm statistics stale, as published", "barrier_reset": "Batch-norm statistics reset"}
    drawn = {"sls to soft": BLACK, "sls to sls again": LOOKS["sls"], "soft to soft again": LOOKS["soft"]}
    lines = {
        (name, words): one
        for name in names
        for (method, other), words in pairs.items()
        if (one := of_curves(evidence.curves(name, protocol="published", method=method, other=other))) is not None
    }
    if not lines:
        return None
    figure, axes = sheet(3, 11.4, 4.0, width_ratios=(1.5, 1.5, 1))
    for ax, (name, title) in zip(axes, names.items(), strict=False):
        for words in pairs.values():
            if (name, words) in lines:
                draw_band(ax, lines[name, words], drawn[words], words, dashed=words != "sls to soft")
        ax.set(xlabel="from the first model (0) to the second (1)", ylabel="soft NLL (nats)")
        ax.set_title(title)
        grid(ax)
    said = []
    heights = {}
    for i, ((method, other), words) in enumerate(pairs.items()):
        for offset, name in ((-0.15, "barrier"), (0.15, "barrier_reset")):
            height = heights[words, name] = measured(evidence, Sought(name, method, other=other))
            draw_mean(axes[2], i + offset, height, drawn[words], seeds=False, hollow=name == "barrier_reset")
        said.append(
            f"{words} {told_mean(heights[words, 'barrier'], 2)}, "
            f"statistics reset {told_mean(heights[words, 'barrier_reset'], 2)}"
        )
    told = _published(paper, "figure11", "sls", "barrier")
    draw_published(axes[2], BESIDE - 0.15, told)
    axes[2].set_xticks(range(len(pairs)), [words.replace(" to ", "\nto ") for words in pairs.values()])
    axes[2].set_xlim(-0.6, len(pairs) - 0.4)
    axes[2].set_ylim(bottom=0)
    axes[2].set_title("Height (hollow: reset)")
    grid(axes[2])
    legend(figure, published=True)
    return Drawn(
        figure,
        f"Loss on the straight line between two models. Height of the barrier: {'; '.join(said)}{_also(told)}.",
        f"Means {over_seeds([*lines.values(), *heights.values()])}. Dashed: the controls, the same "
        "method again from the same split and initial weights, with another batch order and other labels. Only what is "
        "above them speaks for different basins.",
    )


def _columns(ax: Axes, found: Mapping[str, BySeed]) -> None:
    for i, (method, one) in enumerate(found.items()):
        draw_mean(ax, i, one, LOOKS[method], label=method)
    ax.set_xticks(range(len(found)), list(found))
    ax.set_xlim(-0.6, len(found) - 0.4)
    grid(ax)


def _told(ax: Axes, words: str) -> None:
    """What is too far off to be drawn."""
    ax.text(0.02, 0.98, words, transform=ax.transAxes, va="top", fontsize=8, color=FAINT)


def _published(
    paper: Paper, place: str, method: str, metric: str, protocol: str = "published", **more: object
) -> float | None:
    """A published mean; None where the paper has none, and beside another protocol than its own."""
    if protocol != "published":
        return None
    wanted = {"place": place, "method": method, "metric": metric, **more}
    for address, told in paper.published.numbers.items():
        if all(getattr(address, part) == value for part, value in wanted.items()):
            return told.mean
    return None


def _also(told: float | None) -> str:
    return "" if told is None else f", published {told:g}"


FIGURES: dict[str, Callable[[Evidence, Paper], Drawn | None]] = {
    "figure1": sweep,
    "figure2": gain_by_js,
    "figure3": reliability,
    "figure4": resampling,
    "figure5": gain_by_l1,
    "figure6": gain_disputed,
    "figure7": gradient_variance,
    "figure8": dynamics,
    "figure9": cam_stability,
    "figure10": brier,
    "figure11": barrier,
    "figure12": cka,
}
AUDITED: dict[str, Callable[..., Drawn | None]] = {
    place: FIGURES[place]
    for place in ("figure2", "figure5", "figure6", "figure7", "figure8", "figure9", "figure10", "figure12")
}
"""Those that are drawn again for the audited protocol; Figures 1 and 3 show both at once, 4 and 11 are not planned."""
