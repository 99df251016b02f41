import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.gradient_variance import gradient_variance
from dissensus.diagnostics.last_layer import gradient_variance_of, last_layer
from dissensus.evaluation.predict import penultimate, predict
from dissensus.models import SmallCNN


@pytest.fixture
def model():
    torch.manual_seed(0)
    return SmallCNN((1, 16, 16), 3, width=4)


@pytest.fixture
def x():
    return np.random.default_rng(0).random((11, 1, 16, 16), np.float32)


def test_features_and_logits_are_those_of_the_model(model, x):
    found = last_layer(model, x, chunk=4)
    np.testing.assert_allclose(found.features, penultimate(model, x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.logits, predict(model, x), rtol=1e-5, atol=1e-6)
    assert found.bias


def test_no_hook_stays_and_every_module_is_in_its_own_mode_again(model, x):
    model.train()
    model.trunk[1].eval()
    before = [module.training for module in model.modules()]
    last_layer(model, x)
    assert [module.training for module in model.modules()] == before
    assert not any(module._forward_hooks for module in model.modules())


def test_the_layer_is_found_by_what_it_does(x):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.classify = nn.Linear(5, 3, bias=False)  # defined before what it comes after
            self.trunk = nn.Linear(4, 5)

        def forward(self, x):
            return self.classify(torch.relu(self.trunk(x)))

    found = last_layer(Named(), np.ones((2, 4), np.float32))
    assert found.features.shape == (2, 5)
    assert not found.bias


def test_a_model_that_ends_otherwise_is_told(x):
    with pytest.raises(InputError, match=r"Sequential does not return the output of an nn\.Linear"):
        last_layer(nn.Sequential(nn.Linear(2, 2), nn.LogSoftmax(1)), np.ones((1, 2), np.float32))
    with pytest.raises(InputError, match=r"returns the shape \(1, 5, 3\) for 1 items"):
        last_layer(nn.Linear(2, 3), np.ones((1, 5, 2), np.float32))  # a row a word
    with pytest.raises(InputError, match="inputs hold no items"):
        last_layer(nn.Linear(2, 2), np.ones((0, 2), np.float32))


def test_the_variance_of_a_model_is_that_of_its_features(model, x):
    human = np.random.default_rng(1).dirichlet(np.ones(3), size=11)
    found = gradient_variance_of(model, x, human, draws=20)
    np.testing.assert_allclose(found.exact, gradient_variance(penultimate(model, x), human), rtol=1e-5)
    with pytest.raises(InputError, match="inputs has 11, human has 10"):
        gradient_variance_of(model, x, human[:10])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_what_a_gpu_finds_is_what_the_processor_finds(model, x):
    expected = last_layer(model, x)
    found = last_layer(model.cuda(), x)
    np.testing.assert_allclose(found.features, expected.features, atol=1e-2)
