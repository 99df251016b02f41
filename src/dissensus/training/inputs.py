"""Inputs at the door of training: checked once, laid where training wants them, normalised batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.recipe import Recipe


def checked(name: str, inputs: Tensor | NDArray) -> Tensor:
    """Inputs as one tensor that can train: uint8 images, float32 images, float32 features or int32 tokens.

    uint8 stays uint8, a quarter of the memory, until a batch is prepared. Tokens are (items, 2, length): for every
    place its number in the vocabulary and which of two texts it is in (0 or 1); -1 where a text is over.
    """
    try:
        tensor = torch.as_tensor(inputs)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers, but could not be read as one: {error}.") from None
    if is_tokens(tensor):
        return _whole_texts(name, tensor.to(torch.int32))
    if tensor.ndim not in (2, 4):
        raise InputError(
            f"{name} must be images (items, channels, height, width) or features (items, features), "
            f"but the shape is {tuple(tensor.shape)}."
        )
    if tensor.numel() == 0:
        raise InputError(f"{name} hold nothing: the shape is {tuple(tensor.shape)}.")
    if tensor.dtype.is_complex:
        raise InputError(f"{name} must be real numbers, but the dtype is {tensor.dtype}.")
    if tensor.ndim == 4 and tensor.dtype != torch.uint8 and not tensor.dtype.is_floating_point:
        raise InputError(
            f"{name} are images of {str(tensor.dtype).removeprefix('torch.')}, which says nothing of their scale. "
            "Pass uint8 (0 to 255) or float32."
        )
    if tensor.ndim == 2 or tensor.dtype != torch.uint8:
        tensor = tensor.to(torch.float32)
        finite = torch.isfinite(tensor).flatten(1).all(1)
        if not finite.all():
            raise InputError(f"{name} must be finite, but item {int((~finite).nonzero()[0])} is not.")
    return tensor


def is_tokens(inputs: Tensor) -> bool:
    """Whether items are texts, as numbers in a vocabulary."""
    return inputs.ndim == 3 and inputs.shape[1] == 2 and not inputs.dtype.is_floating_point and inputs.numel() > 0


def _whole_texts(name: str, tokens: Tensor) -> Tensor:
    """Texts are cut after as many places as they have tokens, and one without any has nothing to attend to."""
    there = tokens[:, 0] >= 0
    wrong = ~there[:, 0] | (there[:, 1:] & ~there[:, :-1]).any(1)
    if wrong.any():
        item = int(wrong.nonzero()[0])
        if not there[item].any():
            raise InputError(f"{name} hold no tokens for text {item}, so there is nothing to attend to. Leave it out.")
        raise InputError(
            f"{name} must begin at the first place of a text and end once, but text {item} has tokens after an empty "
            "place (-1). Pad at the end only."
        )
    return tokens


def lengths_of(tokens: Tensor) -> Tensor:
    """How many places each text takes, in host memory, where batches are cut."""
    return (tokens[:, 0] >= 0).sum(1).cpu()


def cut(tokens: Tensor, longest: int) -> Tensor:
    """Tokens without the places that no text of the batch reaches, up to a multiple of 16.

    A few lengths and no more, since each is a CUDA graph of its own. Dropout draws a number for every place, so the
    rule is part of what a run is.

    >>> cut(torch.zeros(3, 2, 60, dtype=torch.int32), longest=17).shape
    torch.Size([3, 2, 32])
    """
    return tokens[:, :, : -(-longest // 16) * 16]


def placed(inputs: Tensor, device: torch.device, engine: Engine) -> Tensor:
    """Inputs where they stay for the run: on the device, or in host memory that a GPU can read by itself."""
    inputs = inputs.to(device if engine.resident else "cpu")
    images = inputs.ndim == 4 and engine.channels_last
    inputs = inputs.contiguous(memory_format=torch.channels_last if images else torch.contiguous_format)
    return inputs.pin_memory() if device.type == "cuda" and not engine.resident else inputs


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device, or on its way there: an ordinary copy waits for all work before it."""
    if device.type != "cuda" or tensor.device.type == "cuda":
        return tensor.to(device)
    return (tensor if tensor.is_pinned() else tensor.pin_memory()).to(device, non_blocking=True)


