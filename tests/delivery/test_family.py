"""What every delivery promises, tested over all of them: a new one is tested by being listed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

from dissensus import DELIVERIES, InputError, Votes
from dissensus.delivery import PUBLISHED


def takes_probabilities(name):
    try:
        DELIVERIES[name](np.full((1, 2), 0.5))
    except InputError:
        return False
    return True


TAKE_PROBABILITIES = [name for name in DELIVERIES if takes_probabilities(name)]
NEED_VOTES = [name for name in DELIVERIES if name not in TAKE_PROBABILITIES]
CHANGING = [name for name, delivery in DELIVERIES.items() if delivery.changes]  # as they say of themselves
STEADY = [name for name in DELIVERIES if name not in CHANGING]
EPOCHS = range(200)  # of a training: a schedule may begin late


def test_the_published_ones_say_of_themselves_what_they_said():
    assert [name for name in STEADY if name in PUBLISHED] == ["soft", "majority", "label-smoothing"]
    assert [name for name in NEED_VOTES if name in PUBLISHED] == ["multipass", "deterministic-control"]


@pytest.fixture(params=DELIVERIES)
def name(request):
    return request.param


@pytest.fixture
def deliver(name, votes):
    return DELIVERIES[name](votes, seed=0)


def test_an_epoch_can_be_asked_for_twice(deliver):
    np.testing.assert_array_equal(deliver(7), deliver(7))


def test_the_order_of_asking_does_not_matter(name, votes):
    one, other = DELIVERIES[name](votes, seed=5), DELIVERIES[name](votes, seed=5)
    forwards = [one(epoch) for epoch in range(6)]
    backwards = [other(epoch) for epoch in reversed(range(6))][::-1]
    np.testing.assert_array_equal(forwards, backwards)


@pytest.mark.parametrize(
    "form", ["array", "list", "int32", "repeated", "slice", "steps back", "mask", "negative", "none"]
)
def test_some_items_are_given_what_they_are_given_among_all(deliver, form):
    n = deliver.n_items
    rng = np.random.default_rng(0)
    index = {
        "array": rng.permutation(n)[:13],
        "list": [3, 1, 2],
        "int32": np.arange(5, dtype=np.int32),
        "repeated": np.array([4, 4, 0, 4]),
        "slice": slice(5, 29, 3),
        "steps back": slice(None, None, -1),
        "mask": rng.random(n) < 0.4,
        "negative": np.array([-1, 0, -n]),
        "none": [],
    }[form]
    whole = deliver(11)
    part = deliver(11, index)
    np.testing.assert_array_equal(part, whole[np.asarray(index, int) if form == "none" else index])
    assert part.dtype == whole.dtype


def test_a_tensor_will_do_as_an_index(deliver):
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(deliver(2, torch.tensor([5, 0, 3])), deliver(2)[[5, 0, 3]])


def test_arrays_are_what_cross_entropy_takes(deliver, votes):
    for given in (deliver(0), deliver(0, [1, 2, 3]), deliver(0, slice(0, 2))):
        assert given.flags.writeable
        if deliver.hard and not votes.multilabel:
            assert given.dtype == np.int64
            assert given.ndim == 1
            assert given.min() >= 0
            assert given.max() < votes.n_classes
        else:
            assert given.dtype == np.float32
            assert given.shape[1:] == (votes.n_classes,)
        if deliver.hard and votes.multilabel:
            assert set(np.unique(given)) <= {0, 1}
        if not deliver.hard and not votes.multilabel:
            np.testing.assert_allclose(given.sum(1), 1, atol=1e-5)


def test_what_was_given_can_be_written_to_without_harm(deliver):
    before = deliver(3).copy()
    deliver(3)[...] = 0
    deliver(3, slice(None))[...] = 0
    np.testing.assert_array_equal(deliver(3), before)


def test_it_says_what_it_is(deliver, name, votes):
    assert deliver.name == name
    assert (deliver.n_items, deliver.n_classes, deliver.multilabel) == (
        votes.n_items,
        votes.n_classes,
        votes.multilabel,
    )
    assert isinstance(deliver.hard, bool)
    assert deliver.version >= 1
    assert f"{votes.n_items} items" in repr(deliver)


def test_concrete_deliveries_are_final(name):
    assert DELIVERIES[name].__subclasses__() == []


def test_it_survives_a_pickle(deliver):
    copy = ForkingPickler.loads(ForkingPickler.dumps(deliver))
    np.testing.assert_array_equal(copy(4, [1, 5]), deliver(4, [1, 5]))


@pytest.mark.parametrize("name", ["soft", "sls", "multipass", "deterministic-control", "majority"])
def test_only_votes_that_the_item_has_are_shown(name, votes):
    shown = DELIVERIES[name](votes, seed=1)(3)
    if shown.ndim == 1:
        shown = np.eye(votes.n_classes)[shown]
    assert not shown[votes.counts() == 0].any()


@pytest.mark.parametrize("name", [name for name in CHANGING if DELIVERIES[name].hard])
def test_the_seed_matters(name):
    """Who shows single votes picks them by chance; rows of shares may follow a schedule alone."""
    votes = Votes.from_counts([[3, 2]] * 50)
    one, other = (DELIVERIES[name](votes, seed=seed) for seed in (0, 1))
    assert any((one(epoch) != other(epoch)).any() for epoch in EPOCHS)


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("hold", [5, 7])
def test_a_label_that_is_held_stays(name, hold, votes):
    """A schedule of epochs, too, is asked for the first of those in which a label stays: ``turn * hold``."""
    held = DELIVERIES[name](votes, seed=3, hold=hold)
    for first in range(0, 30, hold):
        began = held(first)
        for epoch in range(first + 1, first + hold):
            np.testing.assert_array_equal(held(epoch), began)
    assert f"hold={hold}" in repr(held)


@pytest.mark.parametrize("name", [name for name in CHANGING if name in PUBLISHED])
def test_after_a_label_that_was_held_comes_the_next_one(name, votes):
    fresh, held = DELIVERIES[name](votes, seed=3), DELIVERIES[name](votes, seed=3, hold=5)
    for epoch in (0, 4, 5, 9, 10, 23):
        np.testing.assert_array_equal(held(epoch), fresh(epoch // 5))


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_changes(name):
    deliver = DELIVERIES[name](Votes.from_counts([[3, 2]] * 50))
    assert any((deliver(epoch) != deliver(epoch + 1)).any() for epoch in EPOCHS)


@pytest.mark.parametrize("name", STEADY)
def test_what_is_steady_is_steady_and_cannot_be_held(name, votes):
    deliver = DELIVERIES[name](votes)
    np.testing.assert_array_equal(deliver(0), deliver(199))
    with pytest.raises(InputError, match=f"{name} delivers the same in every epoch"):
        DELIVERIES[name](votes, hold=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d(-1), "epoch must be 0 or more, but it is -1"),
        (lambda d: d(1.0), "epoch must be a whole number, but it is 1.0"),
        (lambda d: d(None), "epoch must be a whole number, but it is None"),
        (lambda d: d(0, [0, d.n_items]), r"index names position \d+, but there are \d+ items"),
        (lambda d: d(0, [-d.n_items - 1]), r"index names position -\d+"),
        (lambda d: d(0, [0.5]), "whole numbers.*float64"),
        (lambda d: d(0, ["a"]), "whole numbers"),
        (lambda d: d(0, 3), "one-dimensional.*pass \\[i\\]"),
        (lambda d: d(0, [[0], [1, 2]]), "index must be an array"),
        (lambda d: d(0, [[0]]), r"one-dimensional, but its shape is \(1, 1\)"),
        (lambda d: d(0, [True, False]), "a mask needs one entry for each"),
    ],
)
def test_bad_questions_are_answered_by_errors(deliver, call, message):
    with pytest.raises(InputError, match=message):
        call(deliver)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hold": 0}, "hold must be 1 or more epochs, but it is 0"),
        ({"hold": 1.5}, "hold must be a whole number, but it is 1.5"),
        ({"seed": 0.5}, "seed must be a whole number, but it is 0.5"),
        ({"seed": None}, "seed must be a whole number, but it is None"),
    ],
)
def test_bad_options_are_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        DELIVERIES[name](Votes.from_counts([[1, 2]]), **options)


def test_items_without_votes_are_refused_by_name(name):
    votes = Votes.from_counts([[1, 2], [3, 1]], items=["cat7", "cat9"]).align(["cat9", "cat8", "cat7"], missing="keep")
    with pytest.raises(InputError, match=r"item 'cat8' has no votes \(1 of 3 items have none\)"):
        DELIVERIES[name](votes)


@pytest.mark.parametrize("name", NEED_VOTES)
def test_probabilities_have_no_votes_to_show(name):
    with pytest.raises(InputError, match=rf"{name} .* needs votes.*StochasticLabelSampling \(\"sls\"\)"):
        DELIVERIES[name](np.full((3, 2), 0.5))


@pytest.mark.parametrize("name", TAKE_PROBABILITIES)
def test_probabilities_will_do(name):
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 30)
    deliver = DELIVERIES[name](probs, seed=0)
    assert (deliver.n_items, deliver.n_classes, deliver.multilabel) == (30, 5, False)
    assert deliver(0).dtype == (np.int64 if deliver.hard else np.float32)
    np.testing.assert_array_equal(deliver(9, [3, 8]), deliver(9)[[3, 8]])
    np.testing.assert_array_equal(ForkingPickler.loads(ForkingPickler.dumps(deliver))(2), deliver(2))
    before = deliver(3).copy()
    deliver(3)[...] = 0  # what was given can be written to without harm
    np.testing.assert_array_equal(deliver(3), before)


@pytest.mark.parametrize("name", TAKE_PROBABILITIES)
def test_the_array_that_was_given_is_not_held_on_to(name):
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 30)
    given = probs.copy()
    deliver = DELIVERIES[name](given)
    np.testing.assert_array_equal(given, probs)
    before = deliver(1)
    given[:] = [1, 0, 0, 0, 0]
    np.testing.assert_array_equal(deliver(1), before)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([[0.2, 1.5]], "source must have rows that sum to 1, but row 0 sums to 1.7"),
        ([[1.5, -0.5]], "source must not be negative"),
        ([[np.nan, 1.0]], "source must be finite"),
        ([0, 1, 1], r"source must have the shape \(items, classes\)"),
    ],
)
def test_what_is_no_source_is_refused(name, source, message):
    with pytest.raises(InputError, match=message):
        DELIVERIES[name](source)


def test_no_items_are_given_nothing(name):
    deliver = DELIVERIES[name](Votes.from_counts(np.empty((0, 3), int)))
    assert len(deliver(0)) == len(deliver(0, [])) == 0


OTHER_PROCESS = """
import json, sys
import numpy as np
from dissensus import DELIVERIES, Votes
votes = Votes.from_counts(np.arange(1, 61).reshape(20, 3) % 5 + 1)
made = {name: make(votes, seed=2) for name, make in DELIVERIES.items()}
print(json.dumps({name: [deliver(epoch).tolist() for epoch in (8, 0, 3)] for name, deliver in made.items()}))
assert "torch" not in sys.modules
"""


def test_another_process_is_given_the_same():
    votes = Votes.from_counts(np.arange(1, 61).reshape(20, 3) % 5 + 1)
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "123"},
    )
    theirs = json.loads(done.stdout)
    for name, make in DELIVERIES.items():
        ours = make(votes, seed=2)
        assert theirs[name] == [ours(epoch).tolist() for epoch in (8, 0, 3)]
