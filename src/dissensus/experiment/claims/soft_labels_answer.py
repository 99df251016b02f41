"""Do soft labels keep what people disagree about, and how many votes does it take? From ledger and evidence alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dissensus.base.words import listed, many
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.decide import combined
from dissensus.experiment.claims.enough import Enough, votes_enough
from dissensus.experiment.claims.guard import lead
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Ledger, Row
from dissensus.experiment.papers import Evidence, Experiment, read_paper

BESIDE = {"entropy_correlation_pearson": 0.05, "ece": 0.02}  # more metrics, with margins that came after the results
MEANS = ("mean-paper", "mean-fine-tuned", "mean-frozen")  # the first that was run is spoken of


def soft_labels_answer(ledger: Ledger, evidence: Evidence) -> list[str]:
    """Distance to people, their uncertainty, what it costs, hard delivery, and votes needed.

    >>> from dissensus.experiment.claims.judge import judge_claims
    >>> nothing = Evidence({})
    >>> print(soft_labels_answer(judge_claims(nothing, read_paper("soft-labels")), nothing)[0])
    Whether soft labels bring models nearer to people (S1) is not known yet: nothing was run.
    """
    return [
        _told(ledger, "S1", "soft labels bring models nearer to people", ", also with a temperature in both arms"),
        _told(ledger, "S2", "model entropy follows that of people more closely with soft labels"),
        _told(ledger, "S5", "soft labels make models less falsely confident where people disagree most"),
        _told(ledger, "S3", "accuracy stays the same"),
        _told(ledger, "S4", "soft labels overfit less"),
        _hard_delivery(ledger),
        votes_sentence(evidence),
        _how_sure(evidence),
    ]


def _told(ledger: Ledger, claim: str, what: str, more: str = "") -> str:
    alone = [row for row in ledger if row.claim == claim and not row.view.startswith("mean-") and row.seeds]
    if not alone:
        return f"Whether {what} ({claim}) is not known yet: nothing was run."
    where = {verdict: [row.view for row in alone if row.verdict == verdict] for verdict in (SUPPORTED, CONTRADICTED)}
    lines = [f"{verdict} on {', '.join(views)}" for verdict, views in where.items() if views]
    if open_ := [row for row in alone if row.verdict == UNDECIDED]:
        others = "the other " if lines else ""
        lines.append(f"undecided on {others}{len(open_)} of {_sets(len(alone))}{_barred(open_)}")
    mean = _mean_row(ledger, claim)
    lines += [_average(mean)] if mean is not None else []
    return f"{what[:1].upper()}{what[1:]}{more} ({claim}): {'; '.join(lines)}."


def _sets(number: int) -> str:
    """So many combinations of the two."""
    return f"{number} data set and model" if number == 1 else f"{number} data sets and models"


def _barred(rows: Sequence[Row]) -> str:
    """Where the numbers would decide, but the model has learned too little for them to count."""
    counted = Counter(verdict for row in rows if (verdict := combined(row.parts)[0]) != UNDECIDED)
    kept = " and ".join(f"{verdict} on {number}" for verdict, number in sorted(counted.items(), reverse=True))
    return f" (by the numbers alone {kept} of them, but there the hard arm has learned too little)" if kept else ""


def _mean_row(ledger: Ledger, claim: str) -> Row | None:
    rows = [ledger.row(claim, view) for view in MEANS]
    return next((row for row in rows if row.seeds), None)


def _average(mean: Row) -> str:
    """Where too few models have learned enough, the numbers are those of all and decide nothing."""
    if mean.barred:
        return f"on average undecided, since too few have learned enough (over all: {mean.measured})"
    return f"on average {mean.verdict} ({mean.measured})"


def _hard_delivery(ledger: Ledger) -> str:
    alone = [row for row in ledger if row.claim == "A3" and not row.view.startswith("mean-") and row.seeds]
    few = [row for row in ledger if row.claim == "A4" and not row.view.startswith("mean-") and row.seeds]
    few = [row for row in few if not row.barred]
    if not alone:
        return "Whether hard delivery helps on text is not known yet: nothing was run (A3, A4)."
    helps = [row.view for row in alone if row.verdict == SUPPORTED]
    hurts = [row.view for row in alone if row.verdict == CONTRADICTED]
    told = [f"helps on {', '.join(helps)}" if helps else "is nowhere shown to help"]
    told += [f"and loses to soft labels on {', '.join(hurts)}{by_how_much(alone)}"] if hurts else []
    return f"With all votes, hard delivery {' '.join(told)} (A3, {_sets(len(alone))}){at_the_end(ledger)}; {_few(few)}."


def at_the_end(ledger: Ledger) -> str:
    """What hard delivery does to the last epoch, when none is chosen, on average over the sets of a model."""
    rows = [row for row in ledger if row.claim == "A3" and row.view.startswith("mean-") and row.view.endswith("-last")]
    told = [
        f"{word} on average where the {row.view[5:-5]} encoder has learned something{by_how_much([row], verdict)}"
        for verdict, word in ((SUPPORTED, "helps"), (CONTRADICTED, "loses"))
        for row in rows
        if row.seeds and not row.barred and row.verdict == verdict
    ]
    return f"; at the last epoch, when none is chosen, it {' and '.join(told)}" if told else ""


def by_how_much(rows: Sequence[Row], verdict: str = CONTRADICTED) -> str:
    """The span of what hard delivery loses where it is shown to, or gains: a difference that is sure may be small."""
    shown = [row for row in rows if row.verdict == verdict]
    cells = [cell for row in shown for cell in row.deciding[0].cells if cell.verdict == verdict]
    means = sorted(abs(cell.mean) for cell in cells if cell.mean is not None)
    span = dict.fromkeys(f"{mean:.3f}" for mean in (means[0], means[-1])) if means else {}
    return f" (by {' to '.join(span)} nats of soft NLL)" if span else ""


def _few(rows: Sequence[Row]) -> str:
    if not rows:
        return "with few votes it was not tried yet with a model that has learned something (A4)"
    cells = [(row.view, cell) for row in rows for cell in row.deciding[0].cells]
    helps = [f"{view} at {cell.cell}" for view, cell in cells if cell.verdict == SUPPORTED]
    worse = sum(cell.verdict == CONTRADICTED for _, cell in cells)
    gains = sorted(cell.mean for _, cell in cells if cell.mean is not None)
    span = f"its soft NLL is better by {gains[0]:+.3f} to {gains[-1]:+.3f}" if gains else "no number"
    where = f"it helps on {'; '.join(helps)}" if helps else "no cell shows that it helps"
    against = f", and {worse} of {len(cells)} {'shows' if worse == 1 else 'show'} the opposite" if worse else ""
    return f"with 2 to 50 votes {where}{against}: {span} in {len(cells)} cells (A4, Holm over the ten of each set)"


def swept() -> list[Experiment]:
    """The paper's sweep over numbers of votes: the same on each of its data sets, and with each model."""
    return [one for one in read_paper("soft-labels").experiments if one.name == "votes"]


