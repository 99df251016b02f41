from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.training.augment import Augment
from dissensus.training.batches import Batches, as_targets
from dissensus.training.recipe import Recipe

N = 10
X = torch.arange(N, dtype=torch.float32)[:, None]


def batches(recipe: Recipe, seed: int = 0) -> Batches:
    return Batches(
        X, lambda epoch: np.arange(N) + 100 * epoch, Augment(X, 0, False, seed), recipe, seed, torch.device("cpu")
    )


def test_every_item_comes_once_an_epoch_with_its_own_label() -> None:
    for epoch in range(3):
        x, y, *_ = zip(*batches(Recipe(batch_size=4))(epoch), strict=True)
        assert [len(part) for part in x] == [4, 4, 2]  # the smaller last batch is kept
        items = torch.cat(x)[:, 0].long()
        assert sorted(items.tolist()) == list(range(N))
        assert torch.equal(torch.cat(y), items + 100 * epoch)


def test_the_order_changes_with_the_epoch_and_the_seed_and_with_nothing_else() -> None:
    def order(seed: int, epoch: int, **recipe: float) -> list[int]:
        return [int(i) for batch in batches(Recipe(**recipe), seed)(epoch) for i in batch.x[:, 0]]  # type: ignore[arg-type]

    assert order(0, 0) == order(0, 0) == order(0, 0, batch_size=3, mixup=1.0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


def test_mixup_gives_each_batch_a_share_and_partners() -> None:
    found = list(batches(Recipe(batch_size=4, mixup=1.0))(0))
    assert len({float(batch.share) for batch in found}) == 3
    assert [sorted(batch.partner.tolist()) for batch in found] == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1]]
    assert all(batch.partner is None for batch in batches(Recipe())(0))


def test_the_two_kinds_of_target() -> None:
    assert as_targets(np.zeros(2, np.uint8), 2, 0).dtype == torch.int64
    assert as_targets(np.zeros((2, 3)), 2, 0).dtype == torch.float32


@pytest.mark.parametrize(
    ("delivered", "message"),
    [
        (np.zeros(3, np.int64), r"deliver\(7\) must give one label or one row an item, 2 in all.*shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros(2), r"but gave float64 of the shape \(2,\)"),
        (np.zeros((2, 3), np.int64), r"but gave int64 of the shape \(2, 3\)"),
    ],
)
def test_what_cross_entropy_would_not_take_is_refused(delivered: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_targets(delivered, 2, 7)
