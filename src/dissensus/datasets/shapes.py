r"""Ten drawn shapes as signed distance fields: how far a point lies outside (+) or inside (-) of the shape.

A distance field is drawn at any size with clean edges, and two of them can be mixed: the zero line of
:math:`(1 - w)\,d_a + w\,d_b` is a shape between ``a`` and ``b``.

Coordinates: x to the right, y upwards, a shape fills about -1 to 1. Only ``+ - * / sqrt`` and comparisons are used,
which IEEE 754 rounds alike on every machine, so that what is drawn from them is the same to the byte.

>>> float(SHAPES["circle"](np.array(0.0), np.array(1.85)))
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Field: TypeAlias = NDArray[np.float64]
Point: TypeAlias = tuple[float, float]


def circle(x: Field, y: Field) -> Field:
    return _disc(x, y, 0.0, 0.0, 0.85)


def ring(x: Field, y: Field) -> Field:
    return np.abs(_disc(x, y, 0.0, 0.0, 0.69)) - 0.21


def square(x: Field, y: Field) -> Field:
    return _box(x, y, 0.76, 0.76)


def triangle(x: Field, y: Field) -> Field:
    return _polygon(x, y, [(0.0, 0.95), (-0.95, -0.7), (0.95, -0.7)])


def star(x: Field, y: Field) -> Field:
    # a pentagram's ten corners: outer radius 1.05, inner radius 0.45
    right = [(0.2645, 0.3641), (0.9986, 0.3245), (0.428, -0.1391), (0.6172, -0.8495), (0.0, -0.45)]
    left = [(-a, b) for a, b in right[-2::-1]]
    return _polygon(x, y, [(0.0, 1.05), *right, *left])


def cross(x: Field, y: Field) -> Field:
    return np.minimum(_box(x, y, 0.92, 0.28), _box(x, y, 0.28, 0.92))


def moon(x: Field, y: Field) -> Field:
    return np.maximum(_disc(x, y, -0.1, 0.0, 0.95), -_disc(x, y, 0.42, 0.12, 0.78))


def heart(x: Field, y: Field) -> Field:
    # a square that stands on its corner, and a half disc on each of its two upper sides
    lobes = _disc(np.abs(x), y, 0.42, 0.31, 0.594)
    return np.minimum(lobes, _polygon(x, y, [(0.0, 0.73), (-0.84, -0.11), (0.0, -0.95), (0.84, -0.11)]))


def arrow(x: Field, y: Field) -> Field:
    upper = [(1.0, 0.0), (0.15, 0.85), (0.15, 0.29), (-0.95, 0.29)]
    return _polygon(x, y, upper + [(a, -b) for a, b in upper[:0:-1]])


def wave(x: Field, y: Field) -> Field:
    return np.minimum(_arch(x + 0.47, y, 0.47), _arch(x - 0.47, -y, 0.47)) - 0.2


SHAPES: dict[str, Callable[[Field, Field], Field]] = {
    shape.__name__: shape for shape in (circle, ring, square, triangle, star, cross, moon, heart, arrow, wave)
}


def _disc(x: Field, y: Field, cx: float, cy: float, radius: float) -> Field:
    return _length(x - cx, y - cy) - radius


def _box(x: Field, y: Field, width: float, height: float) -> Field:
    over_x, over_y = np.abs(x) - width, np.abs(y) - height
    outside = _length(np.maximum(over_x, 0.0), np.maximum(over_y, 0.0))
    return outside + np.minimum(np.maximum(over_x, over_y), 0.0)


def _arch(x: Field, y: Field, radius: float) -> Field:
    """The distance to the upper half of a circle: to the line above, to the nearer end below."""
    return np.where(y > 0, np.abs(_length(x, y) - radius), _length(np.abs(x) - radius, y))


def _polygon(x: Field, y: Field, corners: list[Point]) -> Field:
    """The distance to the nearest side, negative where a ray to the right crosses an odd number of them."""
    nearest = np.full_like(x, np.inf)
    inside = np.zeros(x.shape, bool)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        side_x, side_y = bx - ax, by - ay
        from_x, from_y = x - ax, y - ay
        along = (from_x * side_x + from_y * side_y) / (side_x * side_x + side_y * side_y)
        along = np.minimum(np.maximum(along, 0.0), 1.0)
        gap_x, gap_y = from_x - along * side_x, from_y - along * side_y
        nearest = np.minimum(nearest, gap_x * gap_x + gap_y * gap_y)
        if side_y != 0:  # a level side is never crossed by a level ray
            inside ^= ((y >= ay) != (y >= by)) & (from_x < from_y * (side_x / side_y))
    return np.where(inside, -np.sqrt(nearest), np.sqrt(nearest))


def _length(x: Field, y: Field) -> Field:
    return np.sqrt(x * x + y * y)
