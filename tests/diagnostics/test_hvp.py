import subprocess
import sys
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from dissensus import Votes
from dissensus.base.errors import InputError
from dissensus.delivery import DELIVERIES
from dissensus.diagnostics import Hessian, hvp
from dissensus.diagnostics.hvp import double_backward, forward_over_reverse
from dissensus.models import MODELS, make
from dissensus.models.text import FineTuning, find_encoder

PRODUCTS = {"by forms": None, "forward over reverse": forward_over_reverse, "double backward": double_backward}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("chunk", [1, 7, 500])
@pytest.mark.parametrize("together", [1, 3])
def test_products_are_those_of_the_exact_hessian(batch_norm_net, product, chunk, together):
    vectors = torch.randn(together, len(batch_norm_net.hessian)).double()
    hessian = Hessian(*batch_norm_net.given, chunk=chunk, product=product)
    np.testing.assert_allclose(hessian(vectors).numpy(), vectors.numpy() @ batch_norm_net.hessian, atol=1e-12)
    assert hessian.products == together


def test_products_are_those_of_curvlinops(batch_norm_net):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from curvlinops import HessianLinearOperator

        model, inputs, targets = batch_norm_net.given
        model.eval()
        data = [(inputs[:10], targets[:10]), (inputs[10:], targets[10:])]
        theirs = HessianLinearOperator(model, nn.CrossEntropyLoss(), list(model.parameters()), data)
        vectors = [torch.randn_like(value) for value in model.parameters()]
        expected = theirs @ vectors
        model.train()
    for ours, other in zip(hvp(*batch_norm_net.given, vectors), expected, strict=True):
        torch.testing.assert_close(ours, other.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_ours_has_products_in_every_way(name):
    torch.manual_seed(0)
    model = make(name, (3, 8, 8), 4, width=4)()
    inputs, targets = torch.randn(6, 3, 8, 8), torch.randint(4, (6,))
    vectors = torch.randn(2, sum(value.numel() for value in model.parameters()))
    *ways, other = (Hessian(model, inputs, targets, product=product)(vectors) for product in PRODUCTS.values())
    for one in ways:
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4 * float(other.abs().max()))


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_attention_bends_as_its_gradients_say(tiny_encoder: Path, product) -> None:
    """By differences of gradients; the kernels that a transformer trains with have no second derivative."""
    torch.manual_seed(0)
    model = FineTuning(find_encoder(tiny_encoder), 3)().double()
    inputs, targets = torch.randint(5, 20, (6, 2, 16)), torch.randint(3, (6,))
    inputs[:, 1], inputs[:3, :, 9:] = 0, -1
    vector = [torch.randn_like(parameter) for parameter in model.parameters()]
    found = hvp(model, inputs, targets, vector, product=product)
    step, sides = 1e-5, []
    for sign in (1, -1):
        moved = deepcopy(model).eval()
        with torch.no_grad():
            for parameter, along in zip(moved.parameters(), vector, strict=True):
                parameter += sign * step * along
        F.cross_entropy(moved(inputs), targets).backward()
        sides.append([parameter.grad for parameter in moved.parameters()])
    for ours, after, before in zip(found, *sides, strict=True):
        torch.testing.assert_close(ours, (after - before) / (2 * step), rtol=1e-5, atol=1e-6)


def test_hard_labels_are_rows_with_a_single_one(batch_norm_net):
    model, inputs, _ = batch_norm_net.given
    labels = torch.arange(len(inputs)) % 3
    vectors = [torch.ones_like(value) for value in model.parameters()]
    hard, soft = hvp(model, inputs, labels, vectors), hvp(model, inputs, F.one_hot(labels).numpy(), vectors)
    torch.testing.assert_close(hard, soft)


def test_parameters_that_are_frozen_are_held_fixed(batch_norm_net):
    model, inputs, targets = batch_norm_net.given
    frozen = model[0].weight
    frozen.requires_grad_(False)
    try:
        vectors = torch.randn(1, len(batch_norm_net.hessian) - frozen.numel()).double()
        expected = vectors.numpy() @ batch_norm_net.hessian[frozen.numel() :, frozen.numel() :]
        np.testing.assert_allclose(Hessian(model, inputs, targets)(vectors).numpy(), expected, atol=1e-12)
    finally:
        frozen.requires_grad_(True)


