r"""Scenes of glyphs turned into pixels: shape, place, colour, paper, haze and grain.

Everything is a function of the seed and of the item's own number, so an item looks the same in a set of any size. As in
:mod:`~dissensus.datasets.shapes`, only arithmetic that is exact on every machine is used: no sine turns a glyph, no
normal deviate roughens it, and nothing is summed in an order that a library may choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import bits, uniform
from dissensus.datasets.shapes import SHAPES

SIZE = 20  # pixels; halves twice, to 10 and 5, in a small convolutional net

_DEPTH = (
    0.3  # the inside of a shape counts no deeper than this in a blend, or a disc would swallow what it is mixed with
)
_BLOCK = 256  # items painted at once: 2.5 MB a plane of float64, so that the many steps stay near the cache
_MESH = 5  # corners a side of the coarse mesh that roughens the paper


@dataclass(frozen=True)
class Scene:
    """What is to be seen in every image: shape ``first``, with ``second`` mixed in by ``weight``, behind ``haze``."""

    items: NDArray[np.int64]  # (n,) the items' own numbers
    first: NDArray[np.int64]  # (n,) class
    second: NDArray[np.int64]  # (n,) class; without effect where the weight is 0
    weight: NDArray[np.float64]  # (n,) in [0, 1): the share of ``second`` in the drawn shape
    haze: NDArray[np.float64]  # (n,) in [0, 1]: blur, lost contrast and grain

    def block(self, at: slice) -> Scene:
        return Scene(self.items[at], self.first[at], self.second[at], self.weight[at], self.haze[at])


def paint(scene: Scene, seed: int) -> NDArray[np.uint8]:
    """The images of a scene, (items, 3, SIZE, SIZE).

    >>> one = Scene(*(np.array([value]) for value in (7, 4, 0, 0.0, 0.0)))
    >>> paint(one, seed=0).shape
    (1, 3, 20, 20)
    """
    images = np.empty((len(scene.items), 3, SIZE, SIZE), np.uint8)
    for low in range(0, len(images), _BLOCK):
        at = slice(low, low + _BLOCK)
        images[at] = _paint(scene.block(at), _Draws(seed, scene.items[at]))
    return images


@dataclass(frozen=True)
class _Draws:
    """Random numbers of the items, by name."""

    seed: int
    items: NDArray[np.int64]

    def between(self, low: float, high: float, *name: str | int) -> NDArray[np.float64]:
        return low + (high - low) * uniform(self.seed, "glyphs", *name, at=self.items)

    def normal(self, size: int, name: str) -> NDArray[np.float64]:
        """(items, size) nearly normal numbers of variance 1: the sum of the four 16-bit quarters of a 64-bit word."""
        words = bits(self.seed, "glyphs", name, at=self.items[:, None] * size + np.arange(size))
        quarters = words.view(np.uint16).reshape(len(self.items), size, 4).astype(np.int64)
        total = quarters[:, :, 0] + quarters[:, :, 1] + quarters[:, :, 2] + quarters[:, :, 3]
        return (total - 131070) / 37837.0  # mean 4 · 65535 / 2, standard deviation 65536 / sqrt(3)


def _paint(scene: Scene, draws: _Draws) -> NDArray[np.uint8]:
    pixel = np.arange(SIZE) - (SIZE - 1) / 2
    radius = _planes(draws.between(6.0, 7.6, "radius"))
    x = (pixel - _planes(draws.between(-1.2, 1.2, "right"))) / radius
    y = (-pixel[:, None] - _planes(draws.between(-1.2, 1.2, "up"))) / radius

    distance = radius * _blended(scene, *_turned(x, y, draws))  # in pixels
    edge = _planes(1.2 + 3.6 * scene.haze)  # one pixel and a little: clean edges without stairs
    cover = _clipped(0.5 - distance / edge) * _planes(1 - 0.55 * scene.haze)

    ink, ground = _colours(draws)
    light = 0.05 * (y + x * _planes(draws.between(-1, 1, "light")))
    back = ground[:, :, None, None] + (0.16 * _paper(draws) + light)[:, None]
    front = ink[:, :, None, None] + 0.1 * y[:, None]  # lit from above
    grain = draws.normal(3 * SIZE * SIZE, "grain").reshape(-1, 3, SIZE, SIZE)
    image = back + cover[:, None] * (front - back) + (0.02 + 0.1 * scene.haze)[:, None, None, None] * grain
    return np.floor(255 * _clipped(image) + 0.5).astype(np.uint8)


def _turned(
    x: NDArray[np.float64], y: NDArray[np.float64], draws: _Draws
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The plane turned by up to 23 degrees and stretched by up to a tenth.

    With t the tangent of half the angle, its cosine is (1 - t²) / (1 + t²) and its sine 2t / (1 + t²).
    """
    t = draws.between(-0.2, 0.2, "turn")
    cosine, sine = _planes((1 - t * t) / (1 + t * t)), _planes(2 * t / (1 + t * t))
    stretch = _planes(draws.between(0.9, 1.1, "stretch"))
    return (x * cosine + y * sine) * stretch, (y * cosine - x * sine) / stretch


