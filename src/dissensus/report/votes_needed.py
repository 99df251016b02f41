"""How many votes an item are enough? Runs that were given fewer, held against those that were given most."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dissensus.base.words import listed
from dissensus.report.comparison import Comparison, Measure, Panel, Scores, learned_little
from dissensus.report.glossary import CONTROLS
from dissensus.report.rules import ALPHA, RULES
from dissensus.stats.correction import holm, rejected_in_order
from dissensus.stats.student import p_not_worse

RULE = RULES[0]  # KL, and what counts as the same


def votes_needed(comparison: Comparison) -> str | None:
    """The answer in words, for each method that was given fewer; None if there is none, or if they learned nothing.

    From many votes downwards each number is tested against the most, and the first that may be worse by the margin ends
    it. The order is fixed before, so the tests need no correction. Of a method that more votes are shown to make worse
    that is told instead (over all numbers tried, Holm), and controls are left out: nobody pays for their votes.
    """
    *few, most = comparison.panels  # from few votes to most
    numbers = [panel.plan["votes"] for panel in comparison.panels]
    if not few or len(set(numbers)) < len(numbers):  # one number of votes, drawn in two ways, is no order
        return None
    shared = set(most.seeds).intersection(*(panel.seeds for panel in few))
    if len(shared) < 2:  # nothing can be tested
        return None
    if learned_little(most, comparison.class_shares):  # then no votes at all would be enough
        return None
    found: dict[str, list[str]] = {}
    harmed: dict[str, dict[str, float]] = {}
    for method in most.methods:
        tried = [panel for panel in few if method in panel.methods]
        if not tried or method.split(",")[0] in CONTROLS:
            continue
        if harm := _harm(tried, most, method, shared):
            panel, by = harm
            harmed.setdefault(panel.votes, {})[method] = by
        else:
            found.setdefault(_enough(tried, most, method, shared), []).append(method)
    told = [f"with {listed(methods)} {votes}" for votes, methods in found.items() if votes != most.votes]
    if most.votes in found:
        told.append(f"with {listed(found[most.votes])} no fewer than {most.votes} are shown to be enough")
    for votes, methods in harmed.items():
        get, their = ("gets", "its") if len(methods) == 1 else ("get", "their")
        higher = listed([f"{by:.3f}" for by in methods.values()])
        told.append(
            f"{listed(list(methods))} {get} worse with more: {their} KL is {higher} higher with {most.votes} than with "
            f"{votes}"
        )
    if not told:
        return None
    test = f"one-sided paired t-test over {len(shared)} seeds, {100 * ALPHA:g} %"
    enough = (
        f"Enough is a KL of at most {RULE.margin:g} above that of {most.votes} ({test})"
        if found
        else f"Shown by a {test}"
    )
    return f"Votes needed: {'; '.join(told)}. {enough}.{_repeats(comparison)}"


def _repeats(comparison: Comparison) -> str:
    """That some of the votes are there twice, where they were drawn with replacement."""
    redrawn = [panel for panel in comparison.panels if panel.redrawn is not None]
    if not redrawn:
        return ""
    short = [told for panel in redrawn if (told := comparison.short_of(panel))]
    return f" Drawn with replacement, one vote may count twice{': ' + listed(short) if short else ''}."


def _enough(tried: Sequence[Panel], most: Panel, method: str, seeds: Collection[str]) -> str:
    downwards = [*reversed(tried)]
    p_values = (_p_not_worse(_lost(panel, most, method, seeds)) for panel in downwards)
    enough = [most, *downwards][rejected_in_order(p_values, ALPHA)]
    return enough.votes + (", the fewest tried" if enough is tried[0] else "")


def _harm(tried: Sequence[Panel], most: Panel, method: str, seeds: Collection[str]) -> tuple[Panel, float] | None:
    """The number of votes beyond which more are shown to harm most, noticeably, and by how much KL; None if none is."""
    lost = [_lost(panel, most, method, seeds) for panel in tried]
    p_values = [1.0 if np.isnan(p := _p_not_worse(one, margin=0.0)) else p for one in lost]
    harms = [
        (panel, -float(one.mean()))
        for panel, one, p in zip(tried, lost, holm(p_values), strict=True)
        if p <= ALPHA and -one.mean() >= RULE.margin
    ]
    return max(harms, key=lambda harm: harm[1], default=None)


def _p_not_worse(lost: Scores, margin: float = RULE.margin) -> float:
    """Nothing is shown where there are no runs, nor where one has diverged."""
    return p_not_worse(lost, margin) if len(lost) else np.nan


def _lost(few: Panel, most: Panel, method: str, seeds: Collection[str]) -> Scores:
    """By how much KL is higher with fewer votes, seed by seed; nothing where a panel lacks the scores."""
    fewer, full = (dict(zip(panel.seeds, _scores(panel, method), strict=False)) for panel in (few, most))
    return np.array([fewer[seed] - full[seed] for seed in sorted(seeds) if seed in fewer and seed in full], np.float64)


def _scores(panel: Panel, method: str) -> Scores:
    return panel.scores.get(Measure(RULE.metric, RULE.tempered), {}).get(method, np.empty(0))
