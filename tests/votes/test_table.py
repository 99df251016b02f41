from __future__ import annotations

import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dissensus.base.errors import InputError
from dissensus.base.streams import bits
from dissensus.votes.table import Votes, first_appearance, ranges

COUNTS = np.array([[20, 10, 0], [5, 30, 1], [0, 2, 40]])


@pytest.fixture
def votes():
    return Votes.from_counts(COUNTS, classes=["cat", "dog", "eel"], items=["a", "b", "c"])


@pytest.fixture
def people():
    return Votes.from_records(
        items=["x", "y", "x", "y", "z"], labels=["no", "yes", "yes", "yes", "no"], annotators=[7, 8, 8, 7, 9]
    )


# -- building


@given(arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(2, 5)), elements=st.integers(0, 4)))
def test_counts_come_back(counts):
    votes = Votes.from_counts(counts)
    np.testing.assert_array_equal(votes.counts(), counts)
    np.testing.assert_array_equal(votes.votes_per_item, counts.sum(1))
    assert (len(votes), votes.n_votes, votes.n_classes) == (len(counts), counts.sum(), counts.shape[1])


def test_shares_of_votes(votes):
    np.testing.assert_allclose(votes.frequencies(), COUNTS / COUNTS.sum(1, keepdims=True))


def test_items_and_votes_keep_their_order(people):
    assert people.items.tolist() == ["x", "y", "z"]
    assert people.codes.tolist() == [0, 1, 1, 1, 0]
    assert people.annotator_names[people.annotators].tolist() == [7, 8, 8, 7, 9]
    assert people.n_annotators == 3


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([10, 9, 9], (9, 10)),
        (["10", "9", "9"], ("9", "10")),
        (["b", "a", "B"], ("B", "a", "b")),
        ([0.5, 2, 1], (0.5, 1, 2)),
    ],
)
def test_classes_are_in_numeric_order_or_sorted(labels, classes):
    assert Votes.from_records(items=[1, 2, 3], labels=labels).classes == classes


def test_whole_floats_are_whole_numbers():
    votes = Votes.from_records(items=[1, 2, 3], labels=[2.0, None, 1.0])
    assert votes.classes == (1, 2)
    assert all(isinstance(name, int) for name in votes.classes)


def test_codes_are_as_small_as_they_can_be():
    for n_classes, dtype in ((256, np.uint8), (257, np.uint16), (70_000, np.uint32)):
        assert Votes.from_counts(np.ones((1, n_classes), int)).codes.dtype == dtype


def test_nothing_can_be_changed(votes):
    for array in (votes.codes, votes.offsets, votes.items):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(AttributeError):
        votes.ordered = True


def test_the_callers_ids_stay_writable_and_apart():
    ids = np.array(["a", "b"])
    votes = Votes.from_counts([[1, 0], [0, 1]], items=ids)
    ids[0] = "z"
    assert votes.items.tolist() == ["a", "b"]


# -- several labels a vote


def test_several_labels_a_vote():
    votes = Votes.from_records(items=[1, 1, 2, 2], labels=[["a", "c"], {"c"}, [], ("b", "b")])
    assert votes.multilabel
    assert votes.counts().tolist() == [[1, 0, 2], [0, 1, 0]]
    assert votes.frequencies().tolist() == [[0.5, 0, 1], [0, 0.5, 0]]
    assert votes.sets[votes.codes].tolist() == [
        [True, False, True],
        [False, False, True],
        [False, False, False],
        [False, True, False],
    ]


def test_one_label_a_vote_has_the_identity_for_sets(votes):
    assert not votes.multilabel
    np.testing.assert_array_equal(votes.sets, np.eye(3, dtype=bool))


@given(
    st.lists(st.sets(st.integers(0, 80)), min_size=1, max_size=20),
    st.lists(st.integers(0, 4), min_size=20, max_size=20),
)
def test_sets_are_counted_class_by_class(sets, items):
    items = items[: len(sets)]
    votes = Votes.from_records(items=items, labels=sets, classes=range(81))
    expected = np.zeros((votes.n_items, 81), int)
    for item, labels in zip(items, sets, strict=True):
        expected[votes.items.tolist().index(item), list(labels)] += 1
    np.testing.assert_array_equal(votes.counts(), expected)


