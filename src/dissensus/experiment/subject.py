"""A trained model with the items of its run, and what is asked of it: by a sweep right after its training, or later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset, load_images
from dissensus.diagnostics.dynamics import dynamics
from dissensus.experiment.parts import Parts, reference_labels
from dissensus.records import Diagnosis, Weights

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dissensus.evaluation.predict import Prepare

RESIDENT = 1 << 28  # numbers of a set of inputs that stay on the device: 1 GB, ten times the images of CIFAR-10H


@dataclass(frozen=True)
class Subject:
    """What a diagnostic may look at."""

    model: nn.Module
    prepare: Prepare  # normalises inputs for the model
    inputs: NDArray[Any]  # of the evaluation items
    human: NDArray[np.float64]  # all votes on them
    train: NDArray[Any]  # inputs of the training items
    labels: NDArray[np.int64]  # of the evaluation items: the class with most votes
    weights: tuple[Weights, ...] = ("best",)  # whose they are: the best epoch's, the last one's, or both in one

    @classmethod
    def of(cls, model: nn.Module, prepare: Prepare, data: Dataset, split: Parts) -> Subject:
        """A model with the items of its run, of the data as it sees them."""
        inputs, train = (data.array[part] for part in (split.evaluation, split.train))
        human = data.votes.take(split.evaluation).frequencies()
        return cls(model.eval(), prepare, inputs, human, train, reference_labels(data)[split.evaluation])

    def prepared(self, inputs: NDArray[Any]) -> Tensor:
        """Inputs as the model takes them, on its device: from host memory, every pass over them would wait for copies.

        In host memory only where they are more than ``RESIDENT`` numbers, and might not fit there.
        """
        import torch

        from dissensus.evaluation.predict import device_of

        given, device = torch.as_tensor(inputs), device_of(self.model)
        kept = device if given.numel() <= RESIDENT else torch.device("cpu")
        return torch.cat([self.prepare(x.to(device)).to(kept) for x in given.split(2000)])


@dataclass(frozen=True)
class Kept:
    """An array from inside a model, kept with the predictions of its run: "maps" as ``best_maps`` and ``last_maps``."""

    name: str
    array: NDArray[Any]
    weights: Weights = ""  # whose, where they are not simply those of the subject


Diagnose = Callable[[Subject], Iterable[Diagnosis | Kept]]


def look_inside(subject: Subject, outside: Sequence[str] = (), precision: str = "fp32") -> list[Diagnosis]:
    """The model's card (:func:`dissensus.diagnostics.card`); ``outside`` names sets of images: svhn, a folder.

    A sweep takes it as it is, ``compare(..., diagnose=look_inside)``, or with such sets:
    ``compare(..., diagnose=functools.partial(look_inside, outside=["svhn"]))``.
    """
    from dissensus.diagnostics.card import card

    size = subject.inputs.shape[2:] if subject.inputs.ndim == 4 else None
    sets = {name: subject.prepared(shaped_like(subject.inputs, name, load_images(name, size))) for name in outside}
    bank = subject.prepared(subject.train) if sets else None
    inputs = subject.prepared(subject.inputs)
    return card(subject.model, inputs, subject.human, outside=sets, bank=bank, precision=precision)


def shaped_like(items: NDArray[Any], name: str, images: NDArray[Any]) -> NDArray[Any]:
    """The images of an outside set, if a model of these items can take them."""
    if images.shape[1:] != items.shape[1:]:
        raise InputError(
            f"{name} has images of the shape {images.shape[1:]}, but the model takes {items.shape[1:]}. "
            "Only sets of that shape can be told apart from its items."
        )
    return images


def dynamics_of(history: Mapping[str, Any] | Sequence[Mapping[str, Any]], items: int) -> list[Diagnosis]:
    """How a run learned: exact, so without intervals."""
    return [Diagnosis(name, float(value), np.nan, np.nan, items) for name, value in vars(dynamics(history)).items()]
