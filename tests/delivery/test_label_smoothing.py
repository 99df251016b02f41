from __future__ import annotations

import numpy as np
import pytest

from dissensus import InputError, LabelSmoothing, MajorityVote, Votes


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_it_is_what_torch_calls_label_smoothing(epsilon):
    torch = pytest.importorskip("torch")
    cross_entropy = torch.nn.functional.cross_entropy
    votes = Votes.from_counts(np.random.default_rng(0).integers(0, 5, (40, 6)) + np.array([1, 0, 0, 0, 0, 0]))
    logits = torch.from_numpy(np.random.default_rng(1).standard_normal((40, 6))).float()
    ours = cross_entropy(logits, torch.from_numpy(LabelSmoothing(votes, seed=5, epsilon=epsilon)(0)))
    theirs = cross_entropy(logits, torch.from_numpy(MajorityVote(votes, seed=5)(0)), label_smoothing=epsilon)
    torch.testing.assert_close(ours, theirs)


def test_a_tenth_is_the_default():
    np.testing.assert_allclose(LabelSmoothing(Votes.from_counts([[1, 9, 0, 0]]))(0), [[0.025, 0.925, 0.025, 0.025]])


def test_several_labels_a_vote_go_towards_one_half():
    votes = Votes.from_records(items=[0], labels=[{"a", "c"}], classes=["a", "b", "c"])
    np.testing.assert_allclose(LabelSmoothing(votes, epsilon=0.2)(0), [[0.9, 0.1, 0.9]], rtol=1e-6)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_epsilon_is_a_share(epsilon):
    with pytest.raises(InputError, match=f"epsilon must lie between 0 and 1, but it is {epsilon}"):
        LabelSmoothing(Votes.from_counts([[1, 2]]), epsilon=epsilon)
