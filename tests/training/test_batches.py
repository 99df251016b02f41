from __future__ import annotations

import numpy as np
import torch

from dissensus.training.augment import Augment
from dissensus.training.batches import Batches
from dissensus.training.labels import Labels
from dissensus.training.recipe import Recipe

N = 10
X = torch.arange(N, dtype=torch.float32)[:, None]


def batches(recipe: Recipe, seed: int = 0) -> Batches:
    labels = Labels(lambda epoch: np.arange(N) + 100 * epoch, N, 1000, recipe.epochs, torch.device("cpu"))
    return Batches(X, labels, Augment(X, 0, False, seed), recipe, seed, torch.device("cpu"))


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
