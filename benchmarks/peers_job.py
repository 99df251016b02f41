"""The job that every peer does, as it finds it: images, votes, a net with its initial weights, transforms, a clock."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from dissensus import Votes, load
from dissensus.models.resnet18 import ResNet18
from dissensus.training import Recipe
from dissensus.training.randomness import private_randomness

SEED = 100  # of the split, the initial weights and the batches; those that are reported are 0 to 9
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
RECIPE = Recipe(epochs=200, batch_size=128, lr=0.1, crop=4, flip=True, mean=MEAN, std=STD)

Transform = Callable[[Any], Tensor]


@dataclass(frozen=True)
class Job:
    """CIFAR-10H, ResNet-18 and the recipe on a GPU; where ``tiny``, glyphs and a thin net, for a look on any machine.

    The first ``epochs`` of the recipe's 200 are carried out, at the learning rates they have among the 200.
    """

    epochs: int
    tiny: bool
    images: NDArray[np.uint8]  # (items, channels, height, width)
    votes: Votes
    held_out_images: NDArray[np.uint8]
    held_out_votes: Votes
    clock: Clock

    @classmethod
    def load(cls, epochs: int, tiny: bool, clock: Clock) -> Job:
        data = load("glyphs", items=200) if tiny else load("cifar10h")
        train, held_out = data.votes.split(0.2, seed=SEED, by=data.labels)
        return cls(
            epochs=epochs,
            tiny=tiny,
            images=data.inputs[train],
            votes=data.votes.take(train),
            held_out_images=data.inputs[held_out],
            held_out_votes=data.votes.take(held_out),
            clock=clock,
        )

    @property
    def device(self) -> torch.device:
        return torch.device("cpu" if self.tiny else "cuda")

    @property
    def workers(self) -> int:
        """Of a loader that is set up as tutorials do it."""
        return 1 if self.tiny else 4

    @property
    def all_cores(self) -> int:
        return 1 if self.tiny else len(os.sched_getaffinity(0))

    @property
    def held_out_batch(self) -> int:
        """Where it is tuned: larger than in training, and all of one size, so that nothing is compiled twice."""
        return len(self.held_out_images) // 8

    def model(self) -> nn.Module:
        """The net with the initial weights that ``dissensus.fit`` would give it."""
        with private_randomness() as reseed:
            reseed(SEED, "init")
            shape = self.images.shape[1:]
            return ResNet18(shape, self.votes.n_classes, width=8 if self.tiny else 64)

    def compile(self, model: nn.Module, mode: str = "default") -> nn.Module:
        """``torch.compile`` with fixed sizes (128, the tail, the held-out batch)."""
        if not self.tiny:
            model.compile(dynamic=False, mode=mode)
        return model

    def as_documented(self, train: bool) -> Items:
        """PIL images and the transforms of torchvision's tutorials."""
        images, target = self._part(train)
        if self.tiny:
            return Items(torch.from_numpy(images), target, HandWritten(train))
        from PIL import Image
        from torchvision import transforms as T

        chance = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()] if train else []
        steps = [Image.fromarray, *chance, T.ToTensor(), T.Normalize(MEAN, STD)]
        return Items(np.ascontiguousarray(images.transpose(0, 2, 3, 1)), target, T.Compose(steps))

    def tuned(self, train: bool) -> Items:
        """uint8 tensors and torchvision's transforms v2, which need no PIL."""
        images, target = self._part(train)
        if self.tiny:
            return Items(torch.from_numpy(images), target, HandWritten(train))
        from torchvision.transforms import v2

        chance = [v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()] if train else []
        steps = [*chance, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        return Items(torch.from_numpy(images), target, v2.Compose(steps))

    def _part(self, train: bool) -> tuple[NDArray[np.uint8], Tensor]:
        images, votes = (self.images, self.votes) if train else (self.held_out_images, self.held_out_votes)
        return images, torch.from_numpy(votes.frequencies().astype(np.float32))


@dataclass(frozen=True, eq=False)
class Items(Dataset):
    """Images with the shares of their votes."""

    images: NDArray[np.uint8] | Tensor
    target: Tensor
    transform: Transform

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, item: int) -> tuple[Tensor, Tensor]:
        return self.transform(self.images[item]), self.target[item]


@dataclass(frozen=True)
class HandWritten:
    """What torchvision's RandomCrop (zeros around the image), RandomHorizontalFlip, ToTensor and Normalize do."""

    train: bool

    def __call__(self, image: Tensor) -> Tensor:
        if self.train:
            side = image.shape[-1]
            padded = torch.nn.functional.pad(image, (RECIPE.crop,) * 4)
            top, left = torch.randint(2 * RECIPE.crop + 1, (2,)).tolist()
            image = padded[:, top : top + side, left : left + side]
            if torch.rand(()) < 0.5:
                image = image.flip(-1)
        mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (MEAN, STD))
        return (image.float() / 255 - mean) / std


@dataclass
class Clock:
    """What a peer says at the end of every epoch. The two numbers are on the host, so the device has done its work."""

    started: float
    runs: int = 1  # that are trained side by side; an epoch ends when it has ended in all of them
    epochs: list[dict[str, float]] = field(default_factory=list)

    def end_of_epoch(self, train_loss: float, soft_nll: float) -> None:
        ended = round(time.perf_counter() - self.started, 4)
        self.epochs.append({"ended_s": ended, "train_loss": float(train_loss), "soft_nll": float(soft_nll)})


def digest(model: nn.Module) -> str:
    """The weights in 16 hexadecimal digits."""
    hashed = hashlib.sha256()
    for value in model.state_dict().values():
        hashed.update(value.detach().cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:16]
