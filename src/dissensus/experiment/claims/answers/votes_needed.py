"""How many votes an item are enough? For whoever pays for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dissensus.base.words import listed
from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.enough import Enough, votes_enough
from dissensus.experiment.claims.guard import lead
from dissensus.experiment.papers import Evidence, Experiment, read_paper
from dissensus.metrics import METRICS

BESIDE = {"entropy_correlation_pearson": 0.05, "ece": 0.02}
"""More metrics, with margins that were set when results had been seen."""

QUESTION = "How many votes an item?"


def votes_needed(evidence: Evidence, method: str = "soft") -> Answer:
    """Model by model: what to pay for, how good a witness that model is, and by which margins.

    >>> votes_needed(Evidence({})).short
    'How many are enough is not known yet: not all of these runs were made.'
    """
    models = {name: one.model for name, one in read_paper("soft-labels").protocols.items()}
    told = []
    for model in dict.fromkeys(models[name] for name in _made(evidence)):
        sets, without = ([name for name in of(evidence) if models[name] == model] for of in (_good, _poor))
        found = enough_of(evidence, method, sets) if sets else []
        if found and all(one.votes is not None for one in found):
            told.append(_of_a_model(evidence, method, found, sets, without))
    if not told:
        return Answer(QUESTION, "How many are enough is not known yet: not all of these runs were made.")
    return Answer(QUESTION, _in_short(told), tuple(more for one in told for more in one.more))


@dataclass(frozen=True)
class _Witness:
    """What a model says, on the data sets on which it has learned something."""

    votes: int | str | None
    sets: Sequence[str]
    weak: Mapping[str, float]  # of these sets, by how many points of accuracy it is ahead where that is little
    more: Sequence[str]

    @property
    def pay(self) -> str:
        return "On weak evidence, pay" if len(self.weak) == len(self.sets) else "Pay"

    @property
    def buys(self) -> str:
        enough = "up to a hundred make no noticeably better model"
        return "with fewer, models are worse" if self.votes == "all" else enough


def _in_short(told: Sequence[_Witness]) -> str:
    """Models that say it alike share a sentence, and those that are weak witnesses a doubt."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in told:
        paid = f"for {_votes(one.votes)}, as far as {listed(one.sets)} can tell"
        alike.setdefault((one.pay, one.buys), []).append(paid)
    short = [f"{pay} {', and '.join(paid)}: {buys}." for (pay, buys), paid in alike.items()]
    if weak := {name: ahead for one in told for name, ahead in one.weak.items()}:
        have, their, they = ("has", "its", "it") if len(weak) == 1 else ("have", "their", "they")
        points = listed([f"{100 * ahead:.1f}" for ahead in weak.values()])
        short.append(
            f"But {listed(list(weak))} {have} hardly learned {their} task, with majority labels {points} points of "
            f"accuracy ahead of the most frequent class (S1 to S5 ask for {100 * _asked():g}); perhaps {they} cannot "
            "use more."
        )
    return " ".join(short)


def enough_by_set(evidence: Evidence) -> list[tuple[str, str, list[Enough]]]:
    """For each protocol of which runs with few votes are there, by method, how many are enough.

    Also where the model has learned too little, and by metrics that the answer does without; both are marked.
    """
    few = {cell.protocol for cell in evidence.runs.values() if cell.votes != "all"}
    return [
        (name, method, [replace(one, barred=not _learned(evidence, name)) for one in _all_of(evidence, method, name)])
        for name in (one.protocol for one in _swept() if one.protocol in few)
        for method in _swept()[0].methods
    ]


def enough_of(
    evidence: Evidence, method: str, protocols: Sequence[str], margins: Mapping[str, float] | None = None
) -> list[Enough]:
    """By metric, how many votes are enough with a method, on average over these protocols."""
    numbers = [votes for votes in _swept()[0].votes if votes != "all"]
    margins = read_claims("soft-labels").enough if margins is None else margins
    return [
        votes_enough(evidence, metric, margin, protocols=protocols, method=method, votes=numbers)
        for metric, margin in margins.items()
    ]


def _all_of(evidence: Evidence, method: str, name: str) -> list[Enough]:
    beside = enough_of(evidence, method, [name], BESIDE)
    return [*enough_of(evidence, method, [name]), *(replace(one, added=True) for one in beside)]


def _swept() -> list[Experiment]:
    """The paper's sweep over numbers of votes: the same on each of its data sets, and with each model."""
    return [one for one in read_paper("soft-labels").experiments if one.name == "votes"]


def _made(evidence: Evidence) -> list[str]:
    """The protocols of which every training of the sweep is there."""
    runs = set(evidence.runs.values())
    return [one.protocol for one in _swept() if runs.issuperset(one.cells())]


def _good(evidence: Evidence) -> list[str]:
    """Of these, those whose model has learned enough to tell how many votes it needs."""
    return [name for name in _made(evidence) if _learned(evidence, name)]


def _poor(evidence: Evidence) -> list[str]:
    """Of these, those whose model has not."""
    return [name for name in _made(evidence) if not _learned(evidence, name)]


def _learned(evidence: Evidence, protocol: str) -> bool:
    guard = read_claims("soft-labels")["A6"].guard
    assert guard is not None
    value = lead(guard, protocol, "best", evidence)
    return value is not None and value >= guard.by


def _of_a_model(
    evidence: Evidence, method: str, found: Sequence[Enough], sets: Sequence[str], without: Sequence[str]
) -> _Witness:
    """A metric is left out where its margin is more than half of all that the model reaches.

    There any number of votes would be enough, as more cannot help.
    """
    levels = {one.metric: _level(evidence, one.metric, sets, method) for one in found}
    poor = [one for one in found if METRICS[one.metric].higher_is_better and levels[one.metric] < 2 * one.margin]
    told = [one for one in found if one not in poor]
    most = max((one.votes for one in told), key=lambda votes: float("inf") if votes == "all" else float(votes or 0))
    weak = _weak(evidence, sets)
    margins = [f"{one.margin:g} of {metric_title(one.metric)} ({_votes(one.votes)})" for one in told]
    reached = [f"{metric_title(one.metric)} {levels[one.metric]:.3f}" for one in told]
    more = [
        f"On {listed(sets)}, measured with {method} labels: enough to come within {listed(margins)} of what all votes "
        f"reach, which is {', '.join(reached)}."
    ]
    if not weak:
        more.append("Where that is poor, few votes are enough because more cannot help.")
    more += [
        f"{metric_title(one.metric)} is left out: with all votes it is {levels[one.metric]:.3f}, too little for any "
        "number of votes to matter."
        for one in poor
    ]
    if without:
        more.append(f"Not counted: {', '.join(without)}, where soft labels hardly beat the shares of the classes.")
    return _Witness(most, sets, weak, more)


def _weak(evidence: Evidence, protocols: Sequence[str]) -> dict[str, float]:
    """Of those that have learned too little for claims on the hard arm: how far it is ahead."""
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    leads = {name: lead(guard, name, "best", evidence) for name in protocols}
    return {name: ahead for name, ahead in leads.items() if ahead is not None and ahead < guard.by}


def _asked() -> float:
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    return guard.by


def _level(evidence: Evidence, metric: str, protocols: Sequence[str], method: str) -> float:
    """What is reached with all votes, on average."""
    found = [evidence.numbers(metric, protocol=name, method=method).values() for name in protocols]
    return sum(sum(values) / len(values) for values in found) / len(found)


def _votes(number: int | str | None) -> str:
    if number == "all":
        return "more than 50 votes"
    return "1 vote" if number == 1 else f"{number} votes"