# -- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": ["a", 5], "labels": [1, 2]}, "items must be of one kind, but position 0 is 'a' and position 1 is 5"),
        (
            {"items": [1, 2], "labels": ["a", 5]},
            "labels must be of one kind, but position 0 is 'a' and position 1 is 5",
        ),
        ({"items": [1, 2], "labels": [["a"], "b"]}, "labels must be of one kind, but position 0 is 'a'"),
        ({"items": [1, 2, 3], "labels": [1, 2]}, "items has 3, labels has 2"),
        ({"items": [1, 2], "labels": [1, 2], "annotators": [1]}, "annotators has 1"),
        ({"items": [1, None], "labels": [1, 2]}, "position 1: the item is missing"),
        ({"items": [1, 1.5], "labels": [1, 2]}, "position 1: the item must be a whole number or text, but it is 1.5"),
        ({"items": [True, False], "labels": [1, 2]}, "position 0: the item must be a whole number or text"),
        ({"items": ["a\0", "b"], "labels": [1, 2]}, "ends in a NUL character"),
        ({"items": [2**63, 1], "labels": [1, 2]}, "9223372036854775808 does not fit 64 bits"),
        (
            {"items": [1, 2], "labels": [1, 2], "annotators": ["p", None]},
            "position 1: the annotator is missing.*out\\.$",
        ),
        ({"items": [1, 2], "labels": ["a", "a"]}, "the only class is 'a'. Name all of them with classes="),
        ({"items": [1, 2], "labels": [None, ""]}, "there are no votes, since no row has a label"),
        (
            {"items": [1, 2], "labels": ["a", "x"], "classes": ["a", "b"]},
            "position 1: the label 'x' is not one of the cl",
        ),
        ({"items": [1, 2], "labels": [["a"], ["x"]], "classes": ["a", "b"]}, "position 1: the label 'x' is not one of"),
        ({"items": [1, 2], "labels": [1, 2], "classes": ["1", "2"]}, "the label 1 is not one of the classes '1', '2'"),
        ({"items": "ab", "labels": [1, 2]}, "items must be a column of values, but it is the text 'ab'"),
        ({"items": np.zeros((2, 2)), "labels": [1, 2]}, r"items must have the shape \(votes,\)"),
        ({"items": [1, 2], "labels": [object(), object()]}, "neither text nor a number"),
    ],
)
def test_records_that_cannot_be_used(given, message):
    with pytest.raises(InputError, match=message):
        Votes.from_records(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"counts": [[1, -1]]}, "row 0, column 1 holds -1"),
        ({"counts": [[1, 0.5]]}, "row 0, column 1 holds 0.5"),
        ({"counts": [[1, np.nan]]}, "row 0, column 1 holds nan"),
        ({"counts": [[1], [2]]}, "at least two classes are needed, but the only class is 0"),
        ({"counts": [[1, 2]], "classes": ["a", "b", "c"]}, "2 columns, but 3 classes were named"),
        ({"counts": [[1, 2]], "classes": ["a", "a"]}, "'a' occurs more than once"),
        ({"counts": [[1, 2]], "classes": ["a", ""]}, "a text that is not empty, but ''"),
        ({"counts": [[1, 2]], "classes": "ab"}, "the text 'ab'"),
        ({"counts": [[1, 2]], "classes": [None, "b"]}, "None is neither"),
        ({"counts": [[1, 2]], "items": ["a", "b"]}, "1 rows, but 2 items were named"),
        ({"counts": [[1, 2], [1, 2]], "items": ["a", "a"]}, "items must be unique, but 'a' occurs more than once"),
        ({"counts": [[1, 2], [1, 2]], "items": ["a", 1]}, "position 0 is 'a' and position 1 is 1"),
        ({"counts": [[1, 2]], "items": [1.5]}, "1.5 at position 0 is neither"),
    ],
)
def test_counts_that_cannot_be_used(given, message):
    with pytest.raises(InputError, match=message):
        Votes.from_counts(given.pop("counts"), **given)


