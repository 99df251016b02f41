import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from dissensus.base.errors import InputError
from dissensus.stats import holm
from dissensus.stats.correction import rejected_in_order

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.05, 0.5]), min_size=1, max_size=20)


# four calls only: theirs collects garbage at each, which takes half a second at the end of a long suite
@pytest.mark.parametrize("tests", [1, 3, 12, 66])
def test_it_agrees_with_statsmodels(tests):
    p = np.random.default_rng(tests).beta(0.5, 2, tests).round(2)  # with ties, zeros and some that reach 1
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12, atol=0)


@given(p_values)
def test_it_keeps_the_order_and_only_raises(p):
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()


def test_by_hand():
    assert holm([0.04, 0.01, 0.03, 0.005]).tolist() == pytest.approx([0.06, 0.03, 0.06, 0.02])


def test_one_test_is_left_alone_and_none_gives_none():
    assert holm([0.03]).tolist() == [0.03]
    assert holm([]).tolist() == []


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.1, 1.2], "must lie in 0 to 1, but number 1 is 1.2"),
        ([-0.1], "number 0 is -0.1"),
        ([0.1, np.nan], "number 1 is nan"),
        (["a"], "must be a list of numbers"),
        ([[0.1]], r"its shape is \(1, 1\)"),
    ],
)
def test_what_is_no_p_value_is_named(p, message):
    with pytest.raises(InputError, match=message):
        holm(p)


def test_in_order_the_first_failure_ends_it():
    assert [rejected_in_order(p, 0.05) for p in ([], [0.05], [0.051, 0.0], [0.01, np.nan, 0.0])] == [0, 1, 0, 1]

    def p_values():
        yield from (0.01, 0.5)
        raise AssertionError("nobody asks what lies behind")

    assert rejected_in_order(p_values(), 0.05) == 1
