import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dissensus.base.errors import InputError
from dissensus.diagnostics.barrier import barrier, barrier_with_reset_statistics
from dissensus.models import MLP, SmallCNN


@pytest.fixture
def images():
    torch.manual_seed(0)
    return torch.randn(60, 1, 12, 12), np.random.default_rng(0).dirichlet(np.ones(4), size=60)


def net(seed, images, steps=10):
    """A small net with batch-norm, trained a little: its statistics and weights are not the initial ones."""
    torch.manual_seed(seed)
    model = SmallCNN((1, 12, 12), 4, width=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(images[0]), torch.from_numpy(images[1]).float()).backward()
        optimizer.step()
    return model.eval()


def at(a, b, alpha):
    """The model at alpha, by hand."""
    model = copy.deepcopy(a)
    there = b.state_dict()
    model.load_state_dict(
        {
            name: (1 - alpha) * value + alpha * there[name] if value.is_floating_point() else value
            for name, value in a.state_dict().items()
        }
    )
    return model.eval()


def loss(model, x, targets):
    with torch.no_grad():
        return F.cross_entropy(model(x).double(), torch.as_tensor(targets)).item()


def test_between_a_model_and_itself_there_is_none(images):
    model = net(0, images)
    found = barrier(model, copy.deepcopy(model), *images)
    assert found.height == 0
    assert np.ptp(found.losses) == 0
    assert found.standard_error == pytest.approx(0, abs=1e-12)
    assert barrier_with_reset_statistics(model, model, *images, images[0]).height == 0


@pytest.mark.parametrize("hard", [False, True])
def test_losses_are_those_of_the_interpolated_models(images, hard):
    x, targets = images
    targets = targets.argmax(1) if hard else targets
    a, b = net(0, images), net(1, images)
    found = barrier(a, b, x, targets, points=5, chunk=7)
    np.testing.assert_array_equal(found.alphas, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(found.losses, [loss(at(a, b, alpha), x, targets) for alpha in found.alphas], rtol=1e-5)
    line = found.losses[0] + found.alphas * (found.losses[-1] - found.losses[0])
    assert found.height == pytest.approx((found.losses - line).max())


def test_the_ends_are_the_models_themselves_to_the_bit(images):
    a, b = net(0, images), net(1, images)
    found = barrier(a, b, *images, points=3)
    assert found.losses[0] == barrier(a, a, *images, points=3).losses[0]
    assert found.losses[-1] == barrier(b, b, *images, points=3).losses[0]


def test_two_perfect_models_of_opposite_sign_have_a_known_barrier():
    """Two linear layers, both with the other sign: the same function. In the middle all weights are 0."""

    def two(sign):
        model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False))
        with torch.no_grad():
            model[0].weight.fill_(sign * 3.0)
            model[1].weight.copy_(torch.tensor([[sign * 3.0], [-sign * 3.0]]))
        return model

    x, labels = torch.tensor([[1.0], [-1.0]]), np.array([0, 1])
    found = barrier(two(1), two(-1), x, labels)
    end = np.log1p(np.exp(-18))
    np.testing.assert_allclose(found.losses[[0, 10, 20]], [end, np.log(2), end], rtol=1e-5)
    assert found.height == pytest.approx(np.log(2) - end)
    assert found.standard_error == pytest.approx(0, abs=1e-9)


def test_a_convex_loss_has_no_barrier(images):
    a, b = MLP((144,), 4, layers=1), MLP((144,), 4, layers=1)
    b.load_state_dict(a.state_dict())
    nn.init.normal_(b.head.weight)  # only the last layer differs, in which cross-entropy is convex
    found = barrier(a, b, *images)
    assert found.height == 0
    assert (np.diff(found.losses, 2) >= -1e-6).all()


