import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from dissensus.diagnostics import Hessian, hessian_trace
from dissensus.diagnostics.hvp import double_backward
from dissensus.models import MODELS, make


def conv(*more):
    return nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 4, 3, padding=1, padding_mode="circular"), *more)


class Tied(nn.Module):
    """One layer that is called twice, and a last layer that shares its weight with an inner one."""

    def __init__(self):
        super().__init__()
        self.twice, self.inner, self.last = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.last.weight = self.inner.weight

    def forward(self, x):
        return self.last(torch.relu(self.twice(torch.relu(self.twice(x))) + self.inner(x)))


class InPlace(nn.Module):
    """As torchvision writes its residual blocks."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last, self.relu = conv(), nn.Conv1d(4, 4, 1), nn.Linear(24, 3), nn.ReLU(True)

    def forward(self, x):
        x = self.relu(self.first(x))
        out = self.second(x)
        out += x
        return self.last(self.relu(out).flatten(1))


class InWords(nn.Module):
    """Whole numbers come in."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.words(x.long().abs() % 5).mean(1))


class BentBetween(nn.Module):
    """Attention and a smooth nonlinearity, both outside of modules."""

    def __init__(self):
        super().__init__()
        self.query, self.value, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        scores = (self.query(x)[:, :, None] * x[:, None]).softmax(-1)
        return self.head(F.gelu((scores * self.value(x)[:, None]).sum(-1)))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 6))

    def forward(self, x):
        return F.linear(x, self.weight), x


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.two = Two()

    def forward(self, x):
        return self.two(x)[0]


class Scaled(nn.Module):
    """A parameter of its own around other modules, as a block with a learnt scale has it."""

    def __init__(self):
        super().__init__()
        self.body, self.scale = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.body(x) * self.scale.exp()


MODELS_OF_MODULES = {
    "rectifiers": nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)),
    "in place": nn.Sequential(nn.Linear(6, 8), nn.SiLU(inplace=True), nn.Linear(8, 8), nn.ReLU(inplace=True)),
    "layer norm": nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)),
    "batch norm": conv(nn.BatchNorm1d(4), nn.ReLU(True), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(12, 3)),
    "without scale": conv(nn.BatchNorm1d(4, affine=False), nn.Tanh(), nn.Flatten(), nn.Linear(24, 3)),
    "groups": conv(nn.Conv1d(4, 4, 3, groups=2, stride=2), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(8, 3)),
    "dropout": nn.Sequential(nn.Dropout(), nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 3)),
    "tied": Tied(),
    "sum in place": InPlace(),
    "words": InWords(),
    "frozen": nn.Sequential(nn.Linear(6, 8).requires_grad_(False), nn.Sigmoid(), nn.Linear(8, 3)),
}
OTHERS = {
    "bent between": BentBetween(),
    "two outputs": First(),
    "a parameter around modules": Scaled(),
    "no derivative of the third order": nn.Sequential(nn.Linear(6, 8), nn.GLU(), nn.Linear(4, 3)),
}


def both(model, dtype=torch.float64):
    torch.manual_seed(0)
    model = model.to(dtype)
    for value in model.parameters():
        nn.init.normal_(value, std=0.5)
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm1d):
            norm.running_var.uniform_(0.5, 2)
            norm.running_mean.normal_()
    inputs = 3 * torch.randn(20, 6)
    hessian = Hessian(model, inputs, torch.arange(20) % 3, chunk=7)
    z = torch.randn(4, hessian.size, dtype=dtype)
    product = Hessian(model, inputs, torch.arange(20) % 3, product=double_backward)
    return hessian, z, product(z)


@pytest.mark.parametrize("model", MODELS_OF_MODULES.values(), ids=MODELS_OF_MODULES)
def test_forms_are_those_of_products(model):
    hessian, z, truth = both(model)
    assert hessian._forms_are_exact
    torch.testing.assert_close(hessian.forms(z), torch.linalg.vecdot(z, truth), rtol=1e-9, atol=1e-9)
    assert hessian.products == 4


