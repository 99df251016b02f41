from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.text import Encoder, Frozen


def test_the_head_is_linear_or_has_hidden_layers() -> None:
    model = Frozen((5,), 3, layers=0)
    x = torch.randn(4, 5)
    torch.testing.assert_close(model(x), x @ model.head.weight.T + model.head.bias)
    assert [len(Frozen((5,), 3, **options).trunk) for options in ({}, {"layers": 2})] == [3, 6]


def test_a_plan_says_all_that_the_encoder_determines(encoder: Encoder) -> None:
    assert Frozen.spelt_out(encoder, layers=1) == {
        "encoder": encoder.digest,
        "pooling": "mean",
        "unit": False,
        "length": 64,
        "layers": 1,
    }


def test_inputs_and_factory_go_together(encoder: Encoder, pairs: Texts, cache: Path) -> None:
    options = Frozen.spelt_out(encoder, layers=1, width=7)
    del options["encoder"]
    inputs = Frozen.inputs(pairs, encoder, **options)
    model = Frozen.factory(encoder, inputs.shape[1:], 3, **options)()
    assert model(torch.from_numpy(inputs)).shape == (4, 3)
    assert model.head.in_features == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"poling": "cls"}, "unknown option of frozen 'poling'; did you mean 'pooling'?"),
        ({"pooling": "median"}, "unknown pooling 'median'"),
        ({"unit": "yes"}, "unknown unit 'yes'. Choose one of: True, False"),
        ({"length": 65}, "length is 65, but tiny-bert takes at most 64 tokens."),
        ({"layers": -1}, "layers must be a whole number of at least 0, but is -1."),
        ({"length": 2.5}, "length must be a whole number of at least 8, but is 2.5."),
    ],
)
def test_mistakes_are_told(encoder: Encoder, options: dict, message: str) -> None:
    with pytest.raises(InputError) as told:
        Frozen.spelt_out(encoder, **options)
    assert message in str(told.value)


def test_mistakes_in_the_head_are_told(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="dropout must be a number of at least 0 and below 1, but is 1"):
        Frozen.factory(encoder, (5,), 3, dropout=1)
    with pytest.raises(InputError, match="frozen needs features"):
        Frozen((3, 8, 8), 3)
