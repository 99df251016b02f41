"""The items on which humans disagree most, and what every method makes of them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import require
from dissensus.base.words import shown
from dissensus.datasets import Dataset, Texts
from dissensus.evaluation import human_shares
from dissensus.metrics import entropy
from dissensus.report.comparison import Comparison, Panel
from dissensus.report.views import best_probs, finite

MOST_CLASSES = 10
PICTURE_SIDE = 256  # pixels, twice those on the page, for sharp screens


@dataclass(frozen=True)
class Item:
    """One item of the gallery."""

    id: str
    votes: int
    entropy: float
    classes: tuple[str, ...]  # those that are shown, from the most voted on, or as ordered; "other" for the rest
    bars: Mapping[str, NDArray[np.float64]]  # humans, truth where it is known, then methods: a share a shown class
    picture: bytes | None  # PNG
    texts: tuple[str, ...] = ()  # one, or the two of a pair


def gallery(comparison: Comparison, data: Dataset | None = None, size: int = 8) -> list[Item]:
    """The ``size`` most disputed evaluation items of the first seed, in the panel with most votes."""
    panel = comparison.panels[-1]
    first = panel.runs[panel.methods[0]][0]
    human = human_shares(first)
    votes = first.predictions["counts"].sum(1)
    spread = entropy(human)
    ids = [str(name) for name in first.predictions["ids"]]
    order = np.lexsort((np.arange(len(votes)), -votes, -spread.round(9)))[:size]
    sources = _sources(panel, human)
    names, ordered = _class_names(comparison, human.shape[1]), comparison.setting.get("data.ordered") is True
    pictures, texts = _pictures(data, [ids[i] for i in order]), _texts(data, [ids[i] for i in order])
    items = []
    for i, picture, said in zip(order, pictures, texts, strict=True):
        classes, bars = _shown(names, {name: rows[i] for name, rows in sources.items()}, ordered)
        items.append(Item(ids[i], int(votes[i]), float(spread[i]), classes, bars, picture, said))
    return items


def _sources(panel: Panel, human: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    first = panel.runs[panel.methods[0]][0]
    sources = {"humans": human}
    if "truth" in first.predictions:
        sources["truth"] = np.asarray(first.predictions["truth"], np.float64)
    return sources | {method: best_probs(runs[0]) for method, runs in panel.runs.items() if finite(runs[:1])}


def _class_names(comparison: Comparison, number: int) -> list[str]:
    classes = comparison.setting.get("data.classes")
    if isinstance(classes, Sequence) and not isinstance(classes, str) and len(classes) == number:
        return [shown(name) for name in classes]
    return [str(i) for i in range(number)]


def _shown(
    names: Sequence[str], rows: Mapping[str, NDArray[np.float64]], ordered: bool = False, most: int = MOST_CLASSES
) -> tuple[tuple[str, ...], dict[str, NDArray[np.float64]]]:
    """The classes that matter for one item, at most ``most``; the rest as "other".

    They stand in their own order if they have one, else in that of the human shares.

    >>> classes, bars = _shown(["a", "b", "c"], {"humans": np.array([0.0, 0.4, 0.6])}, most=2)
    >>> classes, bars["humans"].tolist()
    (('c', 'b'), [0.6, 0.4])
    >>> _shown(["a", "b", "c"], {"humans": np.array([0.0, 0.4, 0.6])}, ordered=True)[0]
    ('b', 'c')
    """
    weight = np.max(list(rows.values()), axis=0)
    human = rows["humans"]
    order = [int(k) for k in np.lexsort((np.arange(len(names)), -weight, -human)) if weight[k] >= 0.02]
    shown = order[:most]
    rest = [k for k in range(len(names)) if k not in shown]
    other = bool(rest) and max(float(row[rest].sum()) for row in rows.values()) >= 0.02
    if other and len(shown) == most:
        shown, rest = shown[:-1], [*rest, shown[-1]]
    if ordered:
        shown.sort()
    classes = tuple(_clip(names[k]) for k in shown) + (("other",) if other else ())
    return classes, {
        name: np.append(row[shown], row[rest].sum()) if other else row[shown] for name, row in rows.items()
    }


def _clip(name: str, most: int = 18) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _pictures(data: Dataset | None, ids: Sequence[str]) -> list[bytes | None]:
    if data is None or not data.images:
        return [None for _ in ids]
    position = {str(name): i for i, name in enumerate(data.votes.items)}
    return [png(data.array[position[name]]) if name in position else None for name in ids]


def _texts(data: Dataset | None, ids: Sequence[str]) -> list[tuple[str, ...]]:
    if data is None or not isinstance(data.inputs, Texts):
        return [() for _ in ids]
    position = {str(name): i for i, name in enumerate(data.votes.items)}
    sides = [side for side in (data.inputs.first, data.inputs.second) if side is not None]
    return [tuple(_clip(side[position[name]], 400) for side in sides) if name in position else () for name in ids]


def png(picture: NDArray[np.uint8], side: int = PICTURE_SIDE) -> bytes:
    """A (channels, height, width) picture as PNG of about ``side`` pixels.

    A small one is enlarged by whole steps, without smoothing, so that what was seen is seen; a large one is reduced.

    >>> png(np.zeros((1, 8, 8), np.uint8))[1:4]
    b'PNG'
    """
    image = require("PIL.Image", extra="report")
    step = max(1, side // max(picture.shape[1:]))
    enlarged = picture.repeat(step, 1).repeat(step, 2)
    pixels = enlarged[0] if len(enlarged) == 1 else np.moveaxis(enlarged[:3], 0, 2)
    out = io.BytesIO()
    drawn = image.fromarray(np.ascontiguousarray(pixels))
    drawn.thumbnail((side, side))  # reduces, with smoothing, and never enlarges
    drawn.save(out, "PNG", optimize=True)
    return out.getvalue()