@pytest.mark.parametrize("model", MODELS_OF_MODULES.values(), ids=MODELS_OF_MODULES)
def test_half_the_gradient_of_a_form_is_the_product(model):
    hessian, z, truth = both(model)
    assert hessian._forms_are_exact
    torch.testing.assert_close(hessian(z), truth, rtol=1e-9, atol=1e-9)
    assert hessian.products == 4


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_what_modules_do_not_tell_is_noticed_and_products_are_taken(model):
    hessian, z, truth = both(model)
    assert not hessian._forms_are_exact
    torch.testing.assert_close(hessian.forms(z), torch.linalg.vecdot(z, truth), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(hessian(z), truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_our_models_have_forms_in_single_precision(name):
    torch.manual_seed(0)
    model = make(name, (3, 8, 8), 4, width=4)()
    hessian = Hessian(model, torch.randn(9, 3, 8, 8), torch.randn(9, 4).softmax(1), chunk=4)
    assert hessian._forms_are_exact
    z = torch.randn(3, hessian.size)
    torch.testing.assert_close(hessian.forms(z), torch.linalg.vecdot(z, hessian(z)), rtol=1e-3, atol=1e-2)


def test_forms_are_those_of_the_exact_hessian(batch_norm_net):
    hessian = Hessian(*batch_norm_net.given, chunk=10)
    z = torch.randn(5, hessian.size).double()
    truth = torch.linalg.vecdot(z @ torch.from_numpy(batch_norm_net.hessian), z)
    torch.testing.assert_close(hessian.forms(z), truth, rtol=1e-10, atol=1e-10)


def test_a_loss_of_ones_own(quadratic):
    known = quadratic([3.0, -1.0, 0.5])
    hessian = Hessian(*known.given, **known.options)
    assert hessian._forms_are_exact
    assert hessian_trace(*known.given, 200, **known.options).value == pytest.approx(2.5, abs=1)


def test_no_hooks_are_left(batch_norm_net):
    model = batch_norm_net.model
    Hessian(*batch_norm_net.given).forms(torch.ones(1, len(batch_norm_net.hessian)).double())
    two = OTHERS["two outputs"].double()
    Hessian(two, torch.randn(6, 6), torch.arange(6) % 3).forms(torch.ones(1, 18).double())
    for module in [*model.modules(), *two.modules()]:
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert all(module.training for module in model.modules())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_forms_of_a_resnet_in_tf32_are_those_of_float64_to_some_per_cent():
    torch.manual_seed(0)
    model = make("resnet18", (3, 32, 32), 10)().cuda()
    inputs, targets = torch.randn(128, 3, 32, 32), torch.randn(128, 10).softmax(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
    model(inputs.cuda())  # statistics that fit
    truth = hessian_trace(model.double(), inputs, targets, 10)
    told = hessian_trace(model.float(), inputs, targets, 10, precision="tf32")
    assert Hessian(model, inputs, targets)._forms_are_exact
    assert told.value == pytest.approx(truth.value, rel=0.03)  # rounding the weights alone moves it by a per cent


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_memory_on_a_gpu_does_not_grow_with_the_items():
    model = make("resnet18", (3, 32, 32), 10, width=16)().cuda()

    def most(items):
        hessian = Hessian(model, torch.randn(items, 3, 32, 32), torch.zeros(items, dtype=torch.int64), chunk=100)
        z = torch.randn(10, hessian.size, device="cuda")
        for _ in range(2):  # in the first round cuDNN tries its algorithms, some of which take much
            torch.cuda.reset_peak_memory_stats()
            hessian.forms(z)
            hessian(z)
        return torch.cuda.max_memory_allocated()

    assert most(800) < 1.1 * most(200)


class Convolutions(TorchDispatchMode):
    """How many there are; the gradient of one has its inputs' and its weight's."""

    seen = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen += function is torch.ops.aten.convolution.default
        if function is torch.ops.aten.convolution_backward.default:
            self.seen += sum(args[-1][:2])
        return function(*args, **(kwargs or {}))


def two_convolutions(chunk):
    """The inputs of the first do not move: it has one of the three of a form, and two of the seven of a product."""
    model = conv(nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    hessian = Hessian(model, torch.randn(9, 6), torch.arange(9) % 3, chunk=chunk)
    assert hessian._forms_are_exact

    def counted(what, vectors):
        with Convolutions() as convolutions:
            what(torch.randn(vectors, hessian.size))
        return convolutions.seen

    return hessian, counted


SHARED = 2 + 2  # outputs, and gradients at what enters


def test_a_form_costs_three_convolutions_of_a_kind_and_a_product_seven():
    hessian, counted = two_convolutions(chunk=9)
    assert counted(hessian.forms, 1) == SHARED + 1 + 3
    assert counted(hessian.forms, 5) == 5 * (1 + 3)  # what all share is known
    assert counted(hessian, 1) == 2 + 7
    assert counted(hessian, 5) == 5 * (2 + 7)


def test_what_all_vectors_share_is_computed_again_where_it_would_grow_with_the_items():
    hessian, counted = two_convolutions(chunk=5)
    assert counted(hessian.forms, 4) == counted(hessian.forms, 4) == 2 * (SHARED + 4 * (1 + 3))
    assert counted(hessian, 4) == 2 * (SHARED + 4 * (2 + 7))
    assert hessian._kept is None


@pytest.mark.parametrize("change", ["weight", "running_mean"])
def test_what_is_kept_is_dropped_when_the_model_changes(change):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3)).double()
    given = model, torch.randn(9, 6), torch.arange(9) % 3
    hessian = Hessian(*given)
    z = torch.randn(2, hessian.size).double()
    before = hessian.forms(z), hessian(z)
    with torch.no_grad():
        getattr(model[1], change).add_(0.5)
    after = hessian.forms(z), hessian(z)
    fresh = Hessian(*given, product=double_backward)(z)
    torch.testing.assert_close(after, (torch.linalg.vecdot(z, fresh), fresh))
    assert not torch.allclose(before[1], after[1])


@pytest.mark.parametrize(("model", "copies"), [("sum in place", 2), ("groups", 0)])
def test_what_is_kept_is_copied_only_where_something_works_in_place(model, copies):
    hessian, z, _ = both(MODELS_OF_MODULES[model])
    hessian.chunk = 20
    hessian.forms(z)
    kept = [place for place in hessian._kept[1].places if place.output is not None]
    before = [place.output.clone() for place in kept]
    assert sum(place.written for place in kept) == copies
    hessian.forms(z)
    hessian(z)
    assert all(torch.equal(place.output, value) for place, value in zip(kept, before, strict=True))


class Turned(nn.Module):
    """The rows that its first layers take are places of an item, not items."""

    def __init__(self):
        super().__init__()
        self.places, self.again, self.head = nn.Linear(1, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.relu(self.again(torch.relu(self.places(x.T[:, :, None])))).mean(0))


BY_ITEM = {
    "rectifiers": nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)),
    "batch norm of rows": nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(True), nn.Linear(8, 3)),
    "tied": Tied(),
    "a frozen end": nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3).requires_grad_(False)),
}