def test_reset_statistics_are_those_of_the_data_in_the_interpolated_model(images):
    x, targets = images
    a, b = net(0, images), net(1, images)
    found = barrier_with_reset_statistics(a, b, x, targets, x, points=3, chunk=100)
    middle = at(a, b, 0.5)
    norms = [module for module in middle.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = 1.0
    with torch.no_grad():
        middle.train()(x)
    assert found.losses[1] == pytest.approx(loss(middle.eval(), x, targets), rel=1e-5)
    assert found.losses[1] != barrier(a, b, x, targets, points=3).losses[1]


def test_all_batches_of_the_statistics_count_alike(images):
    """With batches of one size the mean of the statistics is the mean over items, whatever is left over."""
    x, targets = images
    model = net(0, images)
    few = barrier_with_reset_statistics(model, model, x, targets, x[:51], points=3, chunk=50)  # 26 and 25, not 50 and 1
    one = barrier_with_reset_statistics(model, model, x, targets, x[:51], points=3, chunk=51)
    assert few.losses[0] == pytest.approx(one.losses[0], rel=0.05)


def test_neither_model_is_touched(images):
    a, b = net(0, images).train(), net(1, images)
    before = [{name: value.clone() for name, value in model.state_dict().items()} for model in (a, b)]
    barrier(a, b, *images, points=3)
    barrier_with_reset_statistics(a, b, *images, images[0], points=3)
    for model, state in zip((a, b), before, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert a.training
    assert not b.training
    assert a.trunk[1].momentum == 0.1


def test_the_standard_error_is_that_of_other_items():
    """The spread of the height over fresh draws of items is what the standard error says."""
    torch.manual_seed(0)
    a, b = MLP((3,), 3, width=16, layers=1), MLP((3,), 3, width=16, layers=1)
    for parameter in a.parameters():
        nn.init.normal_(parameter)
    with torch.no_grad():  # the same function, its hidden units in reverse
        for name, value in b.named_parameters():
            here = a.get_parameter(name)
            value.copy_(here.flip(0) if name.startswith("trunk") else here.flip(1) if value.ndim == 2 else here)
    found = []
    for _ in range(60):
        x = torch.randn(200, 3)
        found.append(barrier(a, b, x, a(x).argmax(1), points=3))
    heights = [one.height for one in found]
    assert np.mean(heights) > 0.1
    assert np.std(heights) == pytest.approx(np.mean([one.standard_error for one in found]), rel=0.3)


def test_what_does_not_fit_is_told(images):
    x, targets = images
    a = net(0, images, steps=0)
    with pytest.raises(InputError, match=r"trunk\.0\.weight has the shape \(4, 1, 3, 3\) in the first"):
        barrier(a, SmallCNN((1, 12, 12), 4, width=5), x, targets)
    with pytest.raises(InputError, match="inputs has 60, targets has 59"):
        barrier(a, a, x, targets[1:])
    with pytest.raises(InputError, match="targets have 3 classes, but the model has 4"):
        barrier(a, a, x, np.full((60, 3), 1 / 3))
    with pytest.raises(InputError, match="targets must have rows that sum to 1"):
        barrier(a, a, x, 2 * targets)
    with pytest.raises(InputError, match="points must be a whole number of at least 3, but it is 2"):
        barrier(a, a, x, targets, points=2)
    with pytest.raises(InputError, match=r"MLP has no batch-norm statistics to reset\. Use barrier"):
        barrier_with_reset_statistics(MLP((4,), 2), MLP((4,), 2), x, targets, x)
    with pytest.raises(InputError, match="at least two items, but they hold 1"):
        barrier_with_reset_statistics(a, a, x, targets, x[:1])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_losses_on_a_gpu_are_those_on_the_processor(images):
    x, targets = images
    a, b = net(0, images), net(1, images)
    expected = barrier_with_reset_statistics(a, b, x, targets, x, points=3)
    found = barrier_with_reset_statistics(a.cuda(), b, x.cuda(), torch.from_numpy(targets).cuda(), x, points=3)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-2)
    assert barrier(a, b, x, targets, points=3).losses.shape == (3,)
