"""Votes that are unreliable rather than divided: synthetic annotators on real items, the truth known.

The texts are real; what people think of them is taken from their votes, in one of two ways, and then is the truth:

============ ===============================================================================
divided      the shares of the votes: people see an item differently, and rightly so
agreed       the class with most votes: there is one answer, as in tasks that expect consensus
============ ===============================================================================

Five of twenty synthetic annotators vote on every item, who see a class as the truth has it and then say it:

============ ===============================================================================
reliable     all say what they see, but for 5 % of errors
half noisy   ten of the twenty say anything, whatever they see
============ ===============================================================================

Models are judged by the truth. A third arm tries the classical remedy: soft labels from the estimate of Dawid and
Skene, which weighs annotators by their confusions and presumes that there is one answer.

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; KL, entropy correlation where the truth is divided,
accuracy, at the best epoch). Per data set, truth and pool:

- Claims S1, S2 and S3 **hold** as in :mod:`~dissensus.experiment.studies.claims`; soft labels **lose** where S1 fails.
- Noise **changes** S1 if what soft labels gain on KL differs between the reliable and the half noisy pool.
- Dawid and Skene **mend** soft labels if their KL is lower than that of the plain ones, and **spoil** them if higher.

Seen afterwards: noise itself keeps majority labels from beating the most frequent class by five points, so what it does
to S1 is left undecided by the guard. The plain words then say what the numbers alone would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dissensus.base.arrays import Simplex
from dissensus.base.streams import permutation
from dissensus.datasets import Dataset, load
from dissensus.experiment.studies.arms import GAINS, Arms
from dissensus.experiment.studies.claims import claims_told, if_sharpness, s1_in_words
from dissensus.experiment.studies.finding import Contrast, Finding, by_place, in_words, shares_doubt
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import Asked, Making, People, Trial, TrialSetting, measured, setting
from dissensus.votes.synthetic import Annotator, annotate, noisy, reliable

NAMES = ("chaosnli-snli", "md-agreement")
POOLS = ("reliable", "half noisy")
TRUTHS = ("divided", "agreed")
TRAINED = {"soft": ("soft", "shares"), "majority": ("majority", "shares"), "dawid-skene": ("soft", "dawid-skene")}
VOTES, ANNOTATORS = 5, 20
MOST = 3_000  # items


def unreliable_annotators(data: Dataset, seed: int, how: TrialSetting) -> Making:
    """What the votes on ``data`` say is taken for the truth, on which synthetic annotators vote.

    Of a large data set 3,000 items are used, which take minutes.
    """
    data = some(how.see(data), MOST)
    known = truths(data.votes.frequencies())
    asked = {}
    for (kind, truth), (name, annotators) in product(known.items(), pools(data.votes.n_classes).items()):
        votes = annotate(truth, annotators, VOTES, seed, classes=data.votes.classes, items=data.votes.items)
        for arm, (method, target) in TRAINED.items():
            asked[kind, name, arm] = Asked(data, votes, method, seed, how, target)

    def scores(said: Sequence[Trial]) -> list[Score]:
        rows = []
        for (kind, name, arm), one in zip(asked, said, strict=True):
            place = {"data": data.name, "condition": f"{kind}, {name}", "method": arm, "seed": seed}
            rows += measured(one, People.true("truth", known[kind]), **place)
        return rows

    return Making(list(asked.values()), scores)


def truths(human: Simplex) -> dict[str, Simplex]:
    """The shares as they are, and the class with the largest share alone, the first of equals."""
    return {"divided": human, "agreed": np.eye(human.shape[1])[human.argmax(1)]}


def pools(n_classes: int) -> dict[str, list[Annotator]]:
    """Twenty annotators each."""
    good = [reliable(f"reliable {number}", n_classes) for number in range(ANNOTATORS)]
    bad = [noisy(f"noisy {number}", n_classes) for number in range(ANNOTATORS // 2)]
    return {"reliable": good, "half noisy": good[: ANNOTATORS - len(bad)] + bad}


def make(given: Given) -> OneSeed:
    """A hundred votes an item on three classes, and five on two."""
    sets = [(data := load(name), setting(data, given.model, given.encoder)) for name in NAMES]
    return lambda seed: [unreliable_annotators(data, seed, how) for data, how in sets]


def some(data: Dataset, items: int) -> Dataset:
    """At most so many items, drawn once for all seeds; groups may be parted by this, since the rest is not used."""
    if len(data) <= items:
        return data
    at = np.sort(permutation(len(data), 0, "some items")[:items])
    labels, groups = (None if part is None else part[at] for part in (data.labels, data.groups))
    return replace(data, inputs=data.array[at], votes=data.votes.take(at), labels=labels, groups=groups)


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    """A data set with one kind of truth is a family."""
    for data in scores.names("data"):
        for kind in TRUTHS:
            if kind == "agreed" and metric == "entropy_correlation":
                continue  # one answer has no entropy
            name, here = f"{data}, {kind}", scores.where(data=data)
            at = {pool: f"{kind}, {pool}" for pool in POOLS}
            arms = Arms(here, at.values())
            for pool in POOLS:
                yield arms.apart(name, f"{pool} annotators", at[pool], metric)
                soft, estimated = arms.soft[at[pool]], here.where(condition=at[pool], method="dawid-skene")
                pair = estimated[metric], soft[metric]
                yield Contrast(name, f"{pool} annotators", "dawid-skene", "soft", *pair, shares_doubt(soft))
            yield arms.gains(name, (at["half noisy"], "half noisy"), (at["reliable"], "reliable"), metric)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    here = by_place(findings, data)
    for pool in POOLS:
        remedy = here[f"{pool} annotators", "dawid-skene", "soft", "kl", False]
        mends = {-1: "mends", 1: "spoils", 0: "neither mends nor spoils for certain"}[remedy.side]
        claims = claims_told(here, f"{pool} annotators")
        yield f"{data}, {pool} annotators: {claims}; the estimate of Dawid and Skene {mends} soft labels."
    change = here[GAINS, "half noisy", "reliable", "kl", False]
    told = change.said("adds to", "takes from", "leaves", "is not shown to change")
    yield f"{data}: noise {told} what soft labels gain on KL."


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """Of either pool: the remedy, and soft against majority labels, for which noise makes models learn too little."""
    for pool in reversed(POOLS):
        when = "With reliable annotators" if pool == "reliable" else "Where half of the annotators answer at random"
        question = f"{pool} annotators"
        remedy = [one for one in findings if (one.question, one.first) == (question, "dawid-skene")]
        plainly = [one for one in remedy if one.metric == "kl" and not one.tempered]
        if told := in_words(plainly, lambda one: f"{_mended(one)}{if_sharpness(one, findings)}"):
            yield f"{when}, {told}."
        if told := s1_in_words(findings, question, to="the truth"):
            yield f"{when}, {told}."


def _mended(one: Finding) -> str:
    mends = one.said("mends", "spoils", "changes nothing about", "is not told from")
    return f"the estimate of Dawid and Skene {mends} soft labels"


STUDY = Study(
    "unreliable-annotators",
    "Do soft labels lose where votes are unreliable rather than divided?",
    make,
    _contrasts,
    _told,
    plain,
    leading=2,
)
