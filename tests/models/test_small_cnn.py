from __future__ import annotations

import pytest
import torch

from dissensus.models import SmallCNN


@pytest.mark.parametrize("side", [8, 16, 20, 24, 32])
@pytest.mark.parametrize("channels", [1, 3])
def test_it_takes_small_images_of_any_number_of_channels(side: int, channels: int) -> None:
    model = SmallCNN((channels, side, side), 10)
    assert model.features(torch.randn(2, channels, side, side)).shape == (2, 64)


def test_the_number_of_parameters_is_that_of_its_description() -> None:
    convolutions = 9 * (3 * 16 + 16 * 32 + 32 * 64)
    norms = 2 * (16 + 32 + 64)
    head = 64 * 10 + 10
    assert sum(p.numel() for p in SmallCNN((3, 20, 20), 10).parameters()) == convolutions + norms + head


def test_a_last_batch_of_one_item_trains() -> None:
    model = SmallCNN((3, 16, 16), 10).train()
    model(torch.randn(1, 3, 16, 16)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_features_are_the_mean_over_places_in_either_memory_layout() -> None:
    model, x = SmallCNN((3, 20, 20), 10).eval(), torch.randn(2, 3, 20, 20)
    expected = model.trunk(x).mean((2, 3))
    torch.testing.assert_close(model.features(x), expected)
    torch.testing.assert_close(model.features(x.contiguous(memory_format=torch.channels_last)), expected)
