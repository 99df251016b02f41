from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.path import Path as Outline

from dissensus.datasets.shapes import SHAPES, _polygon

SIDE = np.linspace(-1.6, 1.6, 161)
X, Y = np.meshgrid(SIDE, SIDE)


def test_there_are_ten():
    assert list(SHAPES) == ["circle", "ring", "square", "triangle", "star", "cross", "moon", "heart", "arrow", "wave"]


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_fills_its_frame_and_nothing_beyond(name):
    inside = SHAPES[name](X, Y) < 0
    assert 0.08 < inside.mean() < 0.4
    assert 0.75 < np.abs(X[inside]).max() < 1.15
    assert not inside[[0, -1]].any()
    assert not inside[:, [0, -1]].any()


@pytest.mark.parametrize("name", SHAPES)
def test_no_distance_grows_faster_than_the_way_walked(name):
    distance = SHAPES[name](X, Y)
    step = SIDE[1] - SIDE[0]
    for axis in (0, 1):
        assert np.abs(np.diff(distance, axis=axis)).max() <= step * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "point", "distance"),
    [
        ("circle", (0.0, 0.0), -0.85),
        ("ring", (0.0, 0.0), 0.48),
        ("square", (1.06, 1.16), 0.5),  # a corner: 3, 4, 5
        ("cross", (0.0, 1.92), 1.0),
        ("moon", (0.42, 0.12), 0.78),
        ("arrow", (2.0, 0.0), 1.0),
        ("star", (0.0, 2.05), 1.0),
        ("wave", (-0.47, 0.47), -0.2),
    ],
)
def test_known_distances(name, point, distance):
    assert SHAPES[name](np.array(point[0]), np.array(point[1])) == pytest.approx(distance)


@pytest.mark.parametrize("name", ["circle", "ring", "square", "triangle", "star", "cross", "heart"])
def test_left_mirrors_right(name):
    np.testing.assert_allclose(SHAPES[name](X, Y), SHAPES[name](-X, Y), atol=1e-12)


def test_polygons_against_another_implementation():
    corners = [(-1.0, -0.8), (0.9, -1.1), (0.2, 0.1), (1.2, 0.9), (-0.7, 0.6)]  # not convex
    ours = _polygon(X, Y, corners)
    theirs = Outline([*corners, corners[0]]).contains_points(np.column_stack([X.ravel(), Y.ravel()])).reshape(X.shape)
    clear = np.abs(ours) > 1e-9
    np.testing.assert_array_equal(ours[clear] < 0, theirs[clear])

    ends = [*corners, corners[0]]
    outline = np.concatenate([np.linspace(a, b, 2001) for a, b in pairwise(ends)])
    some = np.random.default_rng(0).choice(X.size, 200, replace=False)
    nearest = [np.hypot(*(outline - [X.flat[i], Y.flat[i]]).T).min() for i in some]
    np.testing.assert_allclose(np.abs(ours.flat[some]), nearest, atol=1e-3)
