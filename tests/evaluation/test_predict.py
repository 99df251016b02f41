from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.evaluation.predict import evaluating, penultimate, predict
from dissensus.models import MLP, SmallCNN


@pytest.fixture
def model() -> SmallCNN:
    model = SmallCNN((1, 16, 16), 3)
    model(torch.randn(32, 1, 16, 16))  # batch-norm statistics that are not the initial ones
    return model


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).random((11, 1, 16, 16), np.float32)


def test_logits_are_those_of_evaluation_mode_whatever_the_batches(model: SmallCNN, x: np.ndarray) -> None:
    found = predict(model.train(), x, batch_size=4)
    assert found.dtype == np.float32
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_numpy_and_torch_inputs_are_alike(model: SmallCNN, x: np.ndarray) -> None:
    np.testing.assert_array_equal(predict(model, x), predict(model, torch.from_numpy(x)))


def test_prepare_is_applied(model: SmallCNN) -> None:
    x = np.arange(2 * 256, dtype=np.uint8).reshape(2, 1, 16, 16)
    np.testing.assert_array_equal(
        predict(model, x, lambda batch: batch.float() / 255), predict(model, (x / 255).astype(np.float32))
    )


def test_features_are_what_enters_the_last_layer(model: SmallCNN, x: np.ndarray) -> None:
    features = penultimate(model, x)
    expected = features @ model.head.weight.detach().numpy().T + model.head.bias.detach().numpy()
    np.testing.assert_allclose(predict(model, x), expected, rtol=1e-5, atol=1e-6)


def test_every_module_is_in_its_own_mode_again(model: SmallCNN, x: np.ndarray) -> None:
    model.train()
    model.trunk[1].eval()  # frozen by its owner
    before = [module.training for module in model.modules()]
    predict(model, x)
    assert [module.training for module in model.modules()] == before
    with pytest.raises(ZeroDivisionError), evaluating(model):
        raise ZeroDivisionError
    assert [module.training for module in model.modules()] == before


def test_predicting_changes_nothing_and_leaves_no_gradients(model: SmallCNN, x: np.ndarray) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    predict(model.train(), x)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_a_model_without_features_is_named() -> None:
    with pytest.raises(InputError, match=r"Linear has no features\(x\)"):
        penultimate(nn.Linear(2, 2), np.zeros((1, 2), np.float32))


def test_no_items_is_an_error() -> None:
    with pytest.raises(InputError, match="inputs hold no items"):
        predict(MLP((2,), 2), np.zeros((0, 2), np.float32))
