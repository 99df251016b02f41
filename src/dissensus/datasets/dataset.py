"""Inputs with the votes on them: row ``i`` of every part belongs to the same item."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Labels, as_labels, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.votes import Votes


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """What a learner is given and what annotators said of it; ``votes.items`` are the ids.

    >>> votes = Votes.from_counts([[2, 1], [0, 3]], classes=["cat", "dog"])
    >>> Dataset("pets", np.zeros((2, 5), np.float32), votes)
    Dataset('pets', 2 items, features (5,), 2 classes, 6 votes)
    """

    name: str
    inputs: (
        NDArray[np.uint8] | NDArray[np.float32]
    )  # uint8 (items, channels, height, width) or float32 (items, features)
    votes: Votes
    labels: Labels | None = None  # (items,) reference class, if there is one besides the votes
    truth: NDArray[np.float64] | None = None  # (items, classes), the true annotator distribution where it is known
    version: int = 1  # raised when the same name comes to mean other data

    def __post_init__(self) -> None:
        _check_inputs(self.inputs)
        parts = {"inputs": self.inputs, "votes": self.votes, "labels": self.labels, "truth": self.truth}
        same_length(**{name: part for name, part in parts.items() if part is not None})
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
    def images(self) -> bool:
        """Whether the inputs are images, else features."""
        return self.inputs.ndim == 4

    def digest(self) -> dict[str, str]:
        """SHA-256 of the inputs (shape, dtype, bytes) and of the votes: what a plan knows the data by."""
        inputs = np.ascontiguousarray(self.inputs, dtype=self.inputs.dtype.newbyteorder("<"))
        sha = hashlib.sha256(repr((inputs.shape, inputs.dtype.name)).encode())
        sha.update(inputs.data)
        return {"inputs": sha.hexdigest(), "votes": self.votes.digest()}

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        kind = "images" if self.images else "features"
        return (
            f"Dataset({self.name!r}, {len(self)} items, {kind} {self.inputs.shape[1:]}, "
            f"{self.votes.n_classes} classes, {self.votes.n_votes} votes)"
        )


def _check_inputs(inputs: object) -> None:
    if not isinstance(inputs, np.ndarray):
        raise InputError(f"inputs must be a NumPy array, but are of type {type(inputs).__name__}.")
    if (inputs.ndim, inputs.dtype) not in ((4, np.uint8), (2, np.float32)):
        raise InputError(
            "inputs must be images, uint8 (items, channels, height, width), or features, float32 (items, features), "
            f"but are {inputs.dtype} {inputs.shape}."
        )
    if inputs.dtype == np.float32 and not np.isfinite(inputs).all():
        row, column = np.argwhere(~np.isfinite(inputs))[0]
        raise InputError(f"inputs must be finite, but row {row}, feature {column} is {inputs[row, column]}.")