def enough_of(
    evidence: Evidence, method: str, protocols: Sequence[str], margins: Mapping[str, float] | None = None
) -> list[Enough]:
    """By metric, how many votes are enough with a method, on average over these protocols."""
    numbers = [votes for votes in swept()[0].votes if votes != "all"]
    margins = read_claims("soft-labels").enough if margins is None else margins
    return [
        votes_enough(evidence, metric, margin, protocols=protocols, method=method, votes=numbers)
        for metric, margin in margins.items()
    ]


def learned(evidence: Evidence) -> list[str]:
    """The protocols whose sweep is made, and whose model has learned enough to tell how many votes it needs."""
    return [name for name in _made(evidence) if _learned(evidence, name)]


def left_out(evidence: Evidence) -> list[str]:
    """The protocols whose sweep is made, and whose model has not."""
    return [name for name in _made(evidence) if not _learned(evidence, name)]


def _made(evidence: Evidence) -> list[str]:
    """The protocols of which every training of the sweep is there."""
    runs = set(evidence.runs.values())
    return [one.protocol for one in swept() if runs.issuperset(one.cells())]


def _learned(evidence: Evidence, protocol: str) -> bool:
    guard = read_claims("soft-labels")["A6"].guard
    assert guard is not None
    value = lead(guard, protocol, "best", evidence)
    return value is not None and value >= guard.by