def test_an_item_without_votes_is_named():
    votes = Votes.from_counts([[1, 1], [0, 0], [0, 0]], items=["a", "b", "c"])
    with pytest.raises(InputError, match=r"item 'b' has no votes \(2 of 3 items have none\).*votes_per_item > 0"):
        votes.frequencies()
    assert votes.take(votes.votes_per_item > 0).frequencies().tolist() == [[0.5, 0.5]]


# -- take and align


def test_take_keeps_everything_of_an_item(people):
    taken = people.take([2, 0])
    assert taken.items.tolist() == ["z", "x"]
    assert taken.counts().tolist() == [[1, 0], [1, 1]]
    assert taken.annotator_names[taken.annotators].tolist() == [9, 7, 8]


def test_take_understands_masks_slices_and_ends(votes):
    assert votes.take(np.array([True, False, True])).items.tolist() == ["a", "c"]
    assert votes.take(slice(1, None)).items.tolist() == ["b", "c"]
    assert votes.take([-1]).items.tolist() == ["c"]
    assert votes.take([]).n_items == 0


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([3], "does not fit the 3 items"),
        ([True, False], "does not fit the 3 items"),
        ([0.5], "does not fit the 3 items"),
        ([1, 1], r"position 1 \(item 'b'\) more than once"),
    ],
)
def test_take_refuses(votes, index, message):
    with pytest.raises(InputError, match=message):
        votes.take(index)


def test_align_puts_items_in_your_order(votes):
    aligned = votes.align(["c", "a", "b"])
    assert aligned.items.tolist() == ["c", "a", "b"]
    np.testing.assert_array_equal(aligned.counts(), COUNTS[[2, 0, 1]])


def test_align_keeps_items_without_votes_if_asked(votes):
    aligned = votes.align(["c", "new", "a", "b"], missing="keep")
    assert aligned.counts().tolist() == [[0, 2, 40], [0, 0, 0], [20, 10, 0], [5, 30, 1]]
    with pytest.raises(InputError, match="item 'new' has no votes"):
        aligned.frequencies()


@pytest.mark.parametrize(
    ("ids", "missing", "message"),
    [
        (["a", "b", "c", "new"], "error", r"id 'new' has no votes \(1 of 4 ids have none\).*missing=\"keep\""),
        (["a.png", "b.png"], "error", r"2 of 2 ids have none\)\. Items are written as 'a' is; are the ids, too\?"),
        (["a", "b"], "error", r"item 'c' has votes but is not among the ids.*votes.align\(ids, others=\"drop\"\)"),
        (["a", "b"], "keep", "item 'c' has votes but is not among the ids"),
        (["a", "b", "c", "a"], "error", "ids must be unique, but 'a' occurs more than once"),
        ([1, 2, 3], "error", r"ids are whole numbers \(first: 1\), but the items of the votes are text \(first: 'a'\)"),
        (["a", 2, "c"], "error", "position 0 is 'a' and position 1 is 2"),
        (["a", "b", "c"], "drop", 'missing must be "error" or "keep", but it is \'drop\''),
    ],
)
def test_align_names_what_does_not_fit(votes, ids, missing, message):
    with pytest.raises(InputError, match=message):
        votes.align(ids, missing=missing)


def test_an_item_without_votes_has_none_wherever_that_is_seen():
    """It need not be among the ids; and if it is, it is as an id that the votes do not know."""
    votes = Votes.from_counts([[1, 1], [0, 0], [0, 2]], items=["a", "b", "c"])
    assert votes.align(["c", "a"]).counts().tolist() == [[0, 2], [1, 1]]
    with pytest.raises(InputError, match=r"id 'b' has no votes \(1 of 3 ids have none\)"):
        votes.align(["a", "b", "c"])
    assert votes.align(["b", "c", "a"], missing="keep").counts().tolist() == [[0, 0], [0, 2], [1, 1]]


