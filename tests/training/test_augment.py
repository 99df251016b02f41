from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.training.augment import Augment

N, C, H, W = 40, 3, 7, 9


@pytest.fixture
def images() -> torch.Tensor:
    x = np.random.default_rng(0).integers(1, 256, (N, C, H, W), np.uint8)  # no zeros: those come from padding
    return torch.from_numpy(x).contiguous(memory_format=torch.channels_last)


def one_by_one(images: torch.Tensor, augment: Augment, epoch: int) -> np.ndarray:
    """What torchvision's RandomCrop(padding=crop) and RandomHorizontalFlip do, an image at a time."""
    crop, out = augment.crop, np.empty(images.shape, np.uint8)
    for i, (top, left, mirrored) in enumerate(zip(*augment.places(epoch, len(images)), strict=True)):
        padded = np.pad(images[i].numpy(), ((0, 0), (crop, crop), (crop, crop)))
        out[i] = padded[:, top : top + H, left : left + W]
        if mirrored:
            out[i] = out[i][:, :, ::-1]
    return out


@pytest.mark.parametrize(("crop", "flip"), [(0, True), (2, False), (3, True)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_an_epoch_is_what_a_slow_loop_gives(images: torch.Tensor, crop: int, flip: bool, dtype: torch.dtype) -> None:
    augment = Augment(images.to(dtype), crop, flip, seed=5)
    order = torch.randperm(N)
    for epoch in range(3):
        out = augment(epoch, order)
        assert out.dtype == dtype
        assert out.is_contiguous(memory_format=torch.channels_last)
        np.testing.assert_array_equal(out.numpy(), one_by_one(images, augment, epoch)[order])


def test_one_channel_works_too(images: torch.Tensor) -> None:
    grey = images[:, :1].contiguous(memory_format=torch.channels_last)
    augment = Augment(grey, 2, True, seed=0)
    np.testing.assert_array_equal(augment(0, torch.arange(N)).numpy(), one_by_one(grey, augment, 0))


def test_without_crop_and_flip_inputs_are_only_put_in_order(images: torch.Tensor) -> None:
    order = torch.randperm(N)
    assert torch.equal(Augment(images, 0, False, seed=0)(0, order), images[order])
    features = torch.randn(N, 4)
    assert torch.equal(Augment(features, 0, False, seed=0)(0, order), features[order])


@pytest.mark.parametrize("crop", [0, 2])
def test_images_come_out_in_the_memory_layout_they_came_in(images: torch.Tensor, crop: int) -> None:
    plain, order = images.contiguous(), torch.randperm(N)
    found = Augment(plain, crop, False, seed=0)(0, order)
    assert found.is_contiguous()
    assert torch.equal(found, Augment(images, crop, False, seed=0)(0, order))


def test_places_are_uniform_and_independent() -> None:
    augment = Augment(torch.zeros(1, 1, 8, 8, dtype=torch.uint8), 2, True, seed=0)
    top, left, mirrored = augment.places(0, 50_000)
    cells = np.bincount((top * 5 + left) * 2 + mirrored, minlength=50)
    chi2 = ((cells - 1000) ** 2 / 1000).sum()
    assert 20 < chi2 < 90  # 49 degrees of freedom: the .001 and .9997 quantiles


def test_an_item_s_place_changes_with_the_epoch_and_the_seed_but_not_with_the_other_items(images: torch.Tensor) -> None:
    def first_ten(seed: int, epoch: int, n_items: int) -> list:
        return [part[:10].tolist() for part in Augment(images, 4, True, seed).places(epoch, n_items)]

    assert first_ten(0, 0, 10) == first_ten(0, 0, N)
    assert first_ten(0, 0, N) != first_ten(0, 1, N)
    assert first_ten(0, 0, N) != first_ten(1, 0, N)


def test_features_cannot_be_cropped() -> None:
    with pytest.raises(InputError, match=r"crop and flip are for images, but one item has the shape \(4,\)"):
        Augment(torch.zeros(2, 4), 1, False, seed=0)
