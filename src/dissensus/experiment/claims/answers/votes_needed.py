"""How many votes an item are enough? For whoever pays for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dissensus.base.words import listed
from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.answers.rows import ADDED
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.enough import Enough, votes_enough
from dissensus.experiment.claims.guard import Guard, lead
from dissensus.experiment.papers import Evidence, Experiment, read_paper
from dissensus.metrics import METRICS

BESIDE = {"entropy_correlation_pearson": 0.05, "ece": 0.02}
"""More metrics, with margins that were set when results had been seen."""

QUESTION = "How many votes an item?"


@dataclass(frozen=True)
class Guess:
    """What can be said without a model: a number of its own, or the same metric of something else."""

    than: str = ""
    yardstick: str = ""

    def lead(self, evidence: Evidence, metric: str, protocol: str, method: str) -> float | None:
        """How much better a method is with all votes, mean over seeds; None where not measured."""
        guard = Guard("", "", method, metric, 0.0, self.than, self.yardstick)
        return lead(guard, protocol, "best", evidence)


GUESSES = {
    "kl": Guess(yardstick="shares"),
    "js_distance": Guess(yardstick="shares"),
    "accuracy": Guess("majority_class"),
}


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
    return Answer(QUESTION, _in_short(told, method), tuple(more for one in told for more in one.more))


@dataclass(frozen=True)
class _Witness:
    """What a model says, on the data sets on which it has learned something."""

    votes: int | str | None  # None: it cannot tell
    sets: Sequence[str]
    weak: Mapping[str, float]  # of these sets, how far it is ahead in accuracy where that is little
    more: Sequence[str]

    @property
    def pay(self) -> str:
        return "On weak evidence, pay" if len(self.weak) == len(self.sets) else "Pay"

    @property
    def buys(self) -> str:
        enough = "more of them, up to a hundred, made no noticeably better model"
        return "with fewer, models were worse" if self.votes == "all" else enough


def _in_short(told: Sequence[_Witness], method: str) -> str:
    """For whoever pays: models that say it alike share a sentence, and those that are weak witnesses a doubt."""
    alike: dict[tuple[str, str], list[_Witness]] = {}
    for one in told:
        if one.votes is not None:
            alike.setdefault((one.pay, one.buys), []).append(one)
    short = []
    for (pay, buys), several in alike.items():
        by = [f"{f'{one.votes} ' * (len(several) > 1)}on {listed(one.sets)}" for one in several]
        short.append(f"{pay} for {_span([one.votes for one in several])} an item: {buys} ({', '.join(by)}).")
    if weak := {name: ahead for one in told if one.votes is not None for name, ahead in one.weak.items()}:
        this, their = ("this model", "its") if len(weak) == 1 else ("these models", "their")
        points = [f"{100 * abs(ahead):.1f} points {'above' if ahead >= 0 else 'below'}" for ahead in weak.values()]
        short.append(
            f"But {this} hardly learned {their} task ({method} labels' accuracy is {listed(points)} that of the most "
            "frequent class), so a better one may use more."
        )
    if cannot := [name for one in told if one.votes is None for name in one.sets]:
        short.append(f"{listed(cannot)} cannot tell: what all votes teach there is less than twice the margins.")
    return " ".join(short)


def _span(numbers: Sequence[int | str | None]) -> str:
    """What models say: one number, or from the lowest to the highest.

    >>> _span([5, 10]), _span([1]), _span(["all"])
    ('5 to 10 votes', '1 vote', 'more than 50 votes')
    """
    known = sorted({number for number in numbers if isinstance(number, int)})
    return f"{known[0]} to {known[-1]} votes" if len(known) > 1 else _votes(numbers[0])


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
    evidence: Evidence,
    method: str,
    protocols: Sequence[str],
    margins: Mapping[str, float] | None = None,
    checkpoint: str = "best",
) -> list[Enough]:
    """By metric, how many votes are enough with a method, on average over these protocols."""
    numbers = [votes for votes in _swept()[0].votes if votes != "all"]
    margins = read_claims("soft-labels").enough if margins is None else margins
    return [
        votes_enough(evidence, metric, margin, protocols=protocols, method=method, votes=numbers, checkpoint=checkpoint)
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
    """A metric is left out where its margin is more than half of what the model reaches beyond a guess.

    There any number of votes would be enough, as more cannot help.
    """
    levels = {one.metric: _level(evidence, one.metric, sets, method) for one in found}
    leads = {one.metric: _lead(evidence, one.metric, sets, method) for one in found}
    poor = [one for one in found if (by := leads[one.metric]) is not None and by < 2 * one.margin]
    told = [one for one in found if one not in poor]
    most = _most(told)
    more = []
    if told:
        margins = [f"{one.margin:g} of {metric_title(one.metric)} ({_votes(one.votes)})" for one in told]
        reached = [f"{metric_title(one.metric)} {levels[one.metric]:.3f}" for one in told]
        more.append(
            f"On {listed(sets)}, measured with {method} labels at the best epoch: enough to come within "
            f"{listed(margins)} of what all votes reach, which is {', '.join(reached)}."
        )
    more += [
        f"{_capital(metric_title(one.metric))} is left out: with all votes it is {levels[one.metric]:.3f}"
        f"{_than_a_guess(one.metric, leads[one.metric])}, too little for any number of votes to matter."
        for one in poor
    ]
    if poor:
        more.append(f"A metric counts where all votes lead a guess by twice its margin ({ADDED}).")
    if told and (others := _with_others(evidence, method, sets, told)):
        more.append(f"With {others}.")
    if told and (later := _most(_at_last(evidence, method, sets, told))) not in (most, None):
        more.append(f"At the last epoch, where none is chosen, it takes {_votes(later)}.")
    if without:
        more.append(f"Not counted: {', '.join(without)}, where soft labels hardly beat the shares of the classes.")
    return _Witness(most, sets, _weak(evidence, sets, method), more)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _most(found: Sequence[Enough]) -> int | str | None:
    """Enough for each of these metrics; None where there are none, or of one it is not known."""
    numbers = [one.votes for one in found]
    if not numbers or None in numbers:
        return None
    return max(numbers, key=lambda votes: float("inf") if votes == "all" else float(votes or 0))


def _with_others(evidence: Evidence, method: str, sets: Sequence[str], told: Sequence[Enough]) -> str:
    """How many votes are enough with the other methods, by the same metrics."""
    margins = {one.metric: one.margin for one in told}
    others = {one: _most(enough_of(evidence, one, sets, margins)) for one in _swept()[0].methods if one != method}
    return ", with ".join(f"{other} it takes {_votes(votes)}" for other, votes in others.items() if votes is not None)


def _at_last(evidence: Evidence, method: str, sets: Sequence[str], told: Sequence[Enough]) -> list[Enough]:
    margins = {one.metric: one.margin for one in told}
    return enough_of(evidence, method, sets, margins, checkpoint="last")


def _lead(evidence: Evidence, metric: str, sets: Sequence[str], method: str) -> float | None:
    """How much better all votes are, on average, than what can be said without a model; None where nobody says."""
    if metric not in GUESSES:  # a correlation is nought without a model
        return _level(evidence, metric, sets, method) if METRICS[metric].higher_is_better else None
    leads = [GUESSES[metric].lead(evidence, metric, name, method) for name in sets]
    known = [one for one in leads if one is not None]
    return sum(known) / len(known) if len(known) == len(leads) else None


def _than_a_guess(metric: str, ahead: float | None) -> str:
    if metric not in GUESSES or ahead is None:
        return ""
    than = "the most frequent class" if metric == "accuracy" else "the shares of the classes"
    return f", {abs(ahead):.3f} {'better' if ahead >= 0 else 'worse'} than {than}"


def _weak(evidence: Evidence, protocols: Sequence[str], method: str) -> dict[str, float]:
    """Of those that have learned too little by what is asked of the hard arm elsewhere: how far it is ahead."""
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    leads = {name: GUESSES["accuracy"].lead(evidence, "accuracy", name, method) for name in protocols}
    return {name: ahead for name, ahead in leads.items() if ahead is not None and ahead < guard.by}


def _level(evidence: Evidence, metric: str, protocols: Sequence[str], method: str) -> float:
    """What is reached with all votes, on average."""
    found = [evidence.numbers(metric, protocol=name, method=method).values() for name in protocols]
    return sum(sum(values) / len(values) for values in found) / len(found)


def _votes(number: int | str | None) -> str:
    if number == "all":
        return "more than 50 votes"
    return "1 vote" if number == 1 else f"{number} votes"
