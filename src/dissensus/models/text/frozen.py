"""A trained head on features that an encoder computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from typing import Any, ClassVar, final

import torch
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.classifier import Classifier, Shape, is_image, whole
from dissensus.models.text.encoder import Encoder
from dissensus.models.text.sentences import POOLINGS, Progress, Vectors, sentence_features
from dissensus.models.text.spelling import one_of, spelt
from dissensus.models.text.tokens import Say

HEAD = ("layers", "width", "dropout")  # options of the head; the others are of the features


@final
class Frozen(Classifier):
    r"""``layers`` times :math:`\max(0, Wx + b)` with dropout, then one linear layer.

    One hidden layer: which of two texts follows from the other is no linear function of their vectors. On ChaosNLI's
    MNLI part a linear head came to a KL of .39 to people, one with 256 hidden units to .31.

    >>> import torch
    >>> Frozen((1536,), 3)(torch.zeros(2, 1536)).shape
    torch.Size([2, 3])
    """

    version: ClassVar[int] = 1
    mixes: ClassVar[bool] = True

    def __init__(self, shape: Shape, n_classes: int, layers: int = 1, width: int = 256, dropout: float = 0.5) -> None:
        super().__init__()
        if is_image(shape):
            raise InputError(f"frozen needs features, but one item has the shape {tuple(shape)}.")
        if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
            raise InputError(f"dropout must be a number of at least 0 and below 1, but is {dropout!r}.")
        width = whole("width", width, 1)
        sizes = [shape[0], *[width] * whole("layers", layers, 0)]
        stages = [(nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)) for before, after in pairwise(sizes)]
        self.trunk = nn.Sequential(*chain.from_iterable(stages))
        self.head = nn.Linear(sizes[-1], whole("n_classes", n_classes, 2))

    def features(self, x: Tensor) -> Tensor:
        return self.trunk(x)

    @classmethod
    def spelt_out(cls, encoder: Encoder, **options: Any) -> dict[str, Any]:
        """The options with what they leave to the encoder: what a plan says of the model."""
        found = spelt("frozen", {"pooling": encoder.pooling, "unit": encoder.unit}, encoder, options, HEAD)
        one_of("pooling", found["pooling"], POOLINGS)
        one_of("unit", found["unit"], (True, False))
        cls.factory(encoder, (1,), 2, **{name: found[name] for name in HEAD if name in found})  # or what is wrong there
        return found

    @classmethod
    def inputs(
        cls,
        texts: Texts,
        encoder: Encoder,
        progress: Progress = lambda done, of: None,
        say: Say = lambda line: None,
        *,
        pooling: str,
        unit: bool,
        length: int,
        **head: Any,
    ) -> Vectors:
        """What it is trained on: features, (items, features)."""
        return sentence_features(texts, encoder, pooling=pooling, unit=unit, length=length, progress=progress, say=say)

    @classmethod
    def factory(cls, encoder: Encoder, shape: Shape, n_classes: int, **options: Any) -> Callable[[], Frozen]:
        head = {name: value for name, value in options.items() if name in HEAD}
        make = partial(cls, tuple(shape), n_classes, **head)
        with torch.device("meta"):  # every check, without memory or random numbers
            make()
        return make
