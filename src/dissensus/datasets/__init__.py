"""Named data sets, and one's own: inputs with the votes on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, unknown
from dissensus.datasets import chaosnli, lewidi, popquorn
from dissensus.datasets.cifar import cifar100_images
from dissensus.datasets.cifar10h import load_cifar10h
from dissensus.datasets.cifar10n import load_cifar10n
from dissensus.datasets.dataset import Dataset, Inputs, inputs_in_words
from dissensus.datasets.folder import data_folder
from dissensus.datasets.glyphs import load_glyphs
from dissensus.datasets.lewidi import experts_and_crowd
from dissensus.datasets.official import OFFICIAL, data_path, get
from dissensus.datasets.outside import is_own, outside_sets, read_outside, read_own
from dissensus.datasets.own import own_data, own_items
from dissensus.datasets.svhn import svhn_images
from dissensus.datasets.texts import Texts

__all__ = [
    "DATASETS",
    "IMAGES",
    "OFFICIAL",
    "Dataset",
    "Inputs",
    "Texts",
    "data_folder",
    "data_path",
    "experts_and_crowd",
    "get",
    "inputs_in_words",
    "load",
    "load_images",
    "own_data",
    "own_items",
]

DATASETS: dict[str, Callable[..., Dataset]] = {
    "glyphs": load_glyphs,
    "cifar10h": load_cifar10h,
    "cifar10n": load_cifar10n,
    "chaosnli-snli": chaosnli.load_snli,
    "chaosnli-mnli": chaosnli.load_mnli,
    "chaosnli-alpha": chaosnli.load_alpha,
    "popquorn-offensiveness": popquorn.load_offensiveness,
    "md-agreement": lewidi.load_md_agreement,
    "hs-brexit": lewidi.load_hs_brexit,
    "varierr": lewidi.load_varierr,
}
IMAGES: dict[str, Callable[[], NDArray[np.uint8]]] = {"cifar100": cifar100_images, "svhn": svhn_images}


def load(name: str, **options: Any) -> Dataset:
    """The data set of that name; options are those of its loader.

    >>> load("glyphs", items=40, seed=1)
    Dataset('glyphs', 40 items, images (3, 20, 20), 10 classes, ... votes)
    >>> load("glyph")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: unknown data set 'glyph'; did you mean 'glyphs'? Choose one of: glyphs, ...
    """
    if name not in DATASETS:
        raise InputError(unknown("data set", name, DATASETS))
    known = inspect.signature(DATASETS[name]).parameters
    for option in options:
        if option not in known:
            raise InputError(unknown(f"option of {name}", option, known))
    return DATASETS[name](**options)


def load_images(name: str, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Images without votes, (items, channels, height, width): what no learner here was trained on.

    An official set; or, where that is not at hand, one that lies in the data folder as ``ood/<name>.npz``; or a folder
    of images or an ``.npz`` with an array ``images`` (items, height, width, 1 or 3) anywhere. Those of a folder are
    brought to ``size`` (height, width), or to that of the first.

    >>> load_images("cifar101")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: unknown set of images 'cifar101'; did you mean 'cifar100'? Choose ...
    """
    laid = outside_sets()
    if name in laid and not (name in OFFICIAL and OFFICIAL[name].there):
        return read_outside(laid[name])
    if name in IMAGES:
        return IMAGES[name]()
    if is_own(name):
        return read_own(name, size)
    raise InputError(unknown("set of images", name, {**IMAGES, **laid}))
