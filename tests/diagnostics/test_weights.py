import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics import Hessian
from dissensus.diagnostics.weights import called_with, same_weights
from dissensus.models import MLP, SmallCNN


def test_models_of_one_architecture_pass():
    assert same_weights(SmallCNN((1, 8, 8), 2), SmallCNN((1, 8, 8), 2)) is None


def test_what_only_one_of_them_has_is_named():
    with pytest.raises(InputError, match=r"only the second one has trunk\.2\.bias"):
        same_weights(MLP((4,), 2, layers=1), MLP((4,), 2, layers=2))
    with pytest.raises(InputError, match="only the first one has bias"):
        same_weights(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))


def test_a_width_that_differs_is_named():
    with pytest.raises(InputError, match=r"trunk\.0\.weight has the shape \(8, 4\) in the first and \(9, 4\)"):
        same_weights(MLP((4,), 2, width=8), MLP((4,), 2, width=9))


class Twice(nn.Module):
    """One layer under two names, and a last one that has its weight, as decoders have their embedding's."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.last = nn.Linear(3, 3)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(self.second(self.first(x).tanh()).tanh())


def test_shared_weights_are_replaced_wherever_they_are_used_and_come_back():
    model, x = Twice(), torch.randn(5, 3)
    own = dict(model.named_parameters())
    given = {name: torch.randn_like(value) for name, value in own.items()}
    weight, bias = given["first.weight"], given["first.bias"]
    expected = x
    for shift in (bias, bias, given["last.bias"]):
        expected = (expected if expected is x else expected.tanh()) @ weight.T + shift
    torch.testing.assert_close(called_with(model, given, x), expected)
    assert model.first is model.second
    assert all(value is own[name] for name, value in model.named_parameters())
    assert model.last.weight is model.first.weight


def test_curvature_leaves_shared_weights_as_they_were():
    model, x, y = Twice(), torch.randn(20, 3), torch.arange(20) % 3
    before = {name: value.clone() for name, value in model.state_dict().items()}
    hessian = Hessian(model, x, y)
    assert hessian(torch.ones(1, hessian.size)).isfinite().all()
    hessian.forms(torch.ones(1, hessian.size))
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])  # what is left of a transform has no numbers to compare


def test_parameters_that_are_not_given_stay_the_model_s():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)), torch.randn(5, 3)
    found = called_with(model, {"0.bias": torch.ones(3)}, x)
    torch.testing.assert_close(found, model[1](x @ model[0].weight.T + 1))
