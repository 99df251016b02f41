"""Two models that train on a processor in seconds, and the ResNet-18 of the papers.

``MODELS`` is the registry, ``make`` turns a name into a factory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from dissensus.base.errors import InputError, require, unknown

require("torch", extra="train")

import torch  # noqa: E402

from dissensus.models.classifier import Classifier, Shape  # noqa: E402
from dissensus.models.mlp import MLP  # noqa: E402
from dissensus.models.resnet18 import ResNet18  # noqa: E402
from dissensus.models.small_cnn import SmallCNN  # noqa: E402

MODELS: dict[str, type[Classifier]] = {"small-cnn": SmallCNN, "mlp": MLP, "resnet18": ResNet18}

__all__ = ["MLP", "MODELS", "Classifier", "ResNet18", "Shape", "SmallCNN", "make"]


def make(name: str, shape: Shape, n_classes: int, **options: Any) -> Callable[[], Classifier]:
    """A factory of fresh models for items of this shape: what :func:`dissensus.training.fit` takes.

    ``shape`` is that of one item, ``inputs.shape[1:]``. A mistake in it or in the options is told here, not when the
    factory is called, and making a factory draws no random numbers.

    >>> factory = make("small-cnn", (3, 20, 20), 10, width=8)
    >>> factory()(torch.zeros(2, 3, 20, 20)).shape
    torch.Size([2, 10])
    >>> make("small-cnn", (3, 20, 20), 10, wdith=8)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: unknown option of small-cnn 'wdith'; did you mean 'width'? Choose one of: width
    """
    if name not in MODELS:
        raise InputError(unknown("model", name, MODELS))
    model = MODELS[name]
    known = [option for option in inspect.signature(model).parameters if option not in ("shape", "n_classes")]
    for option in options:
        if option not in known:
            raise InputError(unknown(f"option of {name}", option, known))
    factory = partial(model, tuple(int(side) for side in shape), n_classes, **options)
    with torch.device("meta"):  # shapes without memory or random numbers: every check, and nothing else
        factory()
    return factory