def test_the_model_is_left_as_it_was(batch_norm_net):
    model, inputs, targets = batch_norm_net.given
    model.train()
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    for product in PRODUCTS.values():
        Hessian(model, inputs, targets, product=product)(torch.randn(2, len(batch_norm_net.hessian)).double())
    assert [module.training for module in model.modules()] == modes
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    assert all(value.grad is None or not value.grad.requires_grad for value in model.parameters())
    model.train()


def test_the_model_is_left_as_it_was_after_an_error(batch_norm_net):
    model, inputs, targets = batch_norm_net.given
    hessian = Hessian(model, inputs, targets, loss=lambda outputs, targets: 1 / 0)
    model.train()
    with pytest.raises(ZeroDivisionError):
        hessian(torch.ones(1, hessian.size).double())
    assert all(module.training for module in model.modules())


class Largest(TorchDispatchMode):
    """The largest tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        made = result if isinstance(result, (tuple, list)) else (result,)
        self.numel = max([self.numel, *(value.numel() for value in made if isinstance(value, torch.Tensor))])
        return result


def test_memory_is_bounded_by_the_chunk_whatever_the_items_and_the_vectors():
    def largest(items, together, chunk, product=None):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 3))
        hessian = Hessian(model, torch.randn(items, 2), torch.randint(3, (items,)), chunk=chunk, product=product)
        vectors = torch.randn(together, hessian.size)
        with Largest() as seen:
            hessian(vectors)
        return seen.numel

    assert largest(400, 1, 40) == largest(40, 1, 40) == 40 * 64
    assert largest(400, 4, 40) == 40 * 64
    assert largest(400, 4, 40, forward_over_reverse) <= 40 * 64
    assert largest(400, 4, 40, double_backward) <= 40 * 64
    assert largest(400, 1, 400) == 400 * 64
    assert largest(400, 1, 8) == 8 * 64  # fewer than the items on which ways are compared


@pytest.mark.parametrize(
    ("device", "precision", "expected"),
    [
        ("cuda", "tf32", torch.channels_last),
        ("cuda", "fp32", torch.contiguous_format),
        ("cpu", "fp32", None),  # as it came
    ],
)
@pytest.mark.parametrize("came", [torch.channels_last, torch.contiguous_format])
def test_images_and_filters_are_laid_out_for_the_precision(device, precision, expected, came):
    hessian = Hessian(nn.Linear(2, 3), torch.randn(4, 2), torch.arange(4) % 3)
    hessian.device, hessian.precision = torch.device(device), precision  # the layout alone needs no such device
    image = torch.randn(5, 3, 4, 4).contiguous(memory_format=came)
    told = hessian._laid_out(image)
    assert told.is_contiguous(memory_format=expected or came)
    assert torch.equal(told, image)
    row = torch.randn(5, 3)
    assert hessian._laid_out(row) is row


def test_whatever_goes_through_a_model_is_laid_out(monkeypatch):
    """Chunks of inputs, and parameters, whose order in a vector stays that of ``parameters()``."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)).double()
    inputs, vector = torch.randn(5, 3, 4, 4), torch.randn(1, 163).double()
    given = model, inputs, torch.arange(5) % 3
    plain = Hessian(*given)(vector)

    def last(self, value):
        return value.contiguous(memory_format=torch.channels_last) if value.ndim == 4 else value

    monkeypatch.setattr(Hessian, "_laid_out", last)
    hessian = Hessian(*given, chunk=2)
    assert hessian.parameters["0.weight"].is_contiguous(memory_format=torch.channels_last)
    assert all(x.is_contiguous(memory_format=torch.channels_last) for x, _ in hessian._chunks(2))
    for product in PRODUCTS.values():
        told = Hessian(*given, product=product)(vector)
        torch.testing.assert_close(told, plain)