def test_items_of_other_parts_are_left_out_if_asked(votes):
    train = votes.align(["c", "a"], others="drop")
    assert train.items.tolist() == ["c", "a"]
    assert train.counts().tolist() == [[0, 2, 40], [20, 10, 0]]
    assert train == votes.take([2, 0])
    assert votes.align(["new", "b"], missing="keep", others="drop").counts().tolist() == [[0, 0, 0], [5, 30, 1]]


def test_leaving_others_out_excuses_no_id_without_votes(votes):
    with pytest.raises(InputError, match=r"id 'new' has no votes \(1 of 2 ids have none\)"):
        votes.align(["a", "new"], others="drop")
    with pytest.raises(InputError, match='others must be "error" or "drop", but it is \'keep\''):
        votes.align(["a", "b", "c"], others="keep")


def test_nothing_aligned_to_something():
    empty = Votes.from_counts(np.zeros((0, 2), int))
    assert empty.align([4, 5], missing="keep").counts().tolist() == [[0, 0], [0, 0]]


# -- split


def test_a_split_is_stratified_complete_and_sorted():
    label = np.repeat([0, 1, 2], [500, 300, 201])
    votes = Votes.from_counts(np.eye(3, dtype=int)[label])
    train, test = votes.split(0.2, seed=3)
    assert sorted([*train, *test]) == list(range(1001))
    assert (np.diff(train) > 0).all()
    assert (np.diff(test) > 0).all()
    assert len(test) == 200
    assert np.bincount(label[test]).tolist() == [100, 60, 40]


def test_a_split_is_the_same_again_and_another_for_another_seed():
    votes = Votes.from_counts([[1, 1]] * 100)
    np.testing.assert_array_equal(votes.split(0.3, seed=1)[1], votes.split(0.3, seed=1)[1])
    assert (votes.split(0.3, seed=1)[1] != votes.split(0.3, seed=2)[1]).any()


def test_a_split_by_labels_of_ones_own():
    votes = Votes.from_counts([[1, 1]] * 40)
    by = np.array(["odd", "even"] * 20)
    _, test = votes.split(0.5, by=by)
    assert (by[test] == "odd").sum() == 10


@given(st.integers(3, 200), st.floats(0.05, 0.95), st.integers(1, 9))
def test_no_group_is_off_by_one_or_more(n_items, share, n_groups):
    size = np.floor(share * n_items + 0.5)
    if not 0 < size < n_items:
        return
    by = np.arange(n_items) % n_groups
    _, test = Votes.from_counts([[1, 1]] * n_items).split(share, by=by)
    assert len(test) == size
    assert (np.abs(np.bincount(by[test], minlength=n_groups) - share * np.bincount(by, minlength=n_groups)) < 1).all()


@pytest.mark.parametrize(
    ("test", "by", "message"),
    [
        (0, None, "test must be a share between 0 and 1"),
        (1.0, None, "test must be a share"),
        (200, None, "test must be a share"),
        (0.01, None, "leaves a part of the 3 items empty"),
        (0.5, [1, 2], r"a label for each of 3 items; its shape is \(2,\)"),
    ],
)
def test_a_split_refuses(votes, test, by, message):
    with pytest.raises(InputError, match=message):
        votes.split(test, by=by)


# -- subsample and resample


def test_subsamples_are_real_votes_and_nested():
    everyone = Votes.from_records(
        items=np.repeat(np.arange(50), 30),
        labels=np.random.default_rng(0).integers(0, 4, 1500),
        annotators=np.tile(np.arange(30), 50),
    )
    said = {
        (i, a): c for i, a, c in zip(np.repeat(np.arange(50), 30), everyone.annotators, everyone.codes, strict=True)
    }
    smaller: set = set()
    for k in (5, 10, 25, 30):
        some = everyone.subsample(k, seed=4)
        pairs = list(zip(np.repeat(np.arange(50), k), some.annotators, strict=True))
        assert [said[pair] for pair in pairs] == some.codes.tolist()
        assert len(set(pairs)) == 50 * k  # without replacement
        assert smaller <= set(pairs)
        smaller = set(pairs)
    assert some == everyone


