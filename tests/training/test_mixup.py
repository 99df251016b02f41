from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import nn

from dissensus.training.mixup import mixed_loss, partners, shares


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(5, 4)


@pytest.mark.parametrize("hard", [True, False])
def test_the_loss_is_that_against_mixed_targets(model: nn.Module, hard: bool) -> None:
    x, partner, share = torch.randn(6, 5), torch.randperm(6), torch.tensor(0.3)
    rows = F.one_hot(torch.randint(0, 4, (6,)), 4).float() if hard else torch.rand(6, 4).softmax(1)
    y = rows.argmax(1) if hard else rows
    q = model(share * x + (1 - share) * x[partner]).log_softmax(1)
    expected = -((share * rows + (1 - share) * rows[partner]) * q).sum(1).mean()
    torch.testing.assert_close(mixed_loss(model, F.cross_entropy, x, y, share, partner), expected)


def test_a_share_of_one_mixes_nothing(model: nn.Module) -> None:
    x, y = torch.randn(6, 5), torch.randint(0, 4, (6,))
    mixed = mixed_loss(model, F.cross_entropy, x, y, torch.tensor(1.0), torch.randperm(6))
    torch.testing.assert_close(mixed, F.cross_entropy(model(x), y))


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
def test_shares_follow_the_beta_distribution(alpha: float) -> None:
    assert stats.kstest(shares(alpha, 20_000, seed=0, epoch=0), stats.beta(alpha, alpha).cdf).pvalue > 0.001


@pytest.mark.parametrize(("n_items", "batch_size"), [(10, 4), (8, 4), (3, 8), (5, 1)])
def test_partners_are_a_permutation_within_each_batch(n_items: int, batch_size: int) -> None:
    found = partners(n_items, batch_size, seed=0, epoch=2)
    for low in range(0, n_items, batch_size):
        batch = found[low : low + batch_size]
        assert sorted(batch) == list(range(len(batch)))


def test_partners_and_shares_change_with_the_epoch() -> None:
    assert not np.array_equal(partners(64, 32, seed=0, epoch=0), partners(64, 32, seed=0, epoch=1))
    assert not np.array_equal(shares(1.0, 4, seed=0, epoch=0), shares(1.0, 4, seed=0, epoch=1))