def test_algorithms_are_tried_for_all_items_and_not_for_the_few_that_are_looked_at():
    class Notes(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = nn.Linear(2, 3), []

        def forward(self, x):
            self.seen.append(torch.backends.cudnn.benchmark)
            return self.layer(x)

    before, model = torch.backends.cudnn.benchmark, Notes()
    hessian = Hessian(model, torch.randn(50, 2), torch.arange(50) % 3)
    assert hessian._forms_are_exact
    assert model.seen
    assert not any(model.seen)
    model.seen.clear()
    hessian(torch.ones(1, hessian.size))
    assert model.seen
    assert all(model.seen)
    assert torch.backends.cudnn.benchmark == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, x, y: (m, x, y[:5]), "inputs has 12, targets has 5"),
        (lambda m, x, y: (m, x[:0], y[:0]), "inputs hold no items"),
        (lambda m, x, y: (m, x, y + 2), "targets must lie in 0 to 2, but item"),
        (lambda m, x, y: (m, x, np.ones((12, 3))), "targets must have rows that sum to 1, but row 0 sums to 3"),
        (lambda m, x, y: (m, x, np.full((12, 4), 0.25)), "targets have 4 classes, but the model's outputs have 3"),
        (lambda m, x, y: (m, x.to(torch.uint8), y), "inputs are uint8; pass what the model takes"),
        (lambda m, x, y: (m.bfloat16(), x, y), "all parameters in float32 or all in float64, but they are torch.bfl"),
        (lambda m, x, y: (m.requires_grad_(False), x, y), "no parameters that require a gradient"),
        (lambda m, x, y: (nn.Sequential(m, nn.Flatten(0)), x, y), r"returns the shape \(36,\) for 12 items"),
    ],
)
def test_what_cannot_be_used_is_told(change, message):
    given = change(nn.Linear(2, 3), torch.randn(12, 2), torch.arange(12) % 3)
    with pytest.raises(InputError, match=message):
        Hessian(*given)


