"""CIFAR-10 and CIFAR-100 as Alex Krizhevsky publishes them: pickled batches of 32 x 32 colour images with labels."""

from __future__ import annotations

import hashlib
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

# SHA-256 of the images, and of the labels as a byte each, that were published in each file: a pickle has no checksum of
# its own, and a damaged pixel is a pixel like any other. Whatever else a copy holds or lacks is all the same.
CONTENT = {
    "data_batch_1": "ba52cb2d72c412975d7556bb26bd094956f1c002d1937053f6f1252f2ac17114",
    "data_batch_2": "350ff9000489d02f2568c0dcf4912ffdbae9e50932147905fb1b8159ad54f0ac",
    "data_batch_3": "a2b8653fc457df407af6c38b7e0d1a12530f3b5f81fce9f81516efd065daf722",
    "data_batch_4": "133e6292c377755074c305db8a684d48d5397372cb0aba34f52b4335eab35d97",
    "data_batch_5": "eb08cdc11fd1267ef871cf4790f193684b3f556d13317be68f4eb374a078ea87",
    "test_batch": "9a4c74f5c8b6f2c4e13d3a1dfb43a5a8cda8a9da515e99fd620d2013a1a6287a",
}


@dataclass(frozen=True)
class Batch:
    """Images, uint8 (items, 3, 32, 32), and their labels, in the published order."""

    images: NDArray[np.uint8]
    labels: Labels


def read_batch(path: Path) -> Batch:
    """A batch of CIFAR-10, with the content that was published under its name."""
    batch = _read(path, "labels", len(CLASSES))
    if path.name in CONTENT:
        _refuse_other_content(batch, path)
    return batch


def read_batch_100(path: Path) -> Batch:
    """The test images of CIFAR-100 with their fine labels; only the structure is checked."""
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


def _refuse_other_content(batch: Batch, path: Path) -> None:
    sha = hashlib.sha256(batch.images.data)
    sha.update(batch.labels.astype(np.uint8).data)
    found = sha.hexdigest()
    if found == CONTENT[path.name]:
        return
    other = [name for name, content in CONTENT.items() if content == found]
    told = f"holds the content of {other[0]}" if other else "is damaged: its images or labels are not as published"
    raise InputError(f"{path} {told}. Remove it and get it again.")


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
