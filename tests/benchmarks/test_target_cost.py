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


def test_the_table_has_each_number_under_its_head(cost):
    """Against what was measured itself, not its summary."""
    from dissensus.report.paper.soft_labels.cost import cost_table

    table = cost_table()
    rows = [row for result in cost.measured() for row in result["rows"]]
    assert len(table.lines) == len(rows) == 6
    for line, row in zip(table.lines, rows, strict=True):
        told = dict(zip(table.head[1:], [line.name, *map(str, line.boxes)], strict=True))
        kept, peak = row["kept_bytes"], row.get("peak_bytes")
        assert told == {
            "classes": f"{row['classes']:,}",
            "loss alone: time": f"{row['times_hard']['loss']['soft']:.2f}",
            "with a layer before it: time": f"{row['times_hard']['last layer']['soft']:.2f}",
            "kept for the backward pass": f"{kept['soft'] / kept['hard']:.2f}",
            "peak of GPU memory": f"{peak['soft'] / peak['hard']:.2f}" if peak else "–",
            "targets of 10⁶ items: rows": f"{row['storage_bytes']['dense float32'] / 1e9:g} GB",
            "the votes themselves": f"{row['storage_bytes']['votes'] / 1e6:.0f} MB",
        }
