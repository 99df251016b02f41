"""CIFAR-10 and CIFAR-100 as Alex Krizhevsky publishes them: pickled batches of 32 x 32 colour images with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Labels
from dissensus.base.errors import InputError
from dissensus.datasets.folder import data_files
from dissensus.datasets.pickles import read_pickle

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TRAIN = tuple(f"cifar-10-batches-py/data_batch_{number}" for number in range(1, 6))
TEST = "cifar-10-batches-py/test_batch"
TEST_100 = "cifar-100-python/test"

ITEMS = 10_000  # in every file that is read here
_PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Batch:
    """Images, uint8 (items, 3, 32, 32), and their labels, in the published order."""

    images: NDArray[np.uint8]
    labels: Labels


def read_batch(path: Path) -> Batch:
    """A batch of CIFAR-10."""
    return _read(path, "labels", len(CLASSES))


def read_batch_100(path: Path) -> Batch:
    """The test images of CIFAR-100 with their fine labels."""
    return _read(path, "fine_labels", 100)


def cifar100_images() -> NDArray[np.uint8]:
    """The 10,000 test images of CIFAR-100, none of which shows a class of CIFAR-10."""
    (path,) = data_files("cifar100", TEST_100)
    return read_batch_100(path).images


def _read(path: Path, key: str, classes: int) -> Batch:
    batch = read_pickle(path)
    lost = [name for name in ("data", key) if name not in batch]
    if lost:
        raise InputError(
            f"{path} must hold 'data' and {key!r}, but holds {', '.join(map(repr, batch)) or 'nothing'}. Is it another "
            "file of that name?"
        )
    return Batch(_images(batch["data"], path), _labels(batch[key], key, classes, path))


def _images(data: Any, path: Path) -> NDArray[np.uint8]:
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != (ITEMS, _PIXELS):
        told = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
        raise InputError(f"'data' in {path} must be uint8 {(ITEMS, _PIXELS)}, but is {told}.")
    return data.reshape(ITEMS, 3, 32, 32)


def _labels(labels: Any, key: str, classes: int, path: Path) -> Labels:
    if not isinstance(labels, list) or len(labels) != ITEMS:
        told = f"{len(labels)}" if isinstance(labels, list) else f"a {type(labels).__name__}"
        raise InputError(f"{key!r} in {path} must be a list of {ITEMS} labels, but is {told}.")
    for row, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < classes:
            raise InputError(f"{key!r} in {path} must be 0 to {classes - 1}, but image {row} has {str(label)[:40]!r}.")
    return np.array(labels, np.int64)
