"""CIFAR-10N (Wei et al., ICLR 2022): three votes on each of CIFAR-10's 50,000 train images."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.datasets import cifar
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.folder import data_files
from dissensus.datasets.pickles import read_torch_pickle
from dissensus.votes import Votes

HUMAN = "cifar-10n/CIFAR-10_human.pt"
_VOTES = ("random_label1", "random_label2", "random_label3")
_CLEAN = "clean_label"  # CIFAR-10's own, by which the order of the two sets can be compared


def load_cifar10n() -> Dataset:
    """Images, three votes an image (who gave them is not known) and CIFAR-10's own labels, in CIFAR-10's order."""
    human_path, *batch_paths = data_files("cifar10n", HUMAN, *cifar.TRAIN)
    human = read_human(human_path)
    batches = [cifar.read_batch(path) for path in batch_paths]
    labels = np.concatenate([batch.labels for batch in batches])
    _refuse_another_order(human[_CLEAN], labels, human_path, batch_paths)
    counts = np.zeros((len(labels), len(cifar.CLASSES)), np.int64)
    for name in _VOTES:
        counts[np.arange(len(labels)), human[name]] += 1
    ids = [f"cifar10-train-{number:05d}" for number in range(len(labels))]
    images = np.concatenate([batch.images for batch in batches])
    return Dataset("cifar10n", images, Votes.from_counts(counts, classes=cifar.CLASSES, items=ids), labels)


def read_human(path: Path) -> dict[str, NDArray[np.int64]]:
    """The three votes and CIFAR-10's label, from the published ``.pt``, or from an ``.npz`` with the same arrays."""
    arrays = _read_npz(path) if path.suffix == ".npz" else read_torch_pickle(path)
    items = len(cifar.TRAIN) * cifar.ITEMS
    found = {}
    for name in (_CLEAN, *_VOTES):
        array = arrays.get(name)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.size != items:
            told = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else "not there"
            raise InputError(f"{name!r} in {path} must be {items} whole numbers, but is {told}.")
        labels = array.reshape(-1).astype(np.int64)
        wrong = (labels < 0) | (labels >= len(cifar.CLASSES))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{name!r} in {path} must be 0 to 9, but image {row} has {labels[row]}.")
        found[name] = labels
    return found


def _read_npz(path: Path) -> dict[str, Any]:
    existing_file(path, "file of votes")
    try:
        with zipfile.ZipFile(path) as arrays:
            names = [name for name in (_CLEAN, *_VOTES) if f"{name}.npy" in arrays.namelist()]
            return {name: _member(arrays, name) for name in names}
    except Exception as why:  # damage can strike the zip file, the compression or the array, each with its own errors
        raise InputError(f"{path} is damaged or no .npz file ({why}). Remove it and get it again.") from None


def _member(arrays: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with arrays.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _refuse_another_order(
    clean: NDArray[np.int64], labels: NDArray[np.int64], human: Path, batches: list[Path]
) -> None:
    wrong = clean != labels
    if wrong.any():
        number, row = divmod(int(wrong.argmax()), cifar.ITEMS)
        raise InputError(
            f"{human} and {batches[number]} are not in one order: image {row} of that batch has the label "
            f"{labels[wrong][0]} there and {clean[wrong][0]} here ({wrong.sum()} of {len(labels)} images differ). "
            "Remove the one that is not as published, and run: dissensus data get cifar10n"
        )
