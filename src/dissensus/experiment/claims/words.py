"""Rules in words, for the page: what was written down before the runs, and what was changed later."""

from __future__ import annotations

from dissensus.experiment.claims.claim import Claim, Part, metric_title
from dissensus.experiment.claims.quantities import quantities

_WEIGHT = {"decides": "", "needed": "Needed, but cannot contradict: ", "beside": "Beside, counts for nothing: "}


def rules(claim: Claim) -> list[str]:
    """One rule a part, in the order of the file; and why they are so, where the file says it.

    >>> from dissensus.experiment.claims.claim import read_claims
    >>> print(rules(read_claims("basins")["B4"])[0])  # doctest: +NORMALIZE_WHITESPACE
    Soft NLL is lower with SLS, multipass and deterministic control than with soft labels, at 5, 10, 25 and 50 votes.
    Exact one-sided Wilcoxon test over at least 10 paired seeds, their mean on the same side, Holm over 12 cells, 5 %:
    supported if all 12 show it, contradicted if one shows the opposite, else undecided.
    A protocol that plans fewer of these cells is judged on those.
    """
    why = [f"Why so: {claim.why}"] if claim.why else []
    changed = [f"Changed later: {claim.changed}"] if claim.changed else []
    return [*map(rule, claim.parts), *why, *changed]


def rule(part: Part) -> str:
    """What a part says, the test, and when it is supported or contradicted."""
    says = part.says[0].upper() + part.says[1:]
    fewer = " A protocol that plans fewer of these cells is judged on those." if part.fewer else ""
    return f"{_WEIGHT[part.weight]}{says}. {_TEST[part.kind](part)}{fewer}"


def _directed(part: Part) -> str:
    m = len(quantities(part))
    need = part.need or m
    if part.pairs:
        test = f"One-sided t-test over the pairs of at least {part.seeds} seeds, standard error by the jackknife"
    else:
        test = f"Exact one-sided Wilcoxon test over at least {part.seeds} paired seeds, their mean on the same side"
    family = f", Holm over {m} cells" if m > 1 else ""
    every = "both" if m == 2 else f"all {m}"
    shown = "it shows" if m == 1 else f"{every} show it" if need == m else f"at least {need} of {m} show it"
    opposite = "the opposite shows" if m == 1 else f"{_more_than(m - need)} the opposite"
    then = f"supported if {shown}, contradicted if {opposite}, else undecided"
    return f"{test}{family}{_by(part)}, {_percent(part)}: {then}."


def _more_than(number: int) -> str:
    return "one shows" if number == 0 else f"more than {number} show{'s' if number == 1 else ''}"


def _by(part: Part) -> str:
    if part.by is None:
        return ""
    if part.ratio:
        return f", of a factor against {part.by:g}"
    return f", of a difference against {part.by:g}"


def _same(part: Part) -> str:
    m = len(quantities(part))
    margins = dict.fromkeys(f"{margin:g}" for margin in part.margins.values())
    each = ", ".join(f"{margin:g} for {metric_title(metric)}" for metric, margin in part.margins.items())
    of = f"a factor of {part.margins[part.axes['metric'][0]]:g}" if part.ratio else each if len(margins) > 1 else ""
    margin = of or f"{next(iter(margins))}"
    every = "it shows" if m == 1 else f"all {m} cells show it"
    beyond = "the difference" if m == 1 else "some cell"
    family = f", Holm over {m}" if m > 1 else ""
    return (
        f"Equivalence by two one-sided t-tests over at least {part.seeds} paired seeds, {_percent(part)}, "
        f"within {margin}: supported if {every}, contradicted if {beyond} is shown to lie beyond it "
        f"(one-sided t-test{family}), else undecided."
    )


def _every(part: Part) -> str:
    return (
        f"Counted over at least {part.seeds} seeds: supported if so in every one, contradicted if in fewer than half "
        "in some cell, else undecided."
    )


def _best(part: Part) -> str:
    assert part.need is not None
    metrics, cells = len(part.axes["metric"]), len(quantities(part))
    return (
        f"10,000 resamples of at least {part.seeds} seeds: supported if it is best on at least {part.need} of "
        f"{metrics} in 95 % of them, contradicted if another is shown to be ahead on more than {metrics - part.need} "
        f"(exact one-sided Wilcoxon test, Holm over {cells} cells, {_percent(part)}), else undecided."
    )


def _identity(part: Part) -> str:
    return "Supported if the largest error is at most 1e-12, contradicted if it is at least 1e-9, else undecided."


def _follows(part: Part) -> str:
    return f"The verdict of {part.of}."


def _percent(part: Part) -> str:
    return f"{100 * part.alpha:g} %"


_TEST = {
    "better": _directed,
    "lower": _directed,
    "higher": _directed,
    "same": _same,
    "every": _every,
    "best": _best,
    "identity": _identity,
    "follows": _follows,
}