def enough_by_set(evidence: Evidence) -> list[tuple[str, str, list[Enough]]]:
    """For each protocol of which runs with few votes are there, by method, how many are enough.

    Also where the model has learned too little, and by metrics that the answer does without; both are marked.
    """
    few = {cell.protocol for cell in evidence.runs.values() if cell.votes != "all"}
    return [
        (name, method, [replace(one, barred=not _learned(evidence, name)) for one in _all_of(evidence, method, name)])
        for name in (one.protocol for one in swept() if one.protocol in few)
        for method in swept()[0].methods
    ]


def _all_of(evidence: Evidence, method: str, protocol: str) -> list[Enough]:
    beside = enough_of(evidence, method, [protocol], BESIDE)
    return [*enough_of(evidence, method, [protocol]), *(replace(one, added=True) for one in beside)]


def votes_sentence(evidence: Evidence, method: str = "soft") -> str:
    """For whoever pays for the votes."""
    sets = learned(evidence)
    found = enough_of(evidence, method, sets) if sets else []
    if not sets or any(one.votes is None for one in found):
        return "How many votes an item are enough is not known yet: not all of these runs were made."
    told = [f"{_votes(one.votes)} for {metric_title(one.metric)}" for one in found]
    levels = [f"{metric_title(one.metric)} {_level(evidence, one.metric, sets, method):.3f}" for one in found]
    margins = ", ".join(f"{one.margin:g} of {metric_title(one.metric)}" for one in found)
    most = max((one.votes for one in found), key=lambda votes: float("inf") if votes == "all" else float(votes or 0))
    without = left_out(evidence)
    beside = f" Not counted: {', '.join(without)}, where soft labels hardly beat the shares of the classes."
    return (
        f"Votes to pay for: {_votes(most)} an item. More, up to a hundred, gain a model that is trained on {method} "
        f"labels ({', '.join(sets)}) less than {margins} "
        f"({listed(told)} are enough). With all votes it has {', '.join(levels)}: where that is "
        f"poor, few votes are enough because more cannot help.{beside if without else ''}"
    )


def _level(evidence: Evidence, metric: str, protocols: Sequence[str], method: str) -> float:
    """What is reached with all votes, on average."""
    found = [evidence.numbers(metric, protocol=name, method=method).values() for name in protocols]
    return sum(sum(values) / len(values) for values in found) / len(found)


def _votes(number: int | str | None) -> str:
    if number == "all":
        return "more than 50 votes"
    return "1 vote" if number == 1 else f"{number} votes"


def _how_sure(evidence: Evidence) -> str:
    protocols = list(dict.fromkeys(cell.protocol for cell in evidence.runs.values()))
    if not protocols:
        return "How sure all that is: nothing was run yet."
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    leads = {name: lead(guard, name, "best", evidence) for name in protocols}
    weak = [name for name, value in leads.items() if value is not None and value < guard.by]
    seeds = len({cell.seed for cell in evidence.runs.values()})
    lost = f", of which {len(evidence.diverged)} diverged" if evidence.diverged else ""
    of = len(read_paper("soft-labels").protocols)
    told = f"{many(len(evidence.runs), 'training')}{lost}, {many(seeds, 'seed')}, {len(protocols)} of {_sets(of)}"
    kept = (
        f" On {', '.join(weak)} the hard arm does not {guard.says}: there no claim that compares with it is decided "
        f"({', '.join(_compare_with_it())}), whatever the numbers."
    )
    return f"All that rests on {told}.{kept if weak else ''}"


def _compare_with_it() -> list[str]:
    """The claims that need a hard arm which has learned something; the others have a guard of their own, or none."""
    claims = read_claims("soft-labels")
    return [claim.name for claim in claims.claims if claim.guard == claims["S1"].guard]
