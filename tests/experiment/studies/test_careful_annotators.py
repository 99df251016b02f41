from dataclasses import replace

import numpy as np
import pytest

from dissensus.experiment.studies import careful_annotators as study
from dissensus.experiment.studies.fewer_votes import as_many
from dissensus.metrics import kl as kl_of
from dissensus.targets import smoothed
from dissensus.votes import Votes


def test_both_kinds_of_people_judge_all_arms(small):
    careful = replace(small.data, name="careful", votes=small.data.votes.subsample(4, seed=5))
    rows = study.careful_annotators(careful, small.data, [0, 1], small.how)
    trained = [row for row in rows if row.method != study.ALONE]
    assert len(trained) == 2 * 3 * 2 * 2 * 4
    assert {row.against for row in trained} == {"crowd", "careful"}
    told = study.verdicts(study.judge(rows))
    assert len(told) == 1 + 2 * (3 + 1 + 2)
    assert told[1].startswith("varierr, judged by crowd: with careful votes S1 ")


def test_as_many_votes_of_the_crowd_are_drawn_anew_for_each_seed(small):
    careful = replace(small.data, votes=small.data.votes.subsample(4, seed=5))
    rows = study.careful_annotators(careful, small.data, [0], small.how)
    kl = {row.condition: row.values["kl"] for row in rows if row.method == "soft" and row.against == "crowd"}
    assert len(set(kl.values())) == 3


def test_votes_are_compared_without_a_model(small):
    """Votes of the same people say as much as others of theirs, and those of people who guess say less."""
    own, guesses = small.data.votes.subsample(4, seed=5), Votes.from_counts(
        np.random.default_rng(0).multinomial(4, [1 / 3] * 3, 90), classes=small.data.votes.classes
    )  # fmt: skip
    kl = {}
    for name, few in (("own", own), ("guesses", guesses)):
        rows = [row for seed in range(5) for row in study.votes_alone(few, small.data, seed, "small")]
        kl[name] = [np.mean([row.values["kl"] for row in rows if row.condition == c]) for c in ("careful", "as many")]
    assert kl["own"][0] == pytest.approx(kl["own"][1], rel=0.3)
    assert kl["guesses"][0] > 2 * kl["guesses"][1]


def test_the_rest_of_the_crowd_judges_without_those_who_were_drawn(small):
    careful, drawn = study.votes_alone(small.data.votes.subsample(4, seed=5), small.data, 0, "small")
    votes = as_many(small.data.votes, np.full(90, 4), seed=0)
    rest = (small.data.votes.counts() - votes.counts()) / 36
    assert drawn.values["kl"] == pytest.approx(kl_of(smoothed(votes), rest).mean())
    assert careful.items == drawn.items == 90
