"""CIFAR-10H (Peterson et al., ICCV 2019): about fifty votes on each of CIFAR-10's 10,000 test images."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.datasets import cifar
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.folder import data_files
from dissensus.votes import Votes

COUNTS = "cifar-10h/cifar10h-counts.npy"
CONTENT = "e3a314fdecb1f8aeb680f50fde8682d83065d5191d8fc76f0bdc86333bd7fefe"  # SHA-256 of the counts as 64-bit numbers
AGREEMENT = 0.95  # .992 as published, .1 if one of the two files is in another order


def load_cifar10h() -> Dataset:
    """Images, votes (counts: annotators are not known) and CIFAR-10's own labels, in CIFAR-10's order."""
    batch_path, counts_path = data_files("cifar10h", cifar.TEST, COUNTS)
    batch, counts = cifar.read_batch(batch_path), read_counts(counts_path)
    chosen = counts[np.arange(len(counts)), batch.labels] == counts.max(1)
    if chosen.mean() < AGREEMENT:
        raise InputError(
            f"the most frequent vote in {counts_path} is the label in {batch_path} for {chosen.mean():.1%} of the "
            "images, but for 99.2% in the published files: one of the two is in another order or belongs to another "
            "set. Remove the one that is not as published, and run: dissensus data get cifar10h"
        )
    ids = [f"cifar10-test-{number:05d}" for number in range(len(counts))]
    votes = Votes.from_counts(counts, classes=cifar.CLASSES, items=ids)
    return Dataset("cifar10h", batch.images, votes, batch.labels)


def read_counts(path: Path) -> NDArray[np.int64]:
    """Votes per class, (items, 10)."""
    existing_file(path, "file of vote counts")
    try:
        with path.open("rb") as file:
            counts = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as why:  # a damaged head can look huge, or make NumPy's reader fail in any way
        raise InputError(f"{path} is damaged or no .npy file ({why}). Remove it and get it again.") from None
    shape = (cifar.ITEMS, len(cifar.CLASSES))
    if counts.shape != shape or counts.dtype.kind not in "iu":
        hint = " Shares are not enough: cifar10h-counts.npy is needed." if counts.dtype.kind == "f" else ""
        raise InputError(f"{path} must hold whole numbers {shape}, but holds {counts.dtype} {counts.shape}.{hint}")
    bad = (counts < 0).any(1) | (counts.sum(1) == 0)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{path} must hold votes on every image, but row {row} is {counts[row].tolist()}.")
    counts = np.ascontiguousarray(counts, "<i8")
    if CONTENT and hashlib.sha256(counts.data).hexdigest() != CONTENT:
        raise InputError(
            f"{path} is damaged: its votes are not those that were published. Remove it and get it again. (Other votes "
            "on these images are data of your own: give a votes file and the images.)"
        )
    return counts.astype(np.int64, copy=False)
