from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dissensus.datasets.painting import SIZE, Scene, paint
from dissensus.datasets.shapes import SHAPES


def scene(items=40, first=4, second=2, weight=0.0, haze=0.0):
    return Scene(
        np.arange(items),
        *(np.full(items, value) for value in (first, second)),
        np.full(items, weight),
        np.full(items, haze),
    )


def test_images_are_bytes_with_channels_first():
    images = paint(scene(), seed=0)
    assert (images.dtype, images.shape) == (np.uint8, (40, 3, SIZE, SIZE))
    assert len(np.unique(images.reshape(40, -1), axis=0)) == 40  # no two alike


def test_an_item_is_painted_alike_in_any_company():
    whole = paint(scene(600), seed=3)  # more than one block
    np.testing.assert_array_equal(paint(scene(600).block(slice(250, 260)), seed=3), whole[250:260])
    assert (paint(scene(600).block(slice(250, 260)), seed=4) != whole[250:260]).any()


def test_a_blend_is_the_same_from_either_side():
    np.testing.assert_array_equal(
        paint(scene(first=4, second=2, weight=0.25), seed=0), paint(scene(first=2, second=4, weight=0.75), seed=0)
    )


def test_a_blend_at_weight_0_is_the_first_shape():
    np.testing.assert_array_equal(paint(scene(second=2), seed=0), paint(scene(second=9), seed=0))


@pytest.mark.parametrize("second", range(1, len(SHAPES)))
def test_a_blend_moves_away_from_the_first_shape_as_its_weight_grows(second):
    steps = [paint(scene(first=0, second=second, weight=w), seed=0).astype(float) for w in (0.0, 0.2, 0.5, 0.8)]
    away = [np.abs(step - steps[0]).mean() for step in steps]
    assert away == sorted(away)
    assert away[-1] > 2


def test_glyphs_stand_out_and_haze_hides_them():
    def contrast(haze):
        images = paint(scene(200, first=0, haze=haze), seed=0).astype(float)
        inner, outer = images[:, :, 8:12, 8:12].mean((2, 3)), images[:, :, [0, 0, -1, -1], [0, -1, 0, -1]].mean(2)
        return np.abs(inner - outer).max(1)

    assert contrast(0.0).min() > 60  # of 255, in at least one colour
    assert contrast(1.0).mean() < 0.6 * contrast(0.0).mean()


def test_grain_has_the_strength_it_is_given():
    clear = scene(300)
    hazy = replace(clear, haze=np.ones(300))

    def roughness(images):  # half the squared step between neighbours in the corner, where nothing but paper is
        corner = images[:, :, :2, :2].astype(float)
        return np.sqrt((np.diff(corner, axis=3) ** 2).mean() / 2) / 255

    assert roughness(paint(clear, seed=0)) == pytest.approx(0.02, abs=0.006)
    assert 0.08 < roughness(paint(hazy, seed=0)) < 0.125