def test_a_sampling_delivery_is_no_target():
    votes = Votes.from_counts(np.full((12, 3), 4), classes=["a", "b", "c"])
    with pytest.raises(InputError, match=r"a delivery was given: what it gives changes with the epoch.*frequencies"):
        Hessian(nn.Linear(2, 3), torch.randn(12, 2), DELIVERIES["sls"](votes, seed=0))
    with pytest.raises(InputError, match=r"votes were given. Pass their shares, votes.frequencies\(\)"):
        Hessian(nn.Linear(2, 3), torch.randn(12, 2), votes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk": 0}, "chunk must be a whole number of at least 1, but it is 0"),
        ({"precision": "bf16"}, "precision must be fp32 or tf32, but is 'bf16'"),
        ({"precision": "tf32"}, "precision tf32 is for CUDA devices"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        Hessian(nn.Linear(2, 3), torch.randn(12, 2), torch.arange(12) % 3, **options)


class OfLSTM(nn.Module):
    """A layer without forward derivatives, in single precision on a CPU."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


class Square(torch.autograd.Function):
    """As one writes it oneself: with a backward, and nothing else."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, gradient):
        return 2 * context.saved_tensors[0] * gradient


class OfOnesOwn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(Square.apply(self.first(x)).sum(1))


class Counts(OfLSTM):
    """What is changed in place cannot be seen through by forward derivatives."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


@pytest.mark.parametrize("kind", [OfLSTM, OfOnesOwn, Counts])
def test_models_without_forward_derivatives_have_products_all_the_same(whole_hessian, kind):
    torch.manual_seed(0)
    model, inputs, targets = kind(), torch.randn(9, 5, 2), torch.arange(9) % 3
    hessian = Hessian(model, inputs, targets, chunk=4)
    vectors = torch.randn(3, hessian.size)
    expected = vectors.double() @ torch.from_numpy(whole_hessian(model.double(), inputs.double(), targets))
    model.float()
    torch.testing.assert_close(hessian(vectors).double(), expected, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(hessian.forms(vectors).double(), (vectors * expected).sum(1), rtol=1e-3, atol=1e-4)


def test_a_model_that_cannot_be_differentiated_twice_is_told():
    model = nn.Sequential(nn.EmbeddingBag(5, 4), nn.Linear(4, 3))
    with pytest.raises(InputError, match=r"Sequential cannot be differentiated twice: .*_embedding_bag_backward"):
        Hessian(model, torch.arange(12).reshape(6, 2) % 5, torch.arange(6) % 3)(torch.ones(1, 35))


class Wrong(torch.autograd.Function):
    """Its gradient is right, and the gradient of that is not."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return torch.outer(x[:, 0], torch.ones(4)) * x

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        result = gradient * x[:, :1]
        result[:, 0] += (gradient * x.detach()).sum(1)
        return result


def test_a_hessian_that_is_not_symmetric_is_refused():
    class Model(OfOnesOwn):
        def forward(self, x):
            return self.last(Wrong.apply(self.first(x)))

    torch.manual_seed(0)
    with pytest.raises(InputError, match="differentiates Model twice, but wrongly: its Hessian is not symmetric"):
        Hessian(Model(), torch.randn(9, 2), torch.arange(9) % 3)(torch.ones(1, 27))


@pytest.mark.parametrize(
    ("loss", "shape"), [(F.cross_entropy, r"\(\)"), (nn.MSELoss(reduction="none"), r"\(12, 3\)")], ids=["mean", "parts"]
)
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_a_loss_that_is_no_number_an_item_is_told(loss, shape, product):
    """A mean of means would be too small by the number of items, and nobody would see it."""
    hessian = Hessian(nn.Linear(2, 3), torch.randn(12, 2), torch.rand(12, 3), loss=loss, product=product)
    with pytest.raises(InputError, match=f"one number an item, but gives the shape {shape} for 12 items.*reduction"):
        hessian(torch.ones(1, 9))


@pytest.mark.parametrize("vectors", [torch.ones(9), torch.ones(2, 8)])
def test_rows_of_other_lengths_are_told(vectors):
    hessian = Hessian(nn.Linear(2, 3), torch.randn(12, 2), torch.arange(12) % 3)
    for measure in (hessian, hessian.forms):
        with pytest.raises(InputError, match=r"vectors must have the shape \(vectors, 9\), but have"):
            measure(vectors)


SETTINGS = {
    "as torch has it": "pass",
    "all products": "torch.backends.fp32_precision = 'tf32'",
    "one product": "torch.backends.cudnn.conv.fp32_precision = 'ieee'",
    "as before 2.9": "torch.backends.cuda.matmul.allow_tf32 = True",
    "by a word": "torch.set_float32_matmul_precision('high')",
}


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="older settings")
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_however_torch_was_told_of_tf32_it_is_left_as_it_was(setting):
    program = f"""
import torch
from torch import nn
from dissensus.diagnostics import top_eigenvalue
from dissensus.diagnostics.hvp import products_in
{setting}
products = torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn
told = lambda: [product.fp32_precision for product in products]
before = told()
with products_in("fp32"):
    assert told() == ["ieee"] * 3
with products_in("tf32"):
    assert told() == ["tf32"] * 3
top_eigenvalue(nn.Linear(2, 3), torch.randn(5, 2), torch.arange(5) % 3)
assert told() == before
if torch.backends.fp32_precision != "none":
    torch.backends.fp32_precision = "ieee"  # still followed by all
    assert told() == ["ieee"] * 3
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_vectors_of_other_shapes_are_told():
    with pytest.raises(InputError, match=r"\[\(3, 2\), \(3,\)\], but have \[\(2, 3\)\]"):
        hvp(nn.Linear(2, 3), torch.randn(12, 2), torch.arange(12) % 3, [torch.ones(2, 3)])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_tf32_is_used_by_choice_only():
    torch.manual_seed(0)
    model = make("resnet18", (3, 32, 32), 10, width=16)().cuda()
    inputs, targets = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
    exact = Hessian(model.double(), inputs, targets)
    vector = torch.randn(1, exact.size, device="cuda")
    truth = exact(vector.double())
    errors = {}
    for precision in ("fp32", "tf32"):
        told = Hessian(model.float(), inputs, targets, precision=precision)(vector)
        errors[precision] = float((told - truth).norm() / truth.norm())
    assert errors["fp32"] < 1e-4 < errors["tf32"] < 0.05
