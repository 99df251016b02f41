from dataclasses import replace

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.studies import least_agreeing as study
from dissensus.votes import Votes
from dissensus.votes.synthetic import annotate, noisy, reliable

PEOPLE = [*(reliable(f"good {number}", 3) for number in range(8)), *(noisy(f"bad {number}", 3) for number in range(2))]


@pytest.fixture(scope="module")
def named(small):
    """Two of ten annotators say anything."""
    votes = annotate(small.data.votes.frequencies(), PEOPLE, 6, seed=1, classes=small.data.votes.classes)
    return replace(small.data, votes=votes)


def test_agreement_against_a_plain_loop(named):
    votes = named.votes
    shares = {who: [] for who in range(10)}
    for item in range(votes.n_items):
        at = range(votes.offsets[item], votes.offsets[item + 1])
        for vote in at:
            others = [votes.codes[other] == votes.codes[vote] for other in at if other != vote]
            shares[int(votes.annotators[vote])].append(np.mean(others))
    mean = np.mean([share for all_of in shares.values() for share in all_of])
    expected = [(sum(all_of) + 10 * mean) / (len(all_of) + 10) for all_of in shares.values()]
    np.testing.assert_allclose(study.agreement(votes), expected)


def test_who_says_anything_agrees_least(named):
    assert set(np.argsort(study.agreement(named.votes))[:2].tolist()) == {8, 9}


def test_a_quarter_of_the_votes_goes_at_most(named):
    order = np.argsort(study.agreement(named.votes), kind="stable")
    gone = study.first_of(named.votes, order)
    left = study.without(named.votes, gone)
    assert 0.75 <= left.n_votes / named.votes.n_votes < 0.85
    assert not np.isin(left.annotators, gone).any()
    kept = [sum(1 for a in who if a not in gone) for who in np.split(named.votes.annotators, named.votes.offsets[1:-1])]
    np.testing.assert_array_equal(left.votes_per_item, kept)


def test_at_least_one_goes():
    votes = Votes.from_records(items=[0, 0, 1, 1], labels=[0, 1, 1, 1], annotators=["a", "b", "a", "b"])
    assert len(study.first_of(votes, np.array([1, 0]))) == 1


def test_annotators_must_be_known(small):
    with pytest.raises(InputError, match="only where votes say who cast them"):
        study.agreement(small.data.votes)


def test_every_arm_is_judged_by_everybody_and_by_those_kept(named, small, scores_of):
    rows = scores_of(*(study.least_agreeing(named, seed, small.how) for seed in (0, 1)))
    assert len(rows) == 2 * 3 * 2 * 2 * 4
    told = study.STUDY.verdicts(study.STUDY.judge(rows))
    assert len(told) == 3 + 2 + 2
    assert all(line.startswith("small, judged by everybody: ") for line in told)
