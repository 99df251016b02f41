"""How alike the Grad-CAM maps of two models are, by many readings of "stability"; for readings.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from readings_look import CLASSES, Choices

from dissensus.diagnostics.cam_stability import FLAT
from dissensus.metrics import most_disputed

Maps = NDArray[np.float64]  # (items, places)
Alike = Callable[[Maps, Maps], NDArray[np.float64]]  # one number an item, NaN where there is none


def cosine(a: Maps, b: Maps) -> NDArray[np.float64]:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.divide((a * b).sum(1), lengths, out=np.full(len(a), np.nan), where=lengths > 0)


def pearson(a: Maps, b: Maps) -> NDArray[np.float64]:
    """As :func:`dissensus.diagnostics.cam_stability` has it: of maps that are nowhere constant."""
    found = cosine(a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True))
    return np.where(_flat(a) | _flat(b), np.nan, found)


def cosine_from_0_to_1(a: Maps, b: Maps) -> NDArray[np.float64]:
    return cosine(_from_0_to_1(a), _from_0_to_1(b))


def ssim(a: Maps, b: Maps) -> NDArray[np.float64]:
    """Structural similarity (Wang et al., 2004) of maps from 0 to 1, with one window that holds all of the map."""
    x, y = _from_0_to_1(a), _from_0_to_1(b)
    mean_x, mean_y = x.mean(1), y.mean(1)
    together = ((x - mean_x[:, None]) * (y - mean_y[:, None])).mean(1)
    light = (2 * mean_x * mean_y + 0.01**2) / (mean_x**2 + mean_y**2 + 0.01**2)
    return light * (2 * together + 0.03**2) / (x.var(1) + y.var(1) + 0.03**2)


MEASURES: dict[str, Alike] = {
    "Pearson": pearson,
    "cosine": cosine,
    "cosine from 0 to 1": cosine_from_0_to_1,
    "SSIM": ssim,
}


def stabilities(
    one: Mapping[str, NDArray[Any]],
    other: Mapping[str, NDArray[Any]],
    human: NDArray[np.float64],
    unseen: NDArray[np.bool_],
    side: int,
) -> Iterator[tuple[Choices, float, float]]:
    """Choices, the mean over all items and that over the tenth with most disagreement.

    Maps are by layer, (classes, items, height, width), and not yet cut off at 0. ``unseen`` are the items that neither
    model was trained on; the others one of them was. ``side`` is that of an image, in pixels.
    """
    items = {"unseen by both": np.flatnonzero(unseen), "unseen by one": np.arange(len(human))}
    for layer, (place, label), relu, size in product(
        one, enumerate(CLASSES), ("yes", "no"), ("of the layer", "of the image")
    ):
        a, b = (
            _shaped(maps[layer][place], relu == "yes", side if size == "of the image" else 0) for maps in (one, other)
        )
        for measure, alike in MEASURES.items():
            each = alike(a, b)
            for word, index in items.items():
                choices = {
                    "class": label,
                    "layer": layer,
                    "measure": measure,
                    "relu": relu,
                    "size": size,
                    "items": word,
                }
                disputed = index[most_disputed(human[index])]
                yield choices, _mean(each[index]), _mean(each[disputed])


def _shaped(maps: NDArray[Any], relu: bool, side: int) -> Maps:
    """As rows of places; cut off and made larger as it is asked for, in this order."""
    found = torch.from_numpy(maps.astype(np.float32))
    if relu:
        found = found.relu()
    if side:
        found = torch.nn.functional.interpolate(found[:, None], (side, side), mode="bilinear", align_corners=False)
    return found.flatten(1).numpy().astype(np.float64)


def _flat(maps: Maps) -> NDArray[np.bool_]:
    return np.ptp(maps, 1) <= FLAT * np.abs(maps).max(1)


def _from_0_to_1(maps: Maps) -> Maps:
    """Constant maps become 0 everywhere."""
    low, span = maps.min(1, keepdims=True), np.ptp(maps, 1, keepdims=True)
    return (maps - low) / np.where(span > 0, span, 1)


def _mean(values: NDArray[np.float64]) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")