def test_every_vote_is_as_likely_to_be_in_a_subsample():
    votes = Votes.from_records(items=np.zeros(10, int), labels=np.arange(10))
    kept = sum(votes.subsample(3, seed=seed).counts()[0] for seed in range(3000))
    # binomial(3000, 0.3): sd 25
    assert np.abs(kept - 900).max() < 4.5 * 25


def test_resampled_counts_are_multinomial():
    votes = Votes.from_counts(np.tile([[6, 3, 1]], (20_000, 1)))
    counts = votes.resample(5, seed=1).counts()
    assert (counts.sum(1) == 5).all()
    p = np.array([0.6, 0.3, 0.1])
    np.testing.assert_allclose(counts.mean(0), 5 * p, atol=0.03)
    np.testing.assert_allclose(np.cov(counts.T), 5 * (np.diag(p) - np.outer(p, p)), atol=0.04)


def test_resamples_of_different_sizes_are_independent():
    votes = Votes.from_counts(np.tile([[5, 5]], (20_000, 1)))
    five, ten = (votes.resample(k).counts()[:, 0] for k in (5, 10))
    assert abs(np.corrcoef(five, ten)[0, 1]) < 4 / np.sqrt(20_000)


def test_a_seed_gives_the_same_votes_again(votes):
    assert votes.subsample(5, seed=2) == votes.subsample(5, seed=2)
    assert votes.resample(5, seed=2) == votes.resample(5, seed=2)
    assert votes.resample(50, seed=2) != votes.resample(50, seed=3)


def test_draws_are_those_of_any_machine(votes):
    # a change here would silently change every run with few votes
    assert votes.subsample(6).codes.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert votes.resample(6).codes.tolist() == [0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 2, 2, 2, 2, 2, 1]


def test_a_subsample_is_the_votes_with_the_smallest_hashes(votes):
    hashes = bits(5, "subsample", at=votes.n_votes)
    for item, (low, high) in enumerate(pairwise(votes.offsets)):
        chosen = sorted(sorted(range(low, high), key=lambda vote: hashes[vote])[:7])
        assert votes.subsample(7, seed=5).take([item]).codes.tolist() == votes.codes[chosen].tolist()


def test_too_few_votes_name_the_item(votes):
    with pytest.raises(InputError, match=r"item 'a' has 30 votes, fewer than k = 36 \(1 of 3 items have fewer\)"):
        votes.subsample(36)
    for k in (0, 2.5, True):
        with pytest.raises(InputError, match="k must be a whole number of votes"):
            votes.subsample(k)
    with pytest.raises(InputError, match="item 1 has no votes"):
        Votes.from_counts([[1, 0], [0, 0]]).resample(2)


# -- equality, digest, repr


def test_equality_is_about_content(votes, people):
    assert votes == votes.take([0, 1, 2])
    assert votes != votes.take([0, 2, 1])
    assert votes != people
    assert votes != "votes"
    assert Votes.from_counts(COUNTS) != Votes.from_counts(COUNTS, ordered=True)
    assert Votes.from_counts(COUNTS, classes=[0, 1, 2]) != Votes.from_counts(COUNTS, classes=["0", "1", "2"])
    assert Votes.from_counts(COUNTS, items=[0, 1, 2]) != Votes.from_counts(COUNTS, items=["0", "1", "2"])


def test_what_no_vote_uses_does_not_count(people):
    late = people.take([2])
    fresh = Votes.from_records(items=["z"], labels=["no"], annotators=[9], classes=["no", "yes"])
    assert late == fresh
    assert late.digest() == fresh.digest()
    sets = Votes.from_records(items=[1, 2], labels=[["a", "b"], ["b"]])
    only = Votes.from_records(items=[2], labels=[["b"]], classes=["a", "b"])
    assert sets.take([1]) == only
    assert sets.take([1]).digest() == only.digest()


