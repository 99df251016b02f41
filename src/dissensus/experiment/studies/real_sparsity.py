"""Few real votes: ChaosNLI trained on the five votes of SNLI and MNLI, judged by its hundred.

Sparse votes are usually simulated: a few are drawn from many. Are real ones like that? The five original votes were
cast by other people, in another year; and ChaosNLI took up only items of which exactly three of the five agreed (a
handful of SNLI's have four votes), so the five say nearly the same of every item's disagreement. Four conditions:

=================== ====================================================================================
original            the votes of SNLI or MNLI
simulated           five of the hundred, drawn without replacement
three agree         five of the hundred, drawn on condition that three agree, as ChaosNLI's items were chosen
hundred             all of them, to see what few votes cost (soft and majority only)
=================== ====================================================================================

All are judged by the hundred, on the same items, at the best epoch by the selection items' votes of that condition.

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; KL, entropy correlation, accuracy). Per data set:

- *Hard delivery* on real votes **helps** if SLS or multipass have a lower KL than soft, plain and tempered, and neither
  has a higher one in both; it **hurts** if one has a higher KL, plain and tempered, and neither a lower one in both;
  else it is undecided.
- Real votes are **like** simulated ones if soft labels of the two are the same on KL and on entropy correlation;
  **unlike** if they differ on either by more than the margin; else it is undecided.
- Where they are unlike, the choice of items **explains** it if "original" and "three agree" do not differ beyond the
  margin on what differed, explains it **in part** if what is left is less than half, and **does not** otherwise.
- *What the methods gain* is the same on both kinds if the differences to soft labels are (KL, plain).
- *Without a model* (:mod:`~dissensus.experiment.studies.votes_alone`) real votes **tell more, less or as much** of the
  hundred as simulated ones, and as such of which three agree, if their KL is lower, higher or the same. (Added after
  models had been seen to learn too little of MNLI to say, and before this was looked at.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dissensus.datasets import Dataset, load
from dissensus.experiment.studies.fewer_votes import of_which_agree
from dissensus.experiment.studies.finding import (
    Contrast,
    Finding,
    Place,
    by_place,
    class_doubt,
    in_words,
    shares_doubt,
)
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import Asked, Making, People, Trial, TrialSetting, measured, setting
from dissensus.experiment.studies.votes_alone import ALONE, alone_in_words, contrasts_alone, told_alone, votes_alone
from dissensus.votes import Votes

NAMES = ("chaosnli-snli", "chaosnli-mnli")
METHODS = ("soft", "majority", "sls", "multipass")
FEW = ("original", "simulated", "three agree")


def real_sparsity(data: Dataset, original: Votes, seed: int, how: TrialSetting) -> Making:
    """``data`` with many votes an item, and the few ``original`` ones on the same items."""
    data = how.see(data)
    judges = People.of("hundred", data)
    given = {
        "original": original.align(data.votes.items),
        "simulated": data.votes.subsample(5, seed=seed),
        "three agree": of_which_agree(data.votes, 5, 3, seed=seed),
        "hundred": data.votes,
    }
    arms = [(condition, method) for condition in given for method in (METHODS if condition in FEW else METHODS[:2])]

    def scores(said: Sequence[Trial]) -> list[Score]:
        rows = []
        for (condition, method), one in zip(arms, said, strict=True):
            rows += measured(one, judges, data=data.name, condition=condition, method=method, seed=seed)
        for condition in FEW:
            drawn = given["simulated" if condition == "original" else condition]
            rows.append(votes_alone(given[condition], data, drawn, condition, seed, data.name))
        return rows

    return Making([Asked(data, given[condition], method, seed, how) for condition, method in arms], scores)


def make(given: Given) -> OneSeed:
    """Both parts of ChaosNLI that have original votes."""
    sets = [
        (data := load(name), load(name, votes="original").votes, setting(data, given.model, given.encoder))
        for name in NAMES
    ]
    return lambda seed: [real_sparsity(data, votes, seed, how) for data, votes, how in sets]


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    for data in scores.names("data"):
        here = scores.where(data=data)
        yield from contrasts_alone(here, metric, data, "original", ["simulated", "three agree"])

        def of(condition: str, method: str, here: Scores = here) -> Scores:
            return here.where(condition=condition, method=method)

        hard = {condition: class_doubt(of(condition, "majority")) for condition in (*FEW, "hundred")}
        soft = {condition: shares_doubt(of(condition, "soft")) for condition in (*FEW, "hundred")}
        for condition in (*FEW, "hundred"):
            for method in METHODS[1:] if condition in FEW else METHODS[1:2]:
                pair = of(condition, method)[metric], of(condition, "soft")[metric]
                doubt = (hard if method == "majority" else soft)[condition]
                yield Contrast(data, f"{condition} votes", method, "soft", *pair, doubt)
        for other in ("simulated", "three agree", "hundred"):
            pair = of("original", "soft")[metric], of(other, "soft")[metric]
            doubt = soft["original"] and soft[other]  # that one kind teaches something and one does not is a difference
            yield Contrast(data, "soft labels", "original", other, *pair, doubt)
        for method in METHODS[1:]:
            real, drawn = (of(few, method)[metric] - of(few, "soft")[metric] for few in ("original", "simulated"))
            learnt = hard if method == "majority" else soft
            doubt = learnt["original"] or learnt["simulated"]
            yield Contrast(data, f"{method} less soft", "original", "simulated", real, drawn, doubt)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    here = by_place(findings, data)
    for other in ("simulated", "three agree"):
        if (alone := here.get((ALONE, "original", other, "kl", False))) is not None:
            yield f"{data}: {told_alone(alone)}."
    if not any(one.question == "soft labels" for one in here.values()):
        return

    def sides(method: str) -> set[int]:
        return {here["original votes", method, "soft", "kl", tempered].side for tempered in (False, True)}

    hard = [sides(method) for method in ("sls", "multipass")]
    sls, multipass = (here["original votes", method, "soft", "kl", False].word for method in ("sls", "multipass"))
    yield f"{data}: on five real votes, hard delivery {_hard(hard)} (KL of sls {sls}, of multipass {multipass})."
    levels = {m: here["soft labels", "original", "simulated", m, False] for m in ("kl", "entropy_correlation")}
    apart = [metric for metric, one in levels.items() if one.beyond]
    if all(one.same for one in levels.values()):
        yield f"{data}: real votes are like five that are drawn from the hundred."
    elif not apart:
        yield f"{data}: whether real votes are like simulated ones is undecided."
    else:
        why = _explained(apart, levels, here)
        yield f"{data}: real votes are unlike simulated ones on {' and '.join(apart)}; {why}."
    gains = {method: here[f"{method} less soft", "original", "simulated", "kl", False] for method in METHODS[1:]}
    words = ", ".join(f"{method} {one.word}" for method, one in gains.items())
    yield f"{data}: KL beyond that of soft labels, on real against simulated votes: {words}."


def _hard(sides: Sequence[set[int]]) -> str:
    helps, hurts = {-1} in sides, {1} in sides
    return "helps" if helps and not hurts else "hurts" if hurts and not helps else "neither helps nor hurts for certain"


def _explained(apart: Sequence[str], levels: Mapping[str, Finding], here: Mapping[Place, Finding]) -> str:
    left = {metric: here["soft labels", "original", "three agree", metric, False] for metric in apart}
    if not any(one.beyond for one in left.values()):
        return "the choice of items on which three of five agreed explains it"
    if all(abs(left[metric].difference) < abs(levels[metric].difference) / 2 for metric in apart):
        return "the choice of items on which three of five agreed explains it in part"
    return "the choice of items on which three of five agreed does not explain it"


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """Of the votes themselves, and of what models make of them."""
    alone = [one for one in findings if one.question == ALONE and one.metric == "kl"]
    if told := alone_in_words((one for one in alone if one.second == "simulated"), "five drawn from the hundred"):
        yield f"Five real votes tell {told}."
    hard = [one for one in findings if one.question == "original votes" and one.metric == "kl" and not one.tempered]
    if told := in_words((one for one in hard if one.first in ("sls", "multipass")), _against_soft):
        yield f"Trained on five real votes, {told}."
    if told := alone_in_words((one for one in alone if one.second == "three agree"), "five drawn so that 3 agree"):
        yield f"Five real votes tell {told}."


def _against_soft(one: Finding) -> str:
    near = one.said("nearer to people than", "farther from people than", "as near to people as", "not told from")
    return f"{one.first} is {near} soft labels"


STUDY = Study(
    "real-sparsity",
    "Are few real votes like few that are drawn from many?",
    make,
    _contrasts,
    _told,
    plain,
    leading=2,
)
