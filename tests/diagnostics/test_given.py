"""Models and inputs as other people have them: wrapped, of another precision, or of a kind that must be told."""

import copy
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from dissensus.base.errors import InputError
from dissensus.diagnostics import (
    aligned,
    barrier,
    barrier_with_reset_statistics,
    card,
    curvature,
    gradcam,
    gradient_variance_of,
    last_layer,
    odin,
    renamed,
    top_eigenvalue,
)
from dissensus.diagnostics.given import as_inputs, as_model
from dissensus.models import MLP

HUMAN = np.random.default_rng(0).dirichlet(np.ones(3), 12)
LABELS = HUMAN.argmax(1)

# Every instrument that is given a model and inputs, by name.
INSTRUMENTS = {
    "top_eigenvalue": lambda model, x: top_eigenvalue(model, x, LABELS).value,
    "curvature": lambda model, x: curvature(model, x, HUMAN, probes=2).trace,
    "barrier": lambda model, x: barrier(model, copy.deepcopy(model), x, HUMAN, points=3).losses,
    "barrier, statistics reset": lambda model, x: (
        barrier_with_reset_statistics(model, copy.deepcopy(model), x, HUMAN, x, points=3).losses
    ),
    "last_layer": lambda model, x: last_layer(model, x).logits,
    "gradient_variance_of": lambda model, x: gradient_variance_of(model, x, HUMAN).exact,
    "odin": lambda model, x: odin(model, x),
    "gradcam": lambda model, x: gradcam(model, as_model(model)[0], x, LABELS),
    "card": lambda model, x: [row.value for row in card(model, x, HUMAN, outside={"far": x}, bank=x)],
}
OF_DERIVATIVES = ["top_eigenvalue", "curvature", "odin", "gradcam", "card"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)).eval()


@pytest.fixture
def x():
    return torch.randn(12, 1, 4, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=INSTRUMENTS)
def instrument(request):
    return INSTRUMENTS[request.param]


def test_inputs_of_another_precision_are_brought_to_that_of_the_model(instrument, model, x):
    expected = instrument(model, x)
    np.testing.assert_allclose(instrument(model, x.double().numpy()), expected)
    np.testing.assert_allclose(instrument(model.double(), x), expected, rtol=2e-2, atol=1e-6)


def test_lists_are_inputs_too(instrument, model, x):
    np.testing.assert_allclose(instrument(model, x.tolist()), instrument(model, x))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: {"images": x}, "inputs must be one tensor or array, items first, but a dict was given. Wrap the mo"),
        (lambda x: (x, x), "but a tuple was given"),
        (lambda x: DataLoader(TensorDataset(x)), "but a DataLoader was given"),
        (lambda x: x[:0], "inputs hold no items"),
        (lambda x: x[0, 0, 0, 0], "but a single number was given"),
        (lambda x: x.to(torch.uint8), "inputs are uint8; pass what the model takes: normalised"),
    ],
)
def test_inputs_that_cannot_be_used_are_told(instrument, model, x, change, message):
    with pytest.raises(InputError, match=message):
        instrument(model, change(x))


class Answers(nn.Module):
    """As many libraries do: the logits are one of several answers."""

    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, x):
        return {"logits": self.inside(x)}

    def __getitem__(self, place):
        return self.inside[place]


def test_a_model_with_several_answers_is_told(instrument, model, x):
    with pytest.raises(InputError, match=r"returns a dict for 12 items|does not return the output of an nn.Linear"):
        instrument(Answers(model), x)


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda model: torch.compile(model, backend="eager")])
def test_what_is_wrapped_is_looked_into(instrument, model, x, wrap):
    np.testing.assert_allclose(instrument(wrap(model), x), instrument(model, x))


def test_hidden_units_of_a_wrapped_model_are_found():
    model = MLP((5,), 3)
    back = aligned(renamed(nn.DataParallel(model)), to=model)
    assert all(torch.equal(a, b) for a, b in zip(back.parameters(), model.parameters(), strict=True))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_is_no_module_is_told(instrument, model, x):
    with pytest.raises(InputError, match=r"made by torch.jit, which hides what is inside"):
        instrument(torch.jit.trace(model, x), x)
    with pytest.raises(InputError, match=r"model must be a torch.nn.Module, but it is a function"):
        instrument(lambda given: model(given), x)


@pytest.mark.parametrize("name", OF_DERIVATIVES)
def test_where_there_are_no_derivatives_it_is_told(name, model, x):
    with torch.inference_mode(), pytest.raises(InputError, match=r"in torch.inference_mode there are no derivatives"):
        INSTRUMENTS[name](model, x)
    with torch.inference_mode():
        made, drawn = copy.deepcopy(model), x + 0
    with pytest.raises(InputError, match=r"0.weight was made in torch.inference_mode"):
        INSTRUMENTS[name](made, x)
    np.testing.assert_allclose(INSTRUMENTS[name](model, drawn), INSTRUMENTS[name](model, x))


@pytest.mark.parametrize("name", ["barrier", "last_layer", "odin", "gradcam"])
def test_chunks_hold_items(name, model, x):
    measures = {
        "barrier": lambda: barrier(model, model, x, HUMAN, chunk=0),
        "last_layer": lambda: last_layer(model, x, chunk=0),
        "odin": lambda: odin(model, x, chunk=0),
        "gradcam": lambda: gradcam(model, model[0], x, LABELS, chunk=0),
    }
    with pytest.raises(InputError, match="chunk must be a whole number of at least 1, but it is 0"):
        measures[name]()


def test_whole_numbers_and_half_precision_stay_what_they_are():
    words = torch.arange(6).reshape(3, 2)
    assert as_inputs(nn.Embedding(6, 2), words) is words
    half = torch.ones(3, 2, dtype=torch.bfloat16)
    assert as_inputs(nn.Linear(2, 2).bfloat16(), half) is half


class Breaks(nn.Sequential):
    """A model that fails when it is called for the n-th time."""

    calls_left = 0

    def forward(self, x):
        self.calls_left -= 1
        if not self.calls_left:
            raise ZeroDivisionError
        return super().forward(x)


@pytest.mark.parametrize("call", [1, 2, 3, 5, 8, 13])
def test_a_model_is_left_as_it_was_wherever_it_fails(instrument, model, x, call):
    broken = Breaks(*model).train()
    broken[1].eval()  # frozen by its owner
    broken.calls_left = call
    before = {name: value.clone() for name, value in broken.state_dict().items()}
    modes = [module.training for module in broken.modules()]
    precision, benchmark = torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
    with suppress(ZeroDivisionError):  # some need fewer calls
        instrument(broken, x)
    assert [module.training for module in broken.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in broken.state_dict().items())
    assert all(value.requires_grad and value.grad is None for value in broken.parameters())
    for module in broken.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
        assert "forward" not in vars(module)
    assert torch.is_grad_enabled()
    assert (precision, benchmark) == (torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark)