@pytest.mark.parametrize("name", BY_ITEM)
def test_the_form_of_a_set_is_the_mean_of_those_of_its_items(name):
    hessian, z, _ = both(BY_ITEM[name])
    found = hessian.forms_by_item(z)
    assert found.shape == (4, 20)
    torch.testing.assert_close(found.mean(1), hessian.forms(z), rtol=1e-9, atol=1e-9)
    some = np.array([19, 3, 4])
    alone = Hessian(hessian.model, hessian.inputs[some], hessian.targets[some])
    torch.testing.assert_close(found[:, some].mean(1), alone.forms(z), rtol=1e-9, atol=1e-9)
    assert hessian.products == 8


@pytest.mark.parametrize("name", MODELS)
def test_our_models_take_items_one_by_one(name):
    torch.manual_seed(0)
    model = make(name, (3, 8, 8), 4, width=4)().double()
    hessian = Hessian(model, torch.randn(9, 3, 8, 8), torch.randn(9, 4).softmax(1), chunk=4)
    z = torch.randn(3, hessian.size).double()
    alone = Hessian(model, hessian.inputs[5:7], hessian.targets[5:7])
    torch.testing.assert_close(hessian.forms_by_item(z)[:, 5:7].mean(1), alone.forms(z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["layer norm", "without scale", "bent between"])
def test_items_are_told_apart_only_where_all_layers_are_affine(name):
    hessian, z, _ = both((MODELS_OF_MODULES | OTHERS)[name])
    assert hessian.forms_by_item(z) is None


@pytest.mark.parametrize("items", [6, 40])  # as many as there are places, or not
def test_rows_that_are_no_items_are_noticed(items):
    torch.manual_seed(0)
    hessian = Hessian(Turned().double(), torch.randn(items, 6), torch.arange(items) % 3)
    z = torch.randn(2, hessian.size).double()
    assert hessian._forms_are_exact
    assert hessian.forms_by_item(z) is None


@pytest.mark.parametrize("name", ["batch norm", "layer norm", "bent between"])
def test_on_some_of_the_items(name):
    hessian, z, _ = both((MODELS_OF_MODULES | OTHERS)[name])
    hessian.forms(z)
    some = np.array([19, 3, 4])
    of = hessian.on(some)
    alone = Hessian(hessian.model, hessian.inputs[some], hessian.targets[some])
    torch.testing.assert_close(of(z), alone(z), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(of.forms(z), alone.forms(z), rtol=1e-9, atol=1e-9)
    assert (hessian.products, of.products) == (4, 8)
