from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import Texts

PAIRS = Texts(["one", " two ", "drei\n"], ["1", "2", "3"])


@pytest.mark.parametrize(
    ("index", "first"),
    [
        (np.array([2, 0]), ("drei\n", "one")),
        ([1], (" two ",)),
        (slice(1, None), (" two ", "drei\n")),
        (np.array([True, False, True]), ("one", "drei\n")),
        (np.array([], np.int64), ()),
        (-1, ("drei\n",)),
    ],
)
def test_an_index_takes_items_as_an_array_does(index, first):
    assert PAIRS[index].first == first
    assert len(PAIRS[index].second) == len(first)


def test_texts_are_kept_to_the_character():
    assert PAIRS.first == ("one", " two ", "drei\n")
    assert Texts(["e\u0301"]) != Texts(["\u00e9"])  # one letter to a reader, two ways to write it


def test_they_are_values():
    assert pickle.loads(pickle.dumps(PAIRS)) == PAIRS
    assert hash(PAIRS) == hash(Texts(PAIRS.first, PAIRS.second))
    with pytest.raises(FrozenInstanceError):
        PAIRS.first = ()


def test_the_digest_tells_apart_what_is_joined_or_parted_differently():
    other = [Texts(["ab", "c"]), Texts(["a", "bc"]), Texts(["ab"], ["c"]), Texts(["c", "ab"]), Texts(["c"], ["ab"])]
    assert len({texts.digest() for texts in other}) == len(other)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a text", None, "one text was given"),
        (["a"], "a text", "one text was given"),
        (["a", None], None, "texts must be texts, but row 1 is None"),
        (["a", " \n"], None, r"texts must not be empty, but row 1 is ' \\n'"),
        (["a", "b"], ["c", ""], "second texts must not be empty, but row 1 is ''"),
        (["a", "b"], ["c"], "first has 2, second has 1"),
        (["a \ud83d"], None, r"row 0 holds half of a character: 'a \\ud83d'"),
    ],
)
def test_what_is_no_text(first, second, message):
    with pytest.raises(InputError, match=message):
        Texts(first, second)
