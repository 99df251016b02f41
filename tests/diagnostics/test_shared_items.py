import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.diagnostics.shared_items import shared_items


def test_positions_name_the_same_items_in_the_order_of_the_first():
    rng = np.random.default_rng(0)
    first, second = rng.permutation(100)[:40], rng.permutation(100)[:30]
    here, there = shared_items(first, second)
    np.testing.assert_array_equal(first[here], second[there])
    assert set(first[here]) == set(first) & set(second)
    assert (np.diff(here) > 0).all()


def test_nothing_in_common_and_items_named_twice_are_errors():
    with pytest.raises(InputError, match="2 and 1 items have none in common"):
        shared_items(["a", "b"], ["c"])
    with pytest.raises(InputError, match="second must name every item once, but 'b' occurs twice"):
        shared_items(["a", "b"], ["b", "b"])
    with pytest.raises(InputError, match=r"first must be a list of item ids, but its shape is \(1, 2\)"):
        shared_items([["a", "b"]], ["b"])
