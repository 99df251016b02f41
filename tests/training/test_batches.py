from __future__ import annotations

import numpy as np
import torch

from dissensus.training.augment import Augment
from dissensus.training.batches import Batches
from dissensus.training.inputs import lengths_of
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


def test_a_batch_of_tokens_is_as_long_as_its_longest_text() -> None:
    lengths = torch.tensor([3, 40, 17, 16, 5, 33, 1, 2, 48, 50])
    tokens = torch.full((N, 2, 50), -1, dtype=torch.int32)
    for item, length in enumerate(lengths.tolist()):
        tokens[item, 0, :length], tokens[item, 1, :length] = item, 0
    labels = Labels(lambda epoch: np.arange(N), N, N, 1, torch.device("cpu"))
    recipe, cpu = Recipe(batch_size=2), torch.device("cpu")
    for x, y, *_ in Batches(tokens, labels, Augment(tokens, 0, False, 0), recipe, 0, cpu, lengths_of(tokens))(0):
        assert x[:, 0, 0].tolist() == y.tolist()
        longest = int(lengths[y].max())
        assert x.shape[2] == min(50, -(-longest // 16) * 16)
        assert ((x[:, 0] >= 0).sum(1) == lengths[y]).all()