def test_digests_differ_where_content_does(votes, people):
    others = [
        votes,
        people,
        votes.take([1, 0, 2]),
        votes.subsample(3),
        Votes.from_counts(COUNTS),
        Votes.from_counts(COUNTS, ordered=True),
        Votes.from_counts(COUNTS, classes=["0", "1", "2"]),
        Votes.from_counts(COUNTS, items=["0", "1", "2"]),
        Votes.from_records(items=["x", "y", "x", "y", "z"], labels=["no", "yes", "yes", "yes", "no"]),
    ]
    assert len({other.digest() for other in others}) == len(others)


def test_the_digest_never_changes():
    # it is part of the names of runs
    assert Votes.from_counts(COUNTS).digest() == "8e92e36914f27f12ea6484b96ab967ef7a066f82c90ca2a8b1f6145eb575cfbb"


def test_votes_tell_what_they_are(votes, people):
    assert repr(votes) == "Votes(3 items, 3 classes, 108 votes, 30 to 42 an item)"
    assert repr(people) == "Votes(3 items, 2 classes, 5 votes, 1 to 2 an item, 3 annotators)"
    ordered = Votes.from_records(items=[1], labels=[["a"]], classes=["a", "b"], ordered=True)
    assert repr(ordered) == "Votes(1 items, 2 classes in order, 1 multi-label votes, 1 an item)"


def test_notes_stay_with_the_votes():
    votes = Votes.from_records(items=[1, 1, 1, 2, 3], labels=["Cat", "cat", None, "cat", None])
    assert repr(votes) == "Votes(3 items, 2 classes, 3 votes, 0 to 2 an item, 3 notes)"
    voted = votes.take([0, 1])
    one = Votes.from_records(items=[1, 1], labels=["Cat", "cat"])
    assert repr(one) == "Votes(1 items, 2 classes, 2 votes, 2 an item, 1 note)"
    for other in (votes.align([3, 2, 1], missing="keep"), voted, voted.subsample(1), voted.resample(5)):
        assert other.notes == votes.notes


# -- on disk


def test_what_was_saved_is_loaded(tmp_path, votes, people):
    columns = {"items": [1, 2], "labels": [["a", "b"], []], "annotators": ["p", "é"]}
    several = Votes.from_records(**columns, classes=["a", "b"], ordered=True)
    for table in (votes, people, several, votes.take([])):
        table.save(tmp_path / "votes.npz")
        loaded = Votes.load(tmp_path / "votes.npz")
        assert loaded == table
        assert loaded.digest() == table.digest()
        assert (loaded.ordered, loaded.multilabel) == (table.ordered, table.multilabel)


def _damaged(tmp_path, votes, **changes):
    path = tmp_path / "votes.npz"
    votes.save(path)
    with np.load(path) as file:
        content = dict(file)
    np.savez(path, **(content | changes))
    return path


def test_a_file_that_is_none_of_ours(tmp_path, votes):
    path = tmp_path / "votes.npz"
    path.write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(InputError, match=r"votes.npz is not a whole votes file, as votes.save"):
        Votes.load(path)
    np.savez(path, counts=np.ones(3))
    with pytest.raises(InputError, match="is not a whole votes file"):
        Votes.load(path)
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(InputError, match="is not a whole votes file"):
        Votes.load(tmp_path / "a.npy")
    np.savez(path, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="is not a whole votes file"):
        Votes.load(path)
    with pytest.raises(InputError, match="does not exist"):
        Votes.load(tmp_path / "none.npz")
    votes.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is not a whole votes file"):
        Votes.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codes": np.array([0, 9], np.uint8)}, "offsets do not lead from 0 to 2 votes"),
        ({"codes": np.full(108, 9, np.uint8)}, "a vote is outside of the 3 labels"),
        ({"items": np.array(["a", "b"])}, "there are 2 ids for 3 items"),
        ({"items": np.array(["a", "b", "a"])}, "'a' occurs more than once"),
        ({"offsets": np.array([0.0, 1.0])}, "offsets is not a column of whole numbers"),
        ({"annotators": np.zeros(108, np.int32)}, "annotators and their names do not come together"),
        ({"label_sets": np.ones((3, 2), bool)}, "sets do not fit the classes"),
        ({"other": np.ones(3)}, "unexpected keyword argument"),
    ],
)
def test_a_damaged_file_says_where(tmp_path, votes, changes, message):
    with pytest.raises(InputError, match=f"damaged votes file: .*{message}"):
        Votes.load(_damaged(tmp_path, votes, **changes))


