"""Expertise: a few careful annotators against a crowd, on the same items.

VariErrNLI had up to four annotators label 488 of ChaosNLI's MNLI items, explain every label, and check the explanations
of all. Their votes (3.9 an item, a vote for every class that somebody named) beside the hundred of the crowd:

============ ==========================================================
careful      the votes of VariErrNLI
as many      of each item as many of the crowd's votes, drawn at random
hundred      all votes of the crowd
============ ==========================================================

Models are judged by both kinds of people: by the crowd's hundred and by the careful ones. About 98 items are evaluated
a seed, so only large differences can be seen.

What votes say can also be compared without any model: a few votes an item, taken for a prediction (drawn towards the
classes' shares by one imagined vote, :func:`dissensus.targets.smoothed`), are judged on all items by the rest of the
crowd, without those that were drawn. Intervals are over draws from the crowd; the items and the careful votes on them
are always the same.

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; KL, entropy correlation, accuracy, at the best
epoch). For each kind of judges:

- Claims S1 (KL), S2 (entropy correlation) and S3 (accuracy) **hold** with votes of a kind if soft labels have a lower
  KL than majority labels, plain and tempered; a higher entropy correlation; the same accuracy.
- Careful votes are **worth more** than as many of the crowd if soft labels of the former have a lower KL, **less** if a
  higher one, **as much** if the same; else it is undecided.
- Expertise **changes** S1 or S2 if what soft labels gain over majority labels differs between careful votes and as many
  of the crowd; it **leaves them** if the gains are the same; else it is undecided.
- Without a model, careful votes **say more, less or as much** of the crowd as its own if their KL is lower, higher or
  the same. (Added after the models had been seen to learn too little to say, and before this was looked at.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from dissensus.datasets import Dataset, experts_and_crowd
from dissensus.experiment.studies.arms import GAINS, METHODS, Arms
from dissensus.experiment.studies.claims import claims_told
from dissensus.experiment.studies.fewer_votes import as_many
from dissensus.experiment.studies.finding import Contrast, Finding, by_place, in_words, shares_doubt
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import Asked, Making, People, Trial, TrialSetting, measured, setting
from dissensus.experiment.studies.votes_alone import ALONE, alone_in_words, contrasts_alone, told_alone, votes_alone

CONDITIONS = ("careful", "as many", "hundred")


def careful_annotators(careful: Dataset, crowd: Dataset, seed: int, how: TrialSetting) -> Making:
    """The same items twice, with the votes of a few careful annotators and with those of a crowd."""
    crowd = how.see(crowd)
    few = careful.votes.align(crowd.votes.items)
    judges = People.of("crowd", crowd), People.of("careful", crowd, few)
    drawn = as_many(crowd.votes, few.votes_per_item, seed=seed)
    given = dict(zip(CONDITIONS, (few, drawn, crowd.votes), strict=True))
    arms = list(product(CONDITIONS, METHODS))

    def scores(said: Sequence[Trial]) -> list[Score]:
        rows = []
        for (condition, method), one in zip(arms, said, strict=True):
            for people in judges:
                rows += measured(one, people, data=careful.name, condition=condition, method=method, seed=seed)
        for condition, votes in (("careful", few), ("as many", drawn)):
            rows.append(votes_alone(votes, crowd, drawn, condition, seed, careful.name))
        return rows

    return Making([Asked(crowd, given[condition], method, seed, how) for condition, method in arms], scores)


def make(given: Given) -> OneSeed:
    """VariErrNLI and ChaosNLI."""
    careful, crowd = experts_and_crowd()
    how = setting(crowd, given.model, given.encoder)
    return lambda seed: [careful_annotators(careful, crowd, seed, how)]


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    """Who judges stands where other studies name the data."""
    yield from contrasts_alone(scores, metric, "varierr", "careful", ["as many"])
    for against in ("crowd", "careful"):
        data = f"varierr, judged by {against}"
        arms = Arms(scores.where(against=against), CONDITIONS)
        for condition in CONDITIONS:
            yield arms.apart(data, f"{condition} votes", condition, metric)
        for other in CONDITIONS[1:]:
            pair = arms.soft["careful"], arms.soft[other]
            doubt = shares_doubt(pair[0]) and shares_doubt(pair[1])
            yield Contrast(data, "soft labels", "careful", other, pair[0][metric], pair[1][metric], doubt)
        yield arms.gains(data, ("careful", "careful"), ("as many", "as many"), metric)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    here = by_place(findings, data)
    if (alone := here.get((ALONE, "careful", "as many", "kl", False))) is not None:
        yield f"{data}: {told_alone(alone)}."
        return
    for condition in CONDITIONS:
        yield f"{data}: with {condition} votes {claims_told(here, f'{condition} votes')}."
    worth = here["soft labels", "careful", "as many", "kl", False]
    told = worth.said("worth more than", "worth less than", "worth as much as", "not shown to differ from")
    yield f"{data}: careful votes are {told} as many of the crowd."
    for claim, metric in (("S1", "kl"), ("S2", "entropy_correlation")):
        change = here[GAINS, "careful", "as many", metric, False]
        told = "changes" if change.side else "leaves" if change.same else "is not shown to change or leave"
        yield f"{data}: expertise {told} {claim}."


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """Of the votes themselves, and of models that are judged by the crowd."""
    kl = [one for one in findings if one.metric == "kl" and not one.tempered]
    if told := alone_in_words((one for one in kl if one.question == ALONE), "as many of the crowd's own"):
        yield f"A few careful votes an item tell {told}."
    of_models = (one for one in kl if one.data.endswith("by crowd") and one.question == "soft labels")
    if told := in_words((one for one in of_models if one.second == "as many"), _learn):
        yield f"Trained on either, {told}."


def _learn(one: Finding) -> str:
    much = one.said("more of the crowd", "less of the crowd", "as much", "neither more nor less")
    return f"models learn {much} from careful votes"


STUDY = Study(
    "careful-annotators",
    "Are the votes of a few careful annotators worth more than as many of a crowd?",
    make,
    _contrasts,
    _told,
    plain,
    leading=2,
)
