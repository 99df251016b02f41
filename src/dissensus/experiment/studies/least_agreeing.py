r"""Expertise where annotators are known: what happens when those who agree least with the others are removed?

An annotator's agreement is the mean, over their votes, of the share of the other votes on the item that say the same,
drawn towards that of all by ten imagined votes, so that a few votes do not decide:
:math:`(\sum_v s_v + 10\,\bar s) / (n + 10)`. It is taken from training and selection items alone. Who agrees least is
removed first, as long as no more than a quarter of those items' votes go; HS-Brexit then loses one of its six.

=============== =========================================================================
everybody       all votes
least agreeing  without the annotators who agree least
at random       without annotators who are drawn at random, up to the same share of votes
=============== =========================================================================

Models are judged by everybody and, beside it, by those who were kept (both on evaluation items). To remove people who
disagree changes what is called the truth: only the first kind of judges says whether it helps to predict people.

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; KL, entropy correlation, accuracy, at the best
epoch, judged by everybody). Per data set:

- Claims S1, S2 and S3 **hold** with the votes of a condition as in :mod:`~dissensus.experiment.studies.claims`.
- Removal **strengthens** S1 or S2 if soft labels gain more over majority labels without the least agreeing than without
  as many at random, **weakens** it if less, **leaves** it if the gains are the same; else it is undecided.
- To remove the least agreeing **helps** a method if its KL is lower than without as many at random, and **hurts** it if
  it is higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.streams import permutation
from dissensus.datasets import Dataset, load
from dissensus.experiment.parts import parts
from dissensus.experiment.studies.arms import GAINS, METHODS, Arms
from dissensus.experiment.studies.claims import claims_told, s1_in_words
from dissensus.experiment.studies.finding import Contrast, Finding, by_place, in_words, shares_doubt
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import (
    SELECT,
    TEST,
    Asked,
    Making,
    People,
    Trial,
    TrialSetting,
    measured,
    setting,
)
from dissensus.votes import Votes
from dissensus.votes.table import offsets_of

NAMES = ("popquorn-offensiveness", "md-agreement", "hs-brexit")
CONDITIONS = ("everybody", "least agreeing", "at random")
TOLD = dict(zip(CONDITIONS, ("with all votes", "without the least agreeing", "without some at random"), strict=True))
JUDGES = ("everybody", "those kept")
SHARE = 0.25  # of the votes, at most
IMAGINED = 10  # votes


def agreement(votes: Votes) -> NDArray[np.float64]:
    """(annotators,): how far each agrees with the others; the mean of all for who shares no item with anybody.

    >>> votes = Votes.from_records(items=[0, 0, 0, 1, 1, 1], labels=[1, 1, 0] * 2, annotators=list("abe") * 2)
    >>> agreement(votes).round(3)
    array([0.361, 0.361, 0.278])
    """
    cast = _annotators(votes)
    others = np.repeat(votes.votes_per_item - 1, votes.votes_per_item)
    item = np.repeat(np.arange(votes.n_items), votes.votes_per_item)
    same = votes.counts()[item, votes.codes] - 1
    told = others > 0
    share = same[told] / others[told]
    number = votes.n_annotators
    sums, times = (np.bincount(cast[told], weights, minlength=number or 0) for weights in (share, None))
    return (sums + IMAGINED * share.mean()) / (times + IMAGINED)


def without(votes: Votes, annotators: NDArray[np.int64]) -> Votes:
    """The same items without the votes of these annotators; an item may lose all.

    >>> votes = Votes.from_records(items=[7, 7, 8], labels=[1, 0, 1], annotators=["ann", "eve", "eve"])
    >>> without(votes, np.array([1])).counts()
    array([[0, 1],
           [0, 0]])
    """
    cast = _annotators(votes)
    stays = ~np.isin(cast, annotators)
    item = np.repeat(np.arange(votes.n_items), votes.votes_per_item)
    offsets = offsets_of(np.bincount(item[stays], minlength=votes.n_items))
    return replace(votes, codes=votes.codes[stays], offsets=offsets, annotators=cast[stays])


def first_of(votes: Votes, order: NDArray[np.int64], share: float = SHARE) -> NDArray[np.int64]:
    """The annotators that come first in this order and cast no more than this share of the votes; at least one.

    >>> votes = Votes.from_records(items=[0, 0, 1, 1], labels=[0, 1, 0, 1], annotators=["a", "b", "a", "c"])
    >>> first_of(votes, np.array([1, 0, 2]), share=0.3)
    array([1])
    """
    cast = np.bincount(_annotators(votes), minlength=len(order))[order]
    return order[: max(1, int((np.cumsum(cast) <= share * votes.n_votes).sum()))]


def least_agreeing(data: Dataset, seed: int, how: TrialSetting) -> Making:
    """Data whose votes say who cast them."""
    data = how.see(data)
    votes, split = data.votes, parts(data, TEST, SELECT, seed)
    looked_at = votes.take(np.sort(np.concatenate([split.train, split.select])))
    least = first_of(looked_at, np.argsort(agreement(looked_at), kind="stable"))
    random = first_of(looked_at, permutation(votes.n_annotators or 0, seed, "annotators removed"))
    given = dict(zip(CONDITIONS, (votes, without(votes, least), without(votes, random)), strict=True))
    judges = [People.of(name, data, by) for name, by in zip(JUDGES, (votes, given["least agreeing"]), strict=True)]
    arms = list(product(CONDITIONS, METHODS))

    def scores(said: Sequence[Trial]) -> list[Score]:
        rows = []
        for (condition, method), one in zip(arms, said, strict=True):
            for people in judges:
                rows += measured(one, people, data=data.name, condition=condition, method=method, seed=seed)
        return rows

    return Making([Asked(data, given[condition], method, seed, how) for condition, method in arms], scores)


def make(given: Given) -> OneSeed:
    """The three sets of texts whose annotators are known."""
    sets = [(data := load(name), setting(data, given.model, given.encoder)) for name in NAMES]
    return lambda seed: [least_agreeing(data, seed, how) for data, how in sets]


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    """Judged by everybody; and the same, judged by those who were kept."""
    for against, name in product(JUDGES, scores.names("data")):
        data, arms = f"{name}, judged by {against}", Arms(scores.where(data=name, against=against), CONDITIONS)
        for condition in CONDITIONS:
            yield arms.apart(data, f"votes of {condition}", condition, metric)
        _, least, random = CONDITIONS
        learnt = shares_doubt(arms.soft[least]) or shares_doubt(arms.soft[random])
        for method, arm, why in (("soft", arms.soft, learnt), ("majority", arms.majority, arms.doubt(least, random))):
            yield Contrast(data, f"{method} labels", least, random, arm[least][metric], arm[random][metric], why)
        yield arms.gains(data, (least, least), (random, random), metric)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    if not data.endswith("everybody"):
        return
    here = by_place(findings, data)
    for condition in CONDITIONS:
        yield f"{data}: {TOLD[condition]} {claims_told(here, f'votes of {condition}')}."
    ways = {"S1": ("kl", "strengthens", "weakens"), "S2": ("entropy_correlation", "weakens", "strengthens")}
    for claim, (metric, lower, higher) in ways.items():
        change = here[GAINS, "least agreeing", "at random", metric, False]
        told = change.said(lower, higher, "leaves", "is not shown to change")
        yield f"{data}: to remove the least agreeing {told} {claim}."
    for method in METHODS:
        change = here[f"{method} labels", "least agreeing", "at random", "kl", False]
        yield f"{data}: to remove the least agreeing {_helps(change)} {method} labels on KL."


def _annotators(votes: Votes) -> NDArray[np.int32]:
    if votes.annotators is None:
        raise InputError("who agrees least can be said only where votes say who cast them, and these do not.")
    return votes.annotators


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """As predictions of everybody: either method without the least agreeing, and S1 with all votes and without."""
    everybody = [one for one in findings if one.data.endswith("everybody")]
    kl = [one for one in everybody if one.metric == "kl" and not one.tempered]
    for method in METHODS:
        if told := in_words((one for one in kl if one.question == f"{method} labels"), _helped):
            yield f"To remove the annotators who agree least, instead of as many at random: {told}."
    for condition in CONDITIONS[:2]:
        if told := s1_in_words(everybody, f"votes of {condition}"):
            yield f"{TOLD[condition].capitalize()}, {told}."


def _helped(one: Finding) -> str:
    return f"it {_helps(one)} {one.question} as predictions of everybody"


def _helps(one: Finding) -> str:
    return one.said("helps", "hurts", "makes no difference to", "is not shown to help or hurt")


STUDY = Study(
    "least-agreeing",
    "Does it help to remove the annotators who agree least with the others?",
    make,
    _contrasts,
    _told,
    plain,
)
