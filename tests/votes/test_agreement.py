from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as reference_entropy

from dissensus.base.errors import InputError
from dissensus.votes import Votes, entropy, krippendorff_alpha, observed_agreement
from dissensus.votes.synthetic import annotate, noisy

COUNTS = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(2, 5)), elements=st.integers(0, 6))


@given(COUNTS)
def test_entropy_is_scipys(counts):
    counts = counts[counts.sum(1) > 0]
    assume(len(counts))
    np.testing.assert_allclose(entropy(Votes.from_counts(counts)), reference_entropy(counts, axis=1), atol=1e-12)


def test_entropy_has_no_negative_zero():
    assert not np.signbit(entropy(Votes.from_counts([[5, 0]])))[0]


@given(COUNTS)
def test_agreement_is_the_share_of_agreeing_pairs(counts):
    counts = counts[counts.sum(1) > 1]
    assume(len(counts))
    votes = Votes.from_counts(counts)
    for item, share in enumerate(observed_agreement(votes)):
        said = votes.take([item]).codes
        pairs = [(a == b) for i, a in enumerate(said) for j, b in enumerate(said) if i != j]
        assert share == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@given(counts=COUNTS)
def test_alpha_is_that_of_the_reference(level, counts):
    pairable = counts[counts.sum(1) > 1]
    assume(len(pairable) and (pairable.sum(0) > 0).sum() > 1)
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement=level)
    assert krippendorff_alpha(Votes.from_counts(counts, ordered=True), level) == pytest.approx(expected, abs=1e-9)


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, twelve units
    reliability = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
            [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
        ]
    )
    observer, unit = np.nonzero(~np.isnan(reliability))
    votes = Votes.from_records(
        items=unit, labels=reliability[observer, unit].astype(int), annotators=observer, ordered=True
    )
    assert krippendorff_alpha(votes) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(votes, level="ordinal") == pytest.approx(0.815, abs=5e-4)


def test_alpha_of_chance_is_nothing_and_of_full_agreement_one():
    chance = annotate(np.full((5000, 4), 0.25), [noisy(name, 4) for name in "abcde"], votes_per_item=5)
    assert abs(krippendorff_alpha(chance)) < 0.02
    assert krippendorff_alpha(Votes.from_counts([[5, 0], [0, 5]])) == 1
    assert np.isnan(krippendorff_alpha(Votes.from_counts([[5, 0], [4, 0]])))


def test_what_is_refused():
    single = Votes.from_counts([[1, 0], [3, 2]], items=["a", "b"])
    with pytest.raises(InputError, match=r"agreement needs two votes an item, but item 'a' has 1 \(1 of 2"):
        observed_agreement(single)
    with pytest.raises(InputError, match=r"ordinal.* needs ordered classes"):
        krippendorff_alpha(single, level="ordinal")
    with pytest.raises(InputError, match="unknown level 'interval'"):
        krippendorff_alpha(single, level="interval")
    with pytest.raises(InputError, match="an item with two votes or more, but there is none"):
        krippendorff_alpha(single.take([0]))
    with pytest.raises(InputError, match="item 'a' has no votes"):
        entropy(Votes.from_counts([[0, 0]], items=["a"]))
    several = Votes.from_records(items=[1, 1], labels=[["a", "b"], ["a"]])
    for function in (entropy, observed_agreement, krippendorff_alpha):
        with pytest.raises(InputError, match="needs votes for one class each, but these may name several"):
            function(several)
