import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dissensus.base.errors import InputError
from dissensus.diagnostics import curvature, hessian_trace, top_eigenvalue
from dissensus.diagnostics.determinism import refuse_random
from dissensus.models import MODELS, make


class LeftOn(nn.Dropout):
    def train(self, mode=True):
        return super().train(True)


class Noisy(nn.Module):
    """Dropout as a function, before a layer that is innocent."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(F.dropout(x, 0.5))


INPUTS = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("model", "culprit"),
    [
        (nn.Sequential(nn.Linear(4, 8), LeftOn(), nn.Linear(8, 3)), r"it begins in '1' \(LeftOn\)"),
        (Noisy(), "it begins in Noisy"),
        (nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), Noisy()), r"it begins in '2' \(Noisy\)"),
    ],
)
def test_randomness_is_refused_where_it_begins(model, culprit):
    with pytest.raises(InputError, match=f"other outputs for the same inputs.*{culprit}.*turn off dropout"):
        refuse_random(model, INPUTS)


def test_statistics_of_the_batch_are_refused():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 3))
    with pytest.raises(InputError, match=r"depends on the other items.*'1' \(BatchNorm1d\) has no running statistics"):
        refuse_random(model, INPUTS)


@pytest.mark.parametrize("items", [1, 2, 20])
def test_statistics_of_the_batch_are_refused_whatever_the_items(items):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 3))
    with pytest.raises(InputError, match=r"'1' \(BatchNorm1d\) has no running statistics"):
        top_eigenvalue(model, INPUTS[:items], torch.arange(items) % 3)


@pytest.mark.parametrize("broken", ["weights", "inputs"])
def test_what_is_not_finite_is_not_called_random(broken):
    model, inputs = nn.Linear(4, 3), INPUTS.clone()
    with torch.no_grad():
        (model.weight if broken == "weights" else inputs)[0, 0] = torch.nan
    with pytest.raises(InputError, match="the model's outputs are not finite"):
        refuse_random(model, inputs)


@pytest.mark.parametrize("measure", [top_eigenvalue, hessian_trace, curvature])
def test_whatever_is_measured(measure):
    with pytest.raises(InputError, match="turn off dropout"):
        measure(Noisy(), INPUTS, torch.arange(20) % 3)


def test_dropout_that_evaluation_turns_off_is_welcome():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3)).train()
    refuse_random(model, INPUTS)
    assert model.training  # as it was


@pytest.mark.parametrize("name", MODELS)
def test_our_models_are_functions(name):
    model, x = make(name, (3, 8, 8), 4, width=4)(), torch.randn(5, 3, 8, 8)
    refuse_random(model, x)
    with torch.no_grad():
        assert torch.equal(model.eval()(x), model(x))


def test_nothing_is_changed_by_looking():
    class Remembers(nn.BatchNorm1d):
        def train(self, mode=True):
            return super().train(True)

    model = nn.Sequential(nn.Linear(4, 8), Remembers(8), nn.Dropout())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    with pytest.raises(InputError, match="depends on the other items"):
        refuse_random(model, INPUTS)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())