def _blended(scene: Scene, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mix of the two distance fields, (items, SIZE, SIZE)."""
    distance = np.zeros(x.shape)
    for number, shape in enumerate(SHAPES.values()):
        for member, share in ((scene.first, 1 - scene.weight), (scene.second, scene.weight)):
            rows = np.flatnonzero((member == number) & (share > 0))
            distance[rows] += _planes(share[rows]) * np.maximum(shape(x[rows], y[rows]), -_DEPTH)
    return distance


def _colours(draws: _Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(items, 3) ink and ground: bright on dark for six in ten, else dark on bright, in hues far from each other."""
    night = draws.between(0, 1, "night") < 0.6
    hue = draws.between(0, 6, "hue")
    apart = hue + draws.between(1.8, 4.2, "apart")

    def either(name: str, by_night: tuple[float, float], by_day: tuple[float, float]) -> NDArray[np.float64]:
        return np.where(night, draws.between(*by_night, name), draws.between(*by_day, name))

    ink = _rgb(hue, either("ink saturation", (0.3, 0.75), (0.6, 0.95)), either("ink", (0.85, 1.0), (0.25, 0.6)))
    ground = _rgb(
        apart, either("ground saturation", (0.3, 0.7), (0.05, 0.25)), either("ground", (0.18, 0.38), (0.82, 0.97))
    )
    return ink, ground


def _rgb(hue: NDArray[np.float64], saturation: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Red, green and blue of hues in [0, 12): red at 0 and 6, green at 2 and 8, blue at 4 and 10."""
    turned = hue[:, None] + np.array([0.0, 4.0, 2.0])
    turned -= 6 * np.floor(turned / 6)
    pure = _clipped(2 - np.minimum(turned, 6 - turned))
    return value[:, None] * (1 - saturation[:, None] * (1 - pure))


def _paper(draws: _Draws) -> NDArray[np.float64]:
    """(items, SIZE, SIZE) smooth unevenness in [-.5, .5): a mesh of random heights, linear between its corners."""
    heights = np.stack([draws.between(-0.5, 0.5, "paper", corner) for corner in range(_MESH * _MESH)], 1)
    mesh = heights.reshape(-1, _MESH, _MESH)
    place = np.arange(SIZE) * ((_MESH - 1) / SIZE)
    corner = place.astype(np.int64)
    past = place - corner
    rows = mesh[:, corner] * (1 - past)[:, None] + mesh[:, corner + 1] * past[:, None]
    return rows[:, :, corner] * (1 - past) + rows[:, :, corner + 1] * past


def _planes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One value an item, ready to meet (items, height, width)."""
    return values[:, None, None]


def _clipped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(np.maximum(values, 0.0), 1.0)
