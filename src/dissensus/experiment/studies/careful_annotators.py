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

from dissensus.datasets import Dataset, experts_and_crowd
from dissensus.experiment.studies.claims import claims_told
from dissensus.experiment.studies.fewer_votes import as_many
from dissensus.experiment.studies.finding import VIEWS, Contrast, Finding, by_place, class_doubt, decide, shares_doubt
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Say, Study, quiet
from dissensus.experiment.studies.trial import People, Setting, measured, setting, trial
from dissensus.experiment.studies.votes_alone import ALONE, contrasts_alone, told_alone, votes_alone

CONDITIONS = ("careful", "as many", "hundred")
METHODS = ("soft", "majority")


def careful_annotators(
    careful: Dataset, crowd: Dataset, seeds: Sequence[int], how: Setting | None = None, say: Say = quiet
) -> list[Score]:
    """The same items twice, with the votes of a few careful annotators and with those of a crowd."""
    how = how or setting(crowd)
    crowd = how.see(crowd)
    few = careful.votes.align(crowd.votes.items)
    judges = People.of("crowd", crowd), People.of("careful", crowd, few)
    rows = []
    for seed in seeds:
        drawn = as_many(crowd.votes, few.votes_per_item, seed=seed)
        for condition, votes in zip(CONDITIONS, (few, drawn, crowd.votes), strict=True):
            for method in METHODS:
                said = trial(crowd, votes, method, seed, how)
                for people in judges:
                    rows += measured(said, people, data=careful.name, condition=condition, method=method, seed=seed)
        for condition, votes in (("careful", few), ("as many", drawn)):
            rows.append(votes_alone(votes, crowd, drawn, condition, seed, careful.name))
        say(f"{careful.name}, seed {seed}")
    return rows


def make(seeds: Sequence[int], say: Say = quiet, model: str = "frozen", encoder: str | None = None) -> list[Score]:
    """VariErrNLI and ChaosNLI."""
    careful, crowd = experts_and_crowd()
    return careful_annotators(careful, crowd, seeds, setting(crowd, model, encoder), say)


def judge(rows: Sequence[Score]) -> list[Finding]:
    """Every comparison that the rule needs; who judges stands where other studies name the data."""
    found: list[Finding] = []
    for metric, tempered in VIEWS:
        scores = Scores(rows).where(checkpoint="best", tempered=tempered)
        found += decide([*_contrasts(scores, metric)], metric, tempered)
    return found


def verdicts(findings: Sequence[Finding]) -> list[str]:
    """The rule's sentences, for each kind of judges."""
    return [sentence for data in dict.fromkeys(one.data for one in findings) for sentence in _told(data, findings)]


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    yield from contrasts_alone(scores, metric, "varierr", "careful", ["as many"])
    for against in ("crowd", "careful"):
        data, here = f"varierr, judged by {against}", scores.where(against=against)
        soft, majority = (
            {condition: here.where(condition=condition, method=method) for condition in CONDITIONS}
            for method in METHODS
        )
        doubts = {condition: class_doubt(majority[condition]) for condition in CONDITIONS}
        for condition in CONDITIONS:
            pair = soft[condition][metric], majority[condition][metric]
            yield Contrast(data, f"{condition} votes", "soft", "majority", *pair, doubts[condition])
        for other in CONDITIONS[1:]:
            pair = soft["careful"][metric], soft[other][metric]
            doubt = shares_doubt(soft["careful"]) and shares_doubt(soft[other])
            yield Contrast(data, "soft labels", "careful", other, *pair, doubt)
        gains = [soft[condition][metric] - majority[condition][metric] for condition in CONDITIONS[:2]]
        doubt = doubts["careful"] or doubts["as many"]
        yield Contrast(data, "soft less majority", "careful", "as many", gains[0], gains[1], doubt)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    here = by_place(findings, data)
    if (alone := here.get((ALONE, "careful", "as many", "kl", False))) is not None:
        yield f"{data}: {told_alone(alone)}."
        return
    for condition in CONDITIONS:
        yield f"{data}: with {condition} votes {claims_told(here, f'{condition} votes')}."
    worth = here["soft labels", "careful", "as many", "kl", False]
    words = {
        -1: "worth more than",
        1: "worth less than",
        0: "worth as much as" if worth.same else "not shown to differ from",
    }
    yield f"{data}: careful votes are {words[worth.side]} as many of the crowd."
    for claim, metric in (("S1", "kl"), ("S2", "entropy_correlation")):
        change = here["soft less majority", "careful", "as many", metric, False]
        told = "changes" if change.side else "leaves" if change.same else "is not shown to change or leave"
        yield f"{data}: expertise {told} {claim}."


STUDY = Study(
    "careful-annotators",
    "Are the votes of a few careful annotators worth more than as many of a crowd?",
    judge,
    verdicts,
    make,
)
