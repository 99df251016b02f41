from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from dissensus import InputError, Votes
from dissensus.targets import dawid_skene

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from crowdkit.aggregation import DawidSkene


def crowd(seed=0, n_items=120, n_annotators=12, n_classes=4, votes_per_item=5):
    """Annotators of different skill, each of whom sees some of the items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    skill = rng.uniform(0.3, 0.95, n_annotators)
    item = np.repeat(np.arange(n_items), votes_per_item)
    annotator = np.concatenate([rng.choice(n_annotators, votes_per_item, replace=False) for _ in range(n_items)])
    right = rng.random(len(item)) < skill[annotator]
    label = np.where(right, truth[item], rng.integers(0, n_classes, len(item)))
    return truth, {"items": item, "annotators": annotator, "labels": label}


def crowdkit_posterior(columns, iterations, n_items, n_classes):
    frame = pd.DataFrame({"task": columns["items"], "worker": columns["annotators"], "label": columns["labels"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = DawidSkene(n_iter=iterations, tol=-np.inf).fit_predict_proba(frame)
    return posterior.reindex(index=range(n_items), columns=range(n_classes)).to_numpy()


@pytest.mark.parametrize("iterations", [1, 2, 10, 40])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_agrees_with_crowd_kit_iteration_by_iteration(iterations, n_classes):
    _, columns = crowd(n_classes=n_classes)
    ours = dawid_skene(Votes.from_records(**columns), iterations=iterations, tolerance=0)
    np.testing.assert_allclose(ours, crowdkit_posterior(columns, iterations, 120, n_classes), atol=1e-7)


def test_annotators_who_never_use_a_class_agree_with_crowd_kit_too():
    _, columns = crowd(n_items=60, n_annotators=20, n_classes=6, votes_per_item=3)
    ours = dawid_skene(Votes.from_records(**columns), iterations=15, tolerance=0)
    np.testing.assert_allclose(ours, crowdkit_posterior(columns, 15, 60, 6), atol=1e-7)


def test_it_finds_the_truth_that_the_majority_misses():
    # two who know against three who toss coins
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    votes = np.stack([truth, truth, *rng.integers(0, 2, (3, 600))], 1)
    votes = Votes.from_records(
        items=np.repeat(np.arange(600), 5), labels=votes.reshape(-1), annotators=np.tile(np.arange(5), 600)
    )
    assert (votes.counts().argmax(1) == truth).mean() < 0.95
    assert (dawid_skene(votes).argmax(1) == truth).all()


def test_many_votes_do_not_underflow():
    votes = Votes.from_records(
        items=np.repeat([0, 1], 3000), labels=np.repeat([0, 1], 3000), annotators=np.tile(np.arange(3000), 2)
    )
    np.testing.assert_allclose(dawid_skene(votes), np.eye(2), atol=1e-12)


def test_it_stops_when_nothing_moves():
    _, columns = crowd()
    votes = Votes.from_records(**columns)
    np.testing.assert_allclose(dawid_skene(votes, 1000), dawid_skene(votes, 5000, tolerance=1e-9), atol=1e-4)


def test_votes_without_annotators_are_refused():
    with pytest.raises(InputError, match=r"who cast each vote.*targets\.shares"):
        dawid_skene(Votes.from_counts([[1, 2]]))


def test_several_labels_a_vote_are_refused():
    votes = Votes.from_records(items=[0, 0], labels=[{"a"}, {"a", "b"}], annotators=["x", "y"])
    with pytest.raises(InputError, match="one class a vote"):
        dawid_skene(votes)


def test_no_iterations_are_refused():
    with pytest.raises(InputError, match="iterations must be 1 or more, but it is 0"):
        dawid_skene(Votes.from_records(**crowd()[1]), iterations=0)
