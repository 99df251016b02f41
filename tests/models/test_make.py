from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.models import MLP, MODELS, SmallCNN, make

SHAPES = {"small-cnn": (3, 20, 20), "mlp": (7,), "resnet18": (3, 16, 16)}


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_model_gives_logits_through_its_features_and_head(name: str) -> None:
    model = make(name, SHAPES[name], 4)().eval()
    x = torch.randn(5, *SHAPES[name])
    features = model.features(x)
    assert features.ndim == 2
    assert model(x).shape == (5, 4)
    torch.testing.assert_close(model(x), features @ model.head.weight.T + model.head.bias)


def test_every_model_has_a_version(name: str) -> None:
    assert isinstance(MODELS[name].version, int)
    assert MODELS[name].version >= 1


def test_every_call_of_the_factory_gives_a_fresh_model(name: str) -> None:
    factory = make(name, SHAPES[name], 4)
    assert not torch.equal(factory().head.weight, factory().head.weight)


def test_a_factory_can_be_sent_to_another_process(name: str) -> None:
    factory = ForkingPickler.loads(ForkingPickler.dumps(make(name, SHAPES[name], 4)))
    assert isinstance(factory(), MODELS[name])


def test_making_a_factory_draws_no_random_numbers(name: str) -> None:
    before = torch.get_rng_state()
    make(name, SHAPES[name], 4)
    assert torch.equal(torch.get_rng_state(), before)


def test_options_reach_the_model() -> None:
    assert make("small-cnn", (1, 16, 16), 2, width=5)().head.in_features == 20
    assert len(make("mlp", (3,), 2, width=5, layers=3)().trunk) == 6


def test_an_mlp_takes_images_as_rows_of_pixels() -> None:
    model = make("mlp", (3, 4, 5), 2)()
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(model(x), make_same(model, 60)(x.reshape(2, 60)))


def make_same(model: torch.nn.Module, features: int) -> torch.nn.Module:
    other = MLP((features,), 2)
    other.load_state_dict(model.state_dict())
    return other


def test_shapes_may_come_from_numpy_or_torch() -> None:
    assert isinstance(make("small-cnn", torch.zeros(2, 3, 20, 20).shape[1:], 10)(), SmallCNN)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("smal-cnn", (3, 20, 20), 10), {}, "unknown model 'smal-cnn'; did you mean 'small-cnn'"),
        (("small-cnn", (7,), 10), {}, r"small-cnn needs images .* has the shape \(7,\). For features use mlp"),
        (("small-cnn", (3, 6, 20), 10), {}, "at least 8 pixels a side, but these have 6 x 20"),
        (("small-cnn", (100, 3, 20, 20), 10), {}, r"but it is \(100, 3, 20, 20\). Pass inputs.shape\[1:\]"),
        (("mlp", (100, 7), 10), {}, r"Pass inputs.shape\[1:\]"),
        (("mlp", (0,), 10), {}, "no side of 0"),
        (("mlp", (7,), 1), {}, "n_classes must be a whole number of at least 2, but is 1"),
        (("mlp", (7,), 10), {"width": 0}, "width must be a whole number of at least 1, but is 0"),
        (("mlp", (7,), 10), {"layers": 1.5}, "layers must be a whole number of at least 1, but is 1.5"),
        (("mlp", (7,), 10), {"bias": 3}, "unknown option of mlp 'bias'. Choose one of: width, layers"),
    ],
)
def test_mistakes_are_told_when_the_factory_is_made(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(*arguments, **options)
