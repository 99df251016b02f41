"""Named data sets, and one's own: inputs with the votes on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.glyphs import load_glyphs
from dissensus.datasets.own import own_data

__all__ = ["DATASETS", "Dataset", "load", "own_data"]

DATASETS: dict[str, Callable[..., Dataset]] = {"glyphs": load_glyphs}


def load(name: str, **options: Any) -> Dataset:
    """The data set of that name; options are those of its loader.

    >>> load("glyphs", items=40, seed=1)
    Dataset('glyphs', 40 items, images (3, 20, 20), 10 classes, ... votes)
    >>> load("glyph")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: unknown data set 'glyph'; did you mean 'glyphs'? Choose one of: glyphs
    """
    if name not in DATASETS:
        raise InputError(unknown("data set", name, DATASETS))
    known = inspect.signature(DATASETS[name]).parameters
    for option in options:
        if option not in known:
            raise InputError(unknown(f"option of {name}", option, known))
    return DATASETS[name](**options)