def must_match(name: str, given: Tensor, training: Tensor) -> None:
    """Items of one shape and one scale, whether they train or are held out; texts may be of any length."""
    if is_tokens(given) and is_tokens(training):
        return
    if given.shape[1:] != training.shape[1:]:
        raise InputError(
            f"{name} must have items of the shape {tuple(training.shape[1:])}, as the training inputs have, "
            f"but its items have the shape {tuple(given.shape[1:])}."
        )
    if given.dtype != training.dtype:
        kinds = [str(tensor.dtype).removeprefix("torch.") for tensor in (training, given)]
        raise InputError(f"the training inputs are {kinds[0]} but those of {name} are {kinds[1]}; scale both alike.")


@dataclass(frozen=True)
class Normalise:
    r""":math:`(x - \mu) / \sigma` as one multiplication and one addition, to float32; uint8 counts from 0 to 1.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    >>> Normalise.by(Recipe(), x)(x)
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """

    scale: Tensor
    shift: Tensor

    @classmethod
    def by(cls, recipe: Recipe, inputs: Tensor) -> Normalise:
        """With the mean and std of the recipe, or else of these inputs. What does not vary is only centred."""
        if recipe.mean is None or recipe.std is None:
            mean, std = _moments(inputs)
            std = np.where(std == 0, 1.0, std)
        else:
            mean, std = np.array(recipe.mean), np.array(recipe.std)
        if len(mean) != inputs.shape[1]:
            what = "channels" if inputs.ndim == 4 else "features"
            raise InputError(
                f"mean and std of the recipe have {len(mean)} numbers, but the inputs have {inputs.shape[1]} {what}."
            )
        unit = 255.0 if inputs.dtype == torch.uint8 else 1.0
        sides = (1, -1) + (1,) * (inputs.ndim - 2)
        scale, shift = (torch.tensor(v, dtype=torch.float32).view(sides) for v in (1 / (unit * std), -mean / std))
        return cls(scale, shift)

    def to(self, device: torch.device) -> Normalise:
        return type(self)(self.scale.to(device), self.shift.to(device))

    def __call__(self, x: Tensor) -> Tensor:
        return (x * self.scale).add_(self.shift)


@final
class AsTheyAre(Normalise):
    """Tokens are no quantities: they have neither mean nor scale."""

    def __call__(self, x: Tensor) -> Tensor:
        return x


def prepare_by(recipe: Recipe, inputs: Tensor) -> Normalise:
    """What turns a batch of such inputs into what the model takes."""
    if not is_tokens(inputs):
        return Normalise.by(recipe, inputs)
    if recipe.mixup:
        raise InputError("mixup mixes images or features, but the inputs are tokens of texts. Use Recipe(mixup=0).")
    if recipe.mean is not None:
        raise InputError("mean and std scale images or features, but the inputs are tokens of texts. Leave them out.")
    return AsTheyAre(torch.empty(0), torch.empty(0))


def _moments(inputs: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation per channel or feature in float64: the same on every device and thread count."""
    inputs = inputs.cpu()
    if inputs.dtype == torch.uint8:  # 256 exact counts say it all, without a float copy of the images
        level = np.arange(256) / 255
        counts = torch.stack([torch.bincount(part.reshape(-1), minlength=256) for part in inputs.unbind(1)]).numpy()
        shares = counts / counts.sum(1, keepdims=True)
        mean = shares @ level
        return mean, np.sqrt((shares * (level - mean[:, None]) ** 2).sum(1))
    values = inputs.numpy()
    axes = (0, *range(2, values.ndim))
    return values.mean(axes, dtype=np.float64), values.std(axes, dtype=np.float64)
