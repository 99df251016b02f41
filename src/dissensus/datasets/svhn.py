"""SVHN (Netzer et al., 2011): 32 x 32 colour images of house numbers, the test part, as the published ``.mat`` file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.datasets.folder import data_files

TEST = "svhn/test_32x32.mat"
ITEMS = 26_032


def svhn_images() -> NDArray[np.uint8]:
    """The 26,032 test images, (items, 3, 32, 32)."""
    (path,) = data_files("svhn", TEST)
    return read_svhn(path)


def read_svhn(path: Path) -> NDArray[np.uint8]:
    """The images of a file whose matrix ``X`` is (height, width, channels, items), items last as MATLAB has them."""
    from scipy.io import loadmat

    existing_file(path, ".mat file")
    try:
        images = loadmat(path, variable_names=["X"]).get("X")
    except Exception as why:  # a damaged file fails anywhere in the reader, and with any kind of error
        raise InputError(f"{path} is damaged or no .mat file ({why}). Remove it and get it again.") from None
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.shape != (32, 32, 3, ITEMS):
        told = f"{images.dtype} {images.shape}" if isinstance(images, np.ndarray) else "not there"
        raise InputError(f"'X' in {path} must be uint8 {(32, 32, 3, ITEMS)}, but is {told}.")
    return np.ascontiguousarray(images.transpose(3, 2, 0, 1))
