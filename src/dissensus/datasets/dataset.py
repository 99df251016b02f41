"""Inputs with the votes on them: row ``i`` of every part belongs to the same item."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Labels, as_labels, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.datasets.texts import Texts
from dissensus.votes import Votes
from dissensus.votes.split import group_numbers

# uint8 images (items, channels, height, width), float32 features (items, features), or texts; and texts as int32 tokens
# (items, 2, length), which a model makes of them
Inputs: TypeAlias = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.int32] | Texts


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """What a learner is given and what annotators said of it; ``votes.items`` are the ids.

    >>> votes = Votes.from_counts([[2, 1], [0, 3]], classes=["cat", "dog"])
    >>> Dataset("pets", np.zeros((2, 5), np.float32), votes)
    Dataset('pets', 2 items, features (5,), 2 classes, 6 votes)
    """

    name: str
    inputs: Inputs
    votes: Votes
    labels: Labels | None = None  # (items,) reference class, if there is one besides the votes
    truth: NDArray[np.float64] | None = None  # (items, classes), the true annotator distribution where it is known
    version: int = 1  # raised when the same name comes to mean other data
    groups: NDArray[np.int64] | None = None  # (items,) equal for items that no split may part: those of one premise

    def __post_init__(self) -> None:
        check_inputs(self.inputs)
        parts = {name: getattr(self, name) for name in ("inputs", "votes", "labels", "truth", "groups")}
        same_length(**{name: part for name, part in parts.items() if part is not None})
        if self.groups is not None:
            object.__setattr__(self, "groups", group_numbers(self.groups))
        if self.labels is not None:
            object.__setattr__(self, "labels", as_labels("labels", self.labels, classes=self.votes.n_classes))
        if self.truth is not None:
            object.__setattr__(self, "truth", as_simplex("truth", self.truth))
            if self.truth.shape[1] != self.votes.n_classes:
                raise InputError(
                    f"truth must have one column a class, but it has {self.truth.shape[1]} columns "
                    f"and the votes have {self.votes.n_classes} classes."
                )

    @property
    def kind(self) -> Literal["images", "texts", "features"]:
        """What the inputs are; tokens, which a model has made of texts, count as features."""
        return "texts" if self.texts else "images" if self.images else "features"

    @property
    def images(self) -> bool:
        """Whether the inputs are images."""
        return isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 4

    @property
    def texts(self) -> bool:
        """Whether the inputs are :class:`Texts`, which need an encoder; else they are images or features."""
        return isinstance(self.inputs, Texts)

    @property
    def array(self) -> NDArray[Any]:
        """The inputs as images or features, for models of these; texts are refused."""
        if isinstance(self.inputs, Texts):
            raise InputError(
                f"the inputs of {self.name} are texts, and this takes images or features. Choose a model of texts, or "
                "turn them into features with an encoder."
            )
        return self.inputs

    def digest(self) -> dict[str, str]:
        """SHA-256 of the inputs (shape, dtype, bytes) and of the votes: what a plan knows the data by.

        Groups decide which items can be evaluated together; where there are any, that of the inputs covers them.
        """
        inputs = self.inputs.digest() if isinstance(self.inputs, Texts) else _array_digest(self.inputs)
        if self.groups is not None:
            inputs = hashlib.sha256((inputs + json.dumps(self.groups.tolist())).encode()).hexdigest()
        return {"inputs": inputs, "votes": self.votes.digest()}

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {len(self)} items, {inputs_in_words(self.inputs)}, "
            f"{self.votes.n_classes} classes, {self.votes.n_votes} votes)"
        )


def inputs_in_words(inputs: Inputs) -> str:
    """What a model would be trained on, without how many: inputs that are told alike can be given to one model.

    >>> inputs_in_words(np.zeros((5, 3, 20, 20), np.uint8)), inputs_in_words(Texts(["one"], ["and another"]))
    ('images (3, 20, 20)', 'pairs of texts')
    """
    if isinstance(inputs, Texts):
        return "pairs of texts" if inputs.pairs else "texts"
    return f"{'images' if inputs.ndim == 4 else 'features'} {inputs.shape[1:]}"


def image_shape(words: str) -> tuple[int, int, int] | None:
    """Channels, height and width of images that are told in words; None where other inputs are.

    >>> image_shape(inputs_in_words(np.zeros((5, 3, 20, 28), np.uint8))), image_shape("texts")
    ((3, 20, 28), None)
    """
    found = re.fullmatch(r"images \((\d+), (\d+), (\d+)\)", words)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def _array_digest(inputs: NDArray[Any]) -> str:
    inputs = np.ascontiguousarray(inputs, dtype=inputs.dtype.newbyteorder("<"))
    sha = hashlib.sha256(repr((inputs.shape, inputs.dtype.name)).encode())
    sha.update(inputs.data)
    return sha.hexdigest()


def check_inputs(inputs: object) -> None:
    """An error unless a data set can have such inputs."""
    if isinstance(inputs, Texts):
        return
    if not isinstance(inputs, np.ndarray):
        raise InputError(f"inputs must be a NumPy array or Texts, but are of type {type(inputs).__name__}.")
    if (inputs.ndim, inputs.dtype) == (3, np.int32):
        return
    if (inputs.ndim, inputs.dtype) not in ((4, np.uint8), (2, np.float32)):
        raise InputError(
            "inputs must be images, uint8 (items, channels, height, width), or features, float32 (items, features), "
            f"but are {inputs.dtype} {inputs.shape}."
        )
    if inputs.dtype == np.float32 and not np.isfinite(inputs).all():
        row, column = np.argwhere(~np.isfinite(inputs))[0]
        raise InputError(f"inputs must be finite, but row {row}, feature {column} is {inputs[row, column]}.")
