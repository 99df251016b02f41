from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise, checked, must_match, placed, prepare_by, sent
from dissensus.training.recipe import Recipe

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("resident", [True, False])
def test_images_of_bytes_stay_bytes_and_become_channels_last_or_not(resident: bool) -> None:
    images = RNG.integers(0, 256, (4, 3, 5, 6), np.uint8)
    for last in (True, False):
        found = placed(checked("inputs", images), CPU, Engine(resident=resident, channels_last=last))
        assert found.dtype == torch.uint8
        assert found.is_contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
        np.testing.assert_array_equal(found.numpy(), images)


def test_what_is_there_already_is_not_copied() -> None:
    x = torch.zeros(2, 3)
    assert sent(x, CPU) is x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_features_become_float32(dtype: type) -> None:
    found = checked("inputs", np.arange(6).reshape(2, 3).astype(dtype))
    assert found.dtype == torch.float32


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((3, 4, 5), np.float32), r"but the shape is \(3, 4, 5\)"),
        (np.zeros((0, 5), np.float32), r"hold nothing: the shape is \(0, 5\)"),
        (np.zeros((2, 1, 4, 4), np.int64), "images of int64, which says nothing of their scale. Pass uint8"),
        (np.array([["a", "b"]]), "must be an array of numbers"),
        (np.zeros((2, 2), complex), "must be real numbers"),
        (np.array([[0.0, 1.0], [np.nan, 1.0]]), "must be finite, but item 1 is not"),
        (np.array([[[7, 8], [0, 0]], [[-1, -1], [-1, -1]]]), "inputs hold no tokens for text 1.* Leave it out"),
        (
            np.array([[[7, -1, 8], [0, -1, 0]]]),
            r"but text 0 has tokens after an empty place \(-1\). Pad at the end only",
        ),
        (np.array([[[7, 8], [0, 0]], [[-1, 8], [-1, 0]]]), "end once, but text 1 has tokens after an empty place"),
    ],
)
def test_what_cannot_train_is_refused(inputs: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked("inputs", inputs)


def test_held_out_items_must_be_like_the_training_items() -> None:
    training = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    with pytest.raises(InputError, match=r"held_out must have items of the shape \(3, 8, 8\).*shape \(1, 8, 8\)"):
        must_match("held_out", training[:, :1], training)
    with pytest.raises(InputError, match="training inputs are uint8 but those of held_out are float32"):
        must_match("held_out", training.float(), training)


@pytest.mark.parametrize("kind", ["bytes", "floats", "features"])
def test_training_inputs_come_out_centred_with_unit_spread(kind: str) -> None:
    if kind == "bytes":
        x = torch.from_numpy(RNG.integers(10, 90, (50, 3, 6, 7), np.uint8))
    elif kind == "floats":
        x = torch.from_numpy(RNG.normal(3, 2, (50, 3, 6, 7)).astype(np.float32))
    else:
        x = torch.from_numpy(RNG.normal(3, 2, (50, 4)).astype(np.float32))
    out = Normalise.by(Recipe(), x)(x).double()
    axes = [0, *range(2, x.ndim)]
    torch.testing.assert_close(out.mean(axes), torch.zeros(x.shape[1]).double(), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std(axes, correction=0), torch.ones(x.shape[1]).double(), atol=1e-5, rtol=0)


def test_the_recipe_s_numbers_are_for_images_from_0_to_1() -> None:
    x = torch.from_numpy(RNG.integers(0, 256, (5, 2, 3, 3), np.uint8))
    recipe = Recipe(mean=(0.4, 0.5), std=(0.2, 0.3))
    expected = (x.numpy() / 255 - np.reshape([0.4, 0.5], (1, 2, 1, 1))) / np.reshape([0.2, 0.3], (1, 2, 1, 1))
    np.testing.assert_allclose(Normalise.by(recipe, x)(x).numpy(), expected, atol=1e-5)


def test_inputs_are_not_changed_and_the_layout_is_kept() -> None:
    x = torch.rand(4, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    before = x.clone()
    out = Normalise.by(Recipe(), x)(x)
    assert torch.equal(x, before)
    assert out.is_contiguous(memory_format=torch.channels_last)


def test_numbers_of_another_length_are_refused() -> None:
    with pytest.raises(InputError, match="have 3 numbers, but the inputs have 1 channels"):
        Normalise.by(Recipe(mean=(0, 0, 0), std=(1, 1, 1)), torch.zeros(2, 1, 8, 8, dtype=torch.uint8))


def test_tokens_stay_whole_numbers_and_are_not_normalised() -> None:
    tokens = checked("inputs", np.array([[[7, 3, -1], [0, 1, -1]]]))
    assert tokens.dtype == torch.int32
    assert torch.equal(prepare_by(Recipe(), tokens)(tokens), tokens)
    must_match("held_out", tokens[:, :, :2], tokens)


def test_tokens_are_not_mixed() -> None:
    with pytest.raises(InputError, match="mixup mixes images or features, but the inputs are tokens"):
        prepare_by(Recipe(mixup=1.0), torch.zeros(1, 2, 3, dtype=torch.int32))


def test_tokens_are_not_scaled() -> None:
    with pytest.raises(InputError, match="mean and std scale images or features, but the inputs are tokens"):
        prepare_by(Recipe(mean=[0.0], std=[1.0]), torch.zeros(1, 2, 3, dtype=torch.int32))


def test_tokens_and_features_do_not_go_together() -> None:
    with pytest.raises(InputError, match=r"held_out must have items of the shape \(4,\)"):
        must_match("held_out", torch.zeros(1, 2, 3, dtype=torch.int32), torch.zeros(1, 4))