def test_a_file_of_the_future_is_named(tmp_path, votes):
    about = json.dumps({"about": "dissensus votes", "version": 2, "classes": ["a", "b"], "ordered": False})
    with pytest.raises(InputError, match="written by a newer dissensus"):
        Votes.load(_damaged(tmp_path, votes, about=np.array(about)))


def test_nothing_in_a_saved_file_is_pickled(tmp_path, people):
    people.save(tmp_path / "votes.npz")
    with zipfile.ZipFile(tmp_path / "votes.npz") as file:
        for name in file.namelist():
            assert b"|O" not in file.read(name)[:128]


# -- the small tools


@given(st.lists(st.integers(0, 9), max_size=30))
def test_first_appearance_numbers_in_order(codes):
    numbers, first = first_appearance(np.array(codes, int), 10)
    seen = list(dict.fromkeys(codes))
    assert numbers.tolist() == [seen.index(code) for code in codes]
    assert first.tolist() == [codes.index(code) for code in seen]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=10))
def test_ranges_are_ranges(spans):
    starts, sizes = np.array(spans, int).reshape(-1, 2).T
    assert ranges(starts, sizes).tolist() == [at for start, size in spans for at in range(start, start + size)]


def test_classes_that_are_no_numbers_have_no_order_of_their_own():
    labels = ["low", "high", "mid"]
    with pytest.raises(InputError, match=r"'high', 'low', 'mid' are said to be ordered.* name them in it"):
        Votes.from_records(items=[0, 0, 1], labels=labels, ordered=True)
    votes = Votes.from_records(items=[0, 0, 1], labels=labels, classes=["low", "mid", "high"], ordered=True)
    assert votes.classes == ("low", "mid", "high")
    assert Votes.from_records(items=[0, 0, 1], labels=["9", "10", "9"], ordered=True).classes == ("9", "10")


def test_a_split_spreads_the_items_without_votes_evenly():
    votes = Votes.from_counts([[1, 0]] * 50 + [[0, 1]] * 30 + [[0, 0]] * 20)
    _, test = votes.split(0.2, seed=3)
    assert [int(np.isin(test, part).sum()) for part in (range(50), range(50, 80), range(80, 100))] == [10, 6, 4]


def test_classes_of_another_type_are_other_classes():
    whole, floating = (Votes.from_counts(COUNTS, classes=classes) for classes in ([0, 1, 2], [0.0, 1.0, 2.0]))
    assert whole != floating
    assert whole.digest() != floating.digest()


class Harmful:
    """What a pickle can do: run anything as soon as it is read."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was run",)


def test_a_votes_file_is_never_unpickled(tmp_path):
    harmful = np.empty(1, object)
    harmful[0] = Harmful()
    np.savez(tmp_path / "votes.npz", about=harmful, codes=np.zeros(1, np.uint8))
    with pytest.raises(InputError, match="is not a whole votes file"):
        Votes.load(tmp_path / "votes.npz")


def test_classes_as_one_text_are_refused_with_what_was_meant():
    with pytest.raises(
        InputError, match=r'must be a list of classes, such as \["ok", "bad"\], but it is the text \'ok, bad\''
    ):
        Votes.from_counts([[1, 2]], classes="ok, bad")
