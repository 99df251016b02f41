"""Learning curves of every method, and what more votes an item buy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.base.words import listed
from dissensus.report.figures import FAINT, sheet
from dissensus.report.paper.drawing import (
    LOOKS,
    Drawn,
    band,
    draw_band,
    draw_mean,
    grid,
    legend,
    over_seeds,
    panels,
)
from dissensus.report.paper.grid import title_of
from dissensus.report.paper.measured import Sought, measured

if TYPE_CHECKING:
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence

ARMS = ("majority", "label-smoothing", "soft", "sls", "multipass")
SWEPT = ("soft", "sls", "multipass")
METRICS = ("kl", "js_distance", "accuracy", "entropy_correlation", "entropy_correlation_pearson", "ece")


def learning_curves(evidence: Evidence, paper: Paper) -> Drawn | None:
    """Figure 1: soft NLL of the evaluation items after every epoch, a panel a data set and model."""
    shown = [name for name in paper.protocols if evidence.history(protocol=name, method="soft")]
    if not shown:
        return None
    figure, axes = panels(len(shown))
    ends = []
    bands = []
    for ax, protocol in zip(axes, shown, strict=True):
        for method in ARMS:
            histories = evidence.history(protocol=protocol, method=method).values()
            found = band((told["epoch"], told["soft_nll"]) for told in histories)
            if found is not None:
                draw_band(ax, found, LOOKS[method], method)
                bands.append(found)
                ax.plot(found.x[found.mean.argmin()], found.mean.min(), ls="", marker="o", color=LOOKS[method].colour)
                if method != "label-smoothing":
                    ends.append(f"{protocol} {method}: lowest {found.mean.min():.3f}, last {found.mean[-1]:.3f}")
        ax.set_title(protocol)
        ax.set_xlabel("epoch")
        grid(ax)
    axes[0].set_ylabel("soft NLL")
    legend(figure)
    return Drawn(
        figure,
        f"Soft NLL of the evaluation items by epoch, for {listed(list(ARMS))}. {'; '.join(ends)}.",
        f"Means {over_seeds(bands)}; a dot where the mean is lowest. Nothing is selected by these curves.",
    )


def votes_curves(evidence: Evidence, paper: Paper) -> Drawn | None:
    """Figure 2: metrics by the number of votes an item, a row a data set."""
    swept = [one for one in paper.experiments if one.name == "votes"]
    votes = list(dict.fromkeys(k for one in swept for k in one.votes))
    found = {
        (one.protocol, metric, method, k): told
        for one in swept
        for metric in METRICS
        for method in SWEPT
        for k in votes
        if (told := measured(evidence, Sought(metric, method, k, protocol=one.protocol)))
    }
    rows = [one.protocol for one in swept if any(key[0] == one.protocol and key[3] != "all" for key in found)]
    if not rows:
        return None
    figure, axes = sheet(len(METRICS), 15.6, 2.7 * len(rows) + 0.4, len(rows))
    for number, protocol in enumerate(rows):
        for column, metric in enumerate(METRICS):
            ax = axes[len(METRICS) * number + column]
            for offset, method in zip(np.linspace(-0.16, 0.16, len(SWEPT)), SWEPT, strict=True):
                at = [(i, found[protocol, metric, method, k]) for i, k in enumerate(votes)
                      if (protocol, metric, method, k) in found]  # fmt: skip
                ax.plot([i + offset for i, _ in at], [one.mean for _, one in at], color=LOOKS[method].colour, lw=1.2)
                for i, one in at:
                    draw_mean(ax, i + offset, one, LOOKS[method], seeds=False, label=method)
            guess = Sought("majority_class", "soft", protocol=protocol)
            if metric != "accuracy":
                guess = Sought(metric, "soft", protocol=protocol, outside="shares")
            if told := measured(evidence, guess):
                ax.axhline(told.mean, color=FAINT, lw=0.9, ls=":", zorder=1, label="said of every item alike")
            ax.set_xticks(range(len(votes)), ["100" if k == "all" else str(k) for k in votes])
            if number == len(rows) - 1:
                ax.set_xlabel("votes an item")
            if column == 0:
                ax.set_ylabel(protocol)
            if number == 0:
                ax.set_title(title_of(metric))
            grid(ax)
    legend(figure)
    by_votes = [
        f"{protocol}: KL with soft labels "
        + ", ".join(f"{found[protocol, 'kl', 'soft', k].mean:.3f} at {'100' if k == 'all' else k}" for k in votes
                    if (protocol, "kl", "soft", k) in found)
        for protocol in rows
    ]  # fmt: skip
    return Drawn(
        figure,
        f"{listed([title_of(metric) for metric in METRICS])} of {listed(list(SWEPT))} by the number of votes an item. "
        f"{'; '.join(by_votes)}.",
        f"Means {over_seeds(found.values())}; evaluation is always by all hundred votes. Dotted: the class shares, or "
        "of accuracy the most frequent class, said of every item alike. With one vote an item all three deliver the "
        "same labels. Which of these models have learned too little for a verdict is in the table below.",
    )
