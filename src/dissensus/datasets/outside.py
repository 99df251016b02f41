"""Sets of images that nobody voted on, laid into the data folder: ``ood/<name>.npz`` with one array, ``images``."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.datasets.folder import data_folder

FOLDER = "ood"


def outside_sets() -> dict[str, Path]:
    """Those that are there, by name."""
    return {path.stem: path for path in sorted((data_folder() / FOLDER).glob("*.npz"))}


def read_outside(path: Path) -> NDArray[np.uint8]:
    """Images (items, height, width, channels) of a file, channels first."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if "images" not in arrays:
                raise InputError(f"{path} must hold an array 'images', but holds {', '.join(arrays) or 'nothing'}.")
            images = arrays["images"]
    except InputError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is damaged or no .npz file ({error}). Remove it and get it again.") from None
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3 or not len(images):
        raise InputError(
            f"'images' in {path} must be uint8 (items, height, width, 3), but is {images.dtype} {images.shape}."
        )
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))
