"""Whether the convolutions of our own can be used on a GPU."""

from __future__ import annotations

from functools import cache

import torch

from dissensus.models.resnet18 import ResNet18
from dissensus.training.inputs import Normalise
from dissensus.training.recipe import Recipe

NEAR = 0.1  # the gradients of two ways to round differ by about 0.02


@cache
def usable(device: torch.device) -> bool:
    """A Hopper GPU, and a triton with which a step gives what it gives with the library's convolutions.

    The language they are written in is young and changes; where it has changed too much, nothing is lost but time.
    """
    if torch.cuda.get_device_capability(device)[0] != 9:
        return False
    try:
        return _distance(device) < NEAR
    except Exception:  # whatever another release does to them
        return False


def _distance(device: torch.device) -> float:
    """The largest relative distance between the gradients of a parameter, with our convolutions and without."""
    from dissensus.training.fused.resnet import FusedResNet

    recipe = Recipe(precision="bf16", mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    random = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (48, 3, 32, 32), generator=random, dtype=torch.uint8)
    x = x.to(device).contiguous(memory_format=torch.channels_last)
    y, rate = torch.arange(48, device=device) % 10, torch.zeros((), device=device)
    model = ResNet18((3, 32, 32), 10).to(device)
    prepare = Normalise.by(recipe, x[:1].cpu()).to(device)
    gradients = []
    for hopper in (True, False):
        learner = FusedResNet(model, prepare, recipe, hopper=hopper)
        learner.step(x, y, rate)
        gradients.append(learner.momentum)
    return max(float((a - b).norm() / b.norm()) for a, b in zip(*gradients, strict=True))
