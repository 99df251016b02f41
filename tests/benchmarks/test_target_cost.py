from __future__ import annotations

import numpy as np
import pytest
import torch


@pytest.fixture
def cost(benchmarks_can_be_imported):
    import target_cost

    return target_cost


def test_soft_labels_need_no_rows(cost):
    """The loss from votes is that against their shares, and so is its gradient."""
    votes = cost.make_votes(16, 50)
    logits = torch.randn(16, 50, generator=torch.Generator().manual_seed(0), requires_grad=True)
    found = cost.losses(votes, "cpu")
    soft, sparse = found["soft"](logits), found["soft from votes"](logits)
    torch.testing.assert_close(soft, sparse)
    torch.testing.assert_close(*(torch.autograd.grad(loss, logits, retain_graph=True)[0] for loss in (soft, sparse)))


def test_dense_rows_are_kept_for_the_backward_pass(cost):
    kept, rows = cost.kept(1000), cost.BATCH * 1000 * 4
    assert kept["soft"] >= kept["hard"] + rows - 10_000
    assert kept["hard"] >= rows


@pytest.mark.parametrize("n_classes", [10, 1000])
def test_storage_is_that_of_the_arrays(cost, n_classes, monkeypatch):
    monkeypatch.setattr(cost, "STORED", 300)
    votes, said = cost.make_votes(300, n_classes), cost.storage(n_classes)
    assert said["votes"] == votes.codes.nbytes + votes.offsets.nbytes
    assert said["dense float32"] == votes.frequencies().astype(np.float32).nbytes


def test_an_epoch_has_all_deliveries(cost, monkeypatch):
    monkeypatch.setattr(cost, "DELIVERED", 256)
    assert set(cost.epoch(10)) == {"majority", "sls", "multipass", "soft"}


def test_the_page_says_what_was_measured(cost):
    assert cost.PAGE.read_text("utf-8") == cost.for_the_page(cost.measured())
