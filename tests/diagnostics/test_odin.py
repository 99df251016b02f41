"""ODIN against the formula, step by step with plain autograd."""

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.odin import odin


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 5)
    )


@pytest.fixture
def inputs():
    return torch.randn(11, 1, 6, 6, generator=torch.Generator().manual_seed(1))


def by_hand(model, inputs, temperature, epsilon):
    """One item at a time, in float64, with the gradient of the loss as the authors write it."""
    model = model.double().eval()
    scores = []
    for x in inputs.double()[:, None]:
        x.requires_grad_()
        loss = nn.functional.cross_entropy(model(x) / temperature, model(x).argmax(1))
        loss.backward()
        moved = x - epsilon * x.grad.sign()
        scores.append(torch.softmax(model(moved) / temperature, 1).max().item())
    return scores


@pytest.mark.parametrize(("temperature", "epsilon"), [(1000.0, 0.0014), (1.0, 0.1), (10.0, 0.0)])
def test_it_is_the_formula(model, inputs, temperature, epsilon):
    found = odin(model.double(), inputs.double(), temperature=temperature, epsilon=epsilon, chunk=4)
    np.testing.assert_allclose(found, by_hand(model, inputs, temperature, epsilon), rtol=1e-12)


def test_without_a_step_at_temperature_1_it_is_msp(model, inputs):
    from dissensus.diagnostics.ood import msp
    from dissensus.evaluation.predict import predict

    found = odin(model, inputs, temperature=1, epsilon=0)
    np.testing.assert_allclose(found, msp(predict(model, inputs)), rtol=1e-6)


def test_items_stay_apart_at_a_high_temperature(model, inputs):
    assert len(np.unique(odin(model, inputs))) == len(inputs)


def test_the_model_is_left_as_it_was(model, inputs):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    odin(model, inputs.numpy())
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_bad_input(model, inputs):
    with pytest.raises(InputError, match="epsilon must be 0 or a positive number"):
        odin(model, inputs, epsilon=-1)
    with pytest.raises(InputError, match="temperature must be a positive number"):
        odin(model, inputs, temperature=0)
    with pytest.raises(InputError, match=r"inputs are torch.int64: ODIN takes a small step from each"):
        odin(model, inputs.long())
    with pytest.raises(InputError, match="no items"):
        odin(model, inputs[:0])
