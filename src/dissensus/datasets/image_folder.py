"""A folder of images: one file an item, known by its name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, require

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
_GREY = ("1", "L")
_PLAIN = (*_GREY, "P", "RGB", "RGBA", "LA")  # eight bits a channel; others would be clipped on the way to RGB


def image_files(folder: Path, wanted: Collection[str]) -> tuple[list[str], list[Path]]:
    """The images in a folder and their ids: file names with the ending if one of those is ``wanted``, else without."""
    files = sorted(
        file for file in folder.iterdir() if file.suffix.lower() in ENDINGS and not file.name.startswith(".")
    )
    if not files:
        raise InputError(
            f"{folder} holds no images ({', '.join(ENDINGS)}). Folders inside of it are not searched, since two of "
            "them could hold files of one name."
        )
    names = [file.name for file in files]
    return (names if not set(names).isdisjoint(wanted) else [file.stem for file in files]), files


def read_images(files: Sequence[Path], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The images as (items, channels, height, width), turned upright; one channel if all are grey, else three.

    All must have the height and width of the first, or are brought to ``size`` = (height, width).
    """
    if size is not None and not (len(size) == 2 and all(isinstance(side, int) and side > 0 for side in size)):
        raise InputError(f"size must be (height, width) in pixels, but is {size!r}.")
    images: list[NDArray[np.uint8]] = []
    for file in files:
        images.append(_pixels(file, size))
        if images[-1].shape[:2] != images[0].shape[:2]:
            raise InputError(
                f"images must be of one size, but {file} is {_told(images[-1])} and {files[0]} is {_told(images[0])}. "
                "Bring them to one height and width in pixels, in this order, such as [32, 32],",
                give=["size"],
            )
    if all(image.ndim == 2 for image in images):
        return np.stack(images)[:, None]
    coloured = (image if image.ndim == 3 else np.stack([image] * 3, axis=2) for image in images)
    return np.stack([image.transpose(2, 0, 1) for image in coloured])


def _pixels(file: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """(height, width) if grey, else (height, width, 3)."""
    pillow = require("PIL.Image", extra="train")
    ops = require("PIL.ImageOps", extra="train")
    try:
        with pillow.open(file) as opened:
            image = ops.exif_transpose(opened)  # upright, as the annotators saw it
            image.load()
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as why:
        raise InputError(f"{file} cannot be read as an image: {why}") from None
    image = _opaque(image, file)
    if size is not None:
        image = image.resize((size[1], size[0]), pillow.Resampling.BILINEAR)
    return np.asarray(image)


def _opaque(image: Any, file: Path) -> Any:
    """The image in grey ("L") or colour ("RGB"), refused where that would lose something."""
    if image.mode not in _PLAIN:
        raise InputError(
            f"{file} has the mode {image.mode!r}, but images need eight bits a channel, grey or RGB; convert it."
        )
    if image.has_transparency_data and image.convert("RGBA").getextrema()[3][0] < 255:
        raise InputError(
            f"{file} is transparent in places, and what shows there is unknown; put it on a background first."
        )
    return image.convert("L" if image.mode in (*_GREY, "LA") else "RGB")


def _told(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[0]} x {image.shape[1]}"
