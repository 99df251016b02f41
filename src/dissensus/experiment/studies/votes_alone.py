"""What a few votes tell of many without any model: they are taken for a prediction themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dissensus.datasets import Dataset
from dissensus.experiment.studies.finding import VIEWS, Contrast, Finding, in_words
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.trial import People
from dissensus.metrics import METRICS
from dissensus.targets import smoothed
from dissensus.votes import Votes

ALONE = "votes alone"


def votes_alone(votes: Votes, crowd: Dataset, drawn: Votes, condition: str, seed: int, name: str) -> Score:
    """Few votes, drawn towards the classes' shares by one imagined vote, judged by the crowd without what was drawn.

    No items are set aside, and nothing is trained: a seed is a draw from the crowd, and intervals over seeds are over
    such draws.
    """
    left = crowd.votes.counts() - drawn.counts()
    rest = Votes.from_counts(left, classes=crowd.votes.classes, items=crowd.votes.items)
    people, said = People.of("rest of the crowd", crowd, rest), smoothed(votes)
    values = {metric: METRICS[metric](said, people.human, people.labels) for metric, _ in VIEWS}
    return Score(name, condition, ALONE, seed, people.name, "best", False, len(said), values)


def contrasts_alone(scores: Scores, metric: str, data: str, first: str, others: Sequence[str]) -> list[Contrast]:
    """One condition's votes against those of others; none after a temperature, which votes do not have."""
    alone = scores.where(method=ALONE)
    if not alone.rows:
        return []
    a, name = alone.where(condition=first)[metric], f"{data}, judged by the rest of the crowd"
    return [Contrast(name, ALONE, first, other, a, alone.where(condition=other)[metric]) for other in others]


def told_alone(finding: Finding) -> str:
    """In words: by KL."""
    small = ", by less than the margin" if _small(finding) else ""
    return f"without a model, {finding.first} votes tell {_much(finding)} {finding.second}{small}"


def alone_in_words(findings: Iterable[Finding], others: str) -> str:
    """The same of several data sets in one sentence, with KL: "less of the crowd than five others on ..."."""
    return in_words(
        findings,
        lambda one: f"{_much(one)} {others}",
        lambda one: f"KL {one.first_mean:.3f} against {one.second_mean:.3f}{', within the margin' * _small(one)}",
    )


def _small(finding: Finding) -> bool:
    return bool(finding.side and finding.same)


def _much(finding: Finding) -> str:
    return finding.said(
        "more of the crowd than",
        "less of the crowd than",
        "as much of the crowd as",
        "no more or less of the crowd than",
    )
