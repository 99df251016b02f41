from functools import cache
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dissensus.base.errors import InputError
from dissensus.diagnostics.alignment import aligned, renamed
from dissensus.diagnostics.barrier import barrier, barrier_with_reset_statistics
from dissensus.models import MLP, MODELS, make

SHAPE = (3, 16, 16)


@cache
def some_images():
    x = torch.randn(60, *SHAPE, generator=torch.Generator().manual_seed(0))
    return x, x[:, :, :8].mean((2, 3)).argmax(1)


@pytest.fixture
def images():
    return some_images()


def trained(model, x, labels, steps=12, lr=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()
    return model.eval()


@cache
def some_model(name, seed=0):
    """Trained once, for all tests: they must not touch it."""
    torch.manual_seed(seed)
    return trained(make(name, SHAPE, 3, width=6)(), *some_images())


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return some_model(name)


def distance(a, b):
    return sum(((p - q) ** 2).sum().item() for p, q in zip(a.parameters(), b.parameters(), strict=True))


def test_a_renamed_model_computes_the_same_and_is_far_away(model, images):
    other = renamed(model)
    with torch.no_grad():
        torch.testing.assert_close(other(images[0]), model(images[0]), rtol=1e-4, atol=1e-4)
    assert distance(model, other) > 1
    assert distance(renamed(model, seed=1), other) > 1
    assert distance(renamed(model, seed=0), other) == 0


def test_between_a_model_and_its_permuted_self_there_is_a_barrier_only_without_alignment(model, images):
    other = renamed(model)
    assert barrier(model, other, *images, points=5).height > 0.1
    assert barrier(model, aligned(other, to=model), *images, points=5).height == 0


@pytest.mark.parametrize("name", ["small-cnn", "resnet18"])
def test_statistics_alone_do_not_take_the_barrier_away(name, images):
    x, labels = images
    model = some_model(name)
    other = renamed(model)
    assert barrier_with_reset_statistics(model, other, x, labels, x, points=5).height > 0.1
    assert barrier_with_reset_statistics(model, aligned(other, to=model), x, labels, x, points=5).height == 0


def test_alignment_finds_every_unit_again_with_its_statistics(model):
    back = aligned(renamed(model, seed=3), to=model)
    for name, value in model.state_dict().items():
        assert torch.equal(back.state_dict()[name], value), name


@pytest.mark.parametrize("seed", range(20))
def test_a_narrow_and_deep_net_is_found_again_from_the_inputs_on(seed):
    """From the order that is there three of these twenty end elsewhere."""
    torch.manual_seed(seed)
    model = MLP((3,), 2, width=8, layers=6)
    assert distance(model, aligned(renamed(model, seed=seed), to=model)) == 0


def test_alignment_of_another_model_keeps_what_it_computes_and_comes_nearer(name, model, images):
    other = some_model(name, seed=1)
    moved = aligned(other, to=model)
    with torch.no_grad():
        torch.testing.assert_close(moved(images[0]), other(images[0]), rtol=1e-4, atol=1e-4)
    assert distance(model, moved) < distance(model, other)
    assert distance(model, aligned(moved, to=model)) <= distance(model, moved) + 1e-6


def test_alignment_takes_most_of_the_barrier_between_two_trained_nets():
    torch.manual_seed(0)
    x = torch.randn(400, 4)
    labels = (x[:, 0] * x[:, 1] > 0).long()
    a, b = (trained(MLP((4,), 2, width=256, layers=1), x, labels, steps=200) for _ in range(2))
    before, after = barrier(a, b, x, labels), barrier(a, aligned(b, to=a), x, labels)
    assert before.height > 0.05
    assert after.height < before.height / 2


def test_one_hidden_layer_has_the_best_of_all_orders():
    torch.manual_seed(0)
    a, b = MLP((3,), 2, width=5, layers=1), MLP((3,), 2, width=5, layers=1)

    def reordered(order):
        other = MLP((3,), 2, width=5, layers=1)
        with torch.no_grad():
            other.trunk[0].weight.copy_(b.trunk[0].weight[order])
            other.trunk[0].bias.copy_(b.trunk[0].bias[order])
            other.head.weight.copy_(b.head.weight[:, order])
            other.head.bias.copy_(b.head.bias)
        return other

    nearest = min(distance(a, reordered(list(order))) for order in permutations(range(5)))
    assert distance(a, aligned(b, to=a)) == pytest.approx(nearest, rel=1e-6)


def test_a_model_of_somebody_else_with_groups_written_down():
    def net():
        return nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 2, 3), nn.Flatten())

    groups = [[("0.weight", 0), ("0.bias", 0), ("2.weight", 1)]]
    torch.manual_seed(0)
    model = net()
    other = renamed(model, groups=groups)
    assert distance(model, other) > 0
    assert distance(model, aligned(other, to=model, groups=groups)) == 0


def test_neither_model_is_touched(model):
    other = renamed(model).train()
    before = [{name: value.clone() for name, value in one.state_dict().items()} for one in (model, other)]
    moved = aligned(other, to=model)
    for one, state in zip((model, other), before, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in one.state_dict().items())
    assert moved.training
    assert not model.training


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([[("nought", 0)]], "axis 0 of nought, which MLP has not"),
        ([[("head.bias", 1)]], "axis 1 of head.bias, which MLP has not"),
        ([[("head.weight", 1)], [("head.weight", 1)]], r"is in groups\[0\] and in groups\[1\]"),
        ([[("trunk.0.weight", 0), ("trunk.2.weight", 0)]], "axis 0 of trunk.0.weight has 7 and axis 0 of trunk.2"),
        ([[("square.weight", 0), ("square.weight", 1)]], "two axes of square.weight"),
        ([[("trunk.0.weight", 0), ("head.weight", 1)]], r"groups\[0\] must name axis 0 of trunk.0.bias, too"),
    ],
)
def test_groups_that_cannot_be_are_told(groups, told):
    model = MLP((4,), 2, width=7, layers=1)
    model.trunk.add_module("2", nn.Linear(7, 3))
    model.square = nn.Linear(3, 3)
    with pytest.raises(InputError, match=told):
        renamed(model, groups=groups)


def test_models_of_two_architectures_are_told():
    with pytest.raises(InputError, match="must have the same architecture"):
        aligned(MLP((4,), 2, width=8), to=MLP((4,), 2, width=9))
    with pytest.raises(InputError, match="of Linear are not known"):
        aligned(nn.Linear(2, 2), to=nn.Linear(2, 2))


def test_the_same_is_found_every_time(model):
    np.random.seed(0)  # noqa: NPY002  somebody's global state, which must not matter
    first = aligned(renamed(model, seed=5), to=renamed(model, seed=6))
    np.random.seed(1)  # noqa: NPY002
    assert distance(first, aligned(renamed(model, seed=5), to=renamed(model, seed=6))) == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_model_on_a_gpu_stays_there():
    model = MLP((5,), 3, width=16)
    back = aligned(renamed(model).cuda(), to=model)
    assert all(value.is_cuda for value in back.parameters())
    assert distance(back.cpu(), model) == 0
