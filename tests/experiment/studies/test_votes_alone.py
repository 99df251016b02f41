import numpy as np
import pytest

from dissensus.experiment.studies.fewer_votes import as_many
from dissensus.experiment.studies.finding import decide
from dissensus.experiment.studies.score import Scores
from dissensus.experiment.studies.votes_alone import contrasts_alone, told_alone, votes_alone
from dissensus.metrics import kl
from dissensus.targets import smoothed
from dissensus.votes import Votes


def test_the_rest_of_the_crowd_judges_without_those_who_were_drawn(small):
    drawn = as_many(small.data.votes, np.full(90, 4), seed=0)
    score = votes_alone(drawn, small.data, drawn, "few", 0, "small")
    rest = (small.data.votes.counts() - drawn.counts()) / 36
    assert score.values["kl"] == pytest.approx(kl(smoothed(drawn), rest).mean())
    assert score.items == 90


@pytest.mark.parametrize(("guessed", "word"), [(False, "as much of the crowd as"), (True, "less of the crowd than")])
def test_votes_are_compared_without_a_model(small, guessed, word):
    """Votes of the same people tell as much as others of theirs, and those of people who guess tell less."""
    guesses = np.random.default_rng(0).multinomial(12, [1 / 3] * 3, 90)
    rows = []
    for seed in range(10):
        drawn = small.data.votes.subsample(12, seed=seed)
        first = Votes.from_counts(guesses, classes=drawn.classes) if guessed else drawn
        rows += [votes_alone(v, small.data, drawn, c, seed, "small") for c, v in (("first", first), ("drawn", drawn))]
    (found,) = decide(contrasts_alone(Scores(rows), "kl", "small", "first", ["drawn"]), "kl")
    assert told_alone(found) == f"without a model, first votes tell {word} drawn"


def test_votes_have_no_temperature(small):
    drawn = small.data.votes.subsample(4)
    scores = Scores([votes_alone(drawn, small.data, drawn, "few", 0, "small")]).where(tempered=True)
    assert contrasts_alone(scores, "kl", "small", "few", ["few"]) == []
