"""A folder of images: one file an item, known by its path or name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, require

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
_GREY = ("1", "L")
_PLAIN = (*_GREY, "P", "RGB", "RGBA", "LA")  # eight bits a channel; others would be clipped on the way to RGB


def image_files(folder: Path) -> dict[str, Path]:
    """The images in a folder and in those inside of it, by their paths from there, in order; hidden ones are none."""
    files: list[Path] = []
    for place, inside, names in os.walk(folder, followlinks=True):
        inside[:] = [name for name in inside if not (name.startswith(".") or _leads_back(Path(place, name)))]
        files += [Path(place, name) for name in names if not name.startswith(".")]
    images = sorted(file for file in files if file.suffix.lower() in ENDINGS)
    if not images:
        raise InputError(f"{folder} holds no images ({', '.join(ENDINGS)}), and neither do the folders inside of it.")
    return {file.relative_to(folder).as_posix(): file for file in images}


def ids_like(paths: Collection[str], folder: Path, wanted: Collection[str]) -> list[str]:
    """The ids of images by their ``paths``, in the one way of writing them in which most that are ``wanted`` are found.

    >>> ids_like(["cats/a.png", "cats/b.png", "eels/a.png"], Path("images"), ["images/cats/a", "images/eels/a"])
    ['images/cats/a', 'images/cats/b', 'images/eels/a']
    """
    wanted = set(wanted)
    if any("\\" in name for name in wanted) and not any("/" in name for name in wanted):  # as Windows writes paths
        ids = ids_like(paths, folder, {name.replace("\\", "/") for name in wanted})
        return [name.replace("/", "\\") for name in ids]
    best, most = list(paths), (0, 0)
    for ids in _ways(paths, folder, wanted):
        times = Counter(ids)
        found = [times[name] for name in wanted if name in times]
        if (found.count(1), len(found)) > most:
            best, most = ids, (found.count(1), len(found))
        if found.count(1) == len(wanted):
            break
    return best


def without_endings(paths: Iterable[str]) -> list[str]:
    """
    >>> without_endings(["a.png", "cats/b.1.jpg"])
    ['a', 'cats/b.1']
    """
    return [path.rpartition(".")[0] for path in paths]


def first_shared(ids: Sequence[str], paths: Iterable[str], among: Container[str]) -> tuple[str, list[str]] | None:
    """The first of these ids that two paths have, and both; None if there is none."""
    of: dict[str, str] = {}
    for name, path in zip(ids, paths, strict=True):
        if of.setdefault(name, path) != path and name in among:
            return name, [of[name], path]
    return None


def _leads_back(folder: Path) -> bool:
    """Whether this is a link to a folder that it lies in."""
    return folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())


def _ways(paths: Collection[str], folder: Path, wanted: Collection[str]) -> Iterator[list[str]]:
    """Paths from the folder, names alone, paths from further up that lead through it, and addresses elsewhere.

    Each with endings first. Paths come before names: with an image a.png and another in a folder inside, a.png is the
    first of them.
    """
    names = [path.rpartition("/")[2] for path in paths]
    above = folder.absolute().as_posix().split("/")
    places = ["/".join(above[start:]) + "/" for start in reversed(range(len(above)))]
    longer = ([place + path for path in paths] for place in [*places, *_addresses(wanted)])
    for ids in chain([list(paths), names], longer):
        yield ids
        yield without_endings(ids)


def _addresses(wanted: Collection[str]) -> list[str]:
    """What all ids begin with, if they are addresses or whole paths, up to each of its slashes.

    A copy of that place is the folder.

    >>> _addresses(["s3://mine/cats/a.png", "s3://mine/cats/b.png"])
    ['s3://mine/cats/', 's3://mine/', 's3://', 's3:/']
    >>> _addresses(["cats/a.png", "cats/b.png"])  # which may be a folder beside the one that was given
    []
    """
    shared = os.path.commonprefix(list(wanted))  # noqa: RUF071 (it is cut at slashes)
    if "://" not in shared and not shared.startswith("/") and shared[1:3] != ":/":
        return []
    return [shared[: place + 1] for place in reversed(range(len(shared))) if shared[place] == "/"]


def read_images(files: Sequence[Path], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The images as (items, channels, height, width), turned upright; one channel if all are grey, else three.

    All must have the height and width of the first, or are brought to ``size`` = (height, width).
    """
    if size is not None and not (len(size) == 2 and all(isinstance(side, int) and side > 0 for side in size)):
        raise InputError(f"size must be (height, width) in pixels, but is {size!r}.")
    images: list[NDArray[np.uint8]] = []
    for file in files:
        images.append(_pixels(file, size))
        if len(images) == 1:
            _refuse_more_than_memory(len(files), images[0])
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


def _refuse_more_than_memory(number: int, image: NDArray[np.uint8]) -> None:
    """An error in place of a process that is killed without a word: images are read one by one, then put together."""
    needed, there = 2 * number * image.nbytes, memory()
    if there is not None and needed > there:
        raise InputError(
            f"{number:,} images of {_told(image)} need {needed / 1e9:,.0f} GB of memory, and this machine has "
            f"{there / 1e9:,.0f} GB. Bring them to a smaller height and width in pixels, such as [64, 64],",
            give=["size"],
        )


def memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not tell, as Windows."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _pixels(file: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """(height, width) if grey, else (height, width, 3)."""
    pillow = require("PIL.Image", extra="train")
    ops = require("PIL.ImageOps", extra="train")
    try:
        with pillow.open(file) as opened:
            image = ops.exif_transpose(opened)  # upright, as the annotators saw it
            image.load()
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as why:
        raise InputError(f"{file} cannot be read as an image ({why}). Replace or remove it.") from None
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
