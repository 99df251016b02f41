"""Sets of images that nobody voted on: ``ood/<name>.npz`` in the data folder, or a file or folder of the user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import UNREADABLE
from dissensus.base.errors import InputError
from dissensus.datasets.folder import data_folder
from dissensus.datasets.image_folder import image_files, read_images

FOLDER = "ood"

Size = tuple[int, int]  # height and width in pixels


def outside_sets() -> dict[str, Path]:
    """Those that are there, by name."""
    return {path.stem: path for path in sorted((data_folder() / FOLDER).glob("*.npz"))}


def is_own(name: str) -> bool:
    """Whether this is a place of images rather than the name of a set.

    >>> is_own("svhn"), is_own("holidays.npz"), is_own("photos/holidays")
    (False, True, True)
    """
    return name.endswith(".npz") or Path(name).is_dir() or Path(name).name != name


def read_own(place: str, size: Size | None = None) -> NDArray[np.uint8]:
    """An ``.npz`` with the array ``images``; or a folder of images, brought to ``size`` or to that of the first."""
    path = Path(place)
    if path.is_dir():
        files = list(image_files(path).values())
        return read_images(files, size or read_images(files[:1]).shape[2:])
    if not path.is_file():
        raise InputError(f"there is no folder and no file {place}; images are read from a folder or an .npz.")
    return read_outside(path)


def read_outside(path: Path) -> NDArray[np.uint8]:
    """Images (items, height, width, channels) of an ``.npz`` with the array ``images``; channels first."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if "images" not in arrays:
                raise InputError(f"{path} must hold an array 'images', but holds {', '.join(arrays) or 'nothing'}.")
            images = arrays["images"]
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{path} is damaged or no .npz file ({error}).") from None
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or not len(images):
        raise InputError(
            f"'images' in {path} must be uint8 (items, height, width, 1 or 3), but is {images.dtype} {images.shape}."
        )
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))
