from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dissensus.training.choose import learner_for
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner, PlainLearner
from dissensus.training.recipe import Recipe

RECIPE = Recipe(lr=0.1, momentum=0.9, weight_decay=1e-2)
X = torch.randint(0, 256, (12, 3, 5, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
Y = torch.arange(12) % 4
RATE = torch.tensor(0.1, dtype=torch.float64)


def net(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 4))


def learner(seed: int, recipe: Recipe = RECIPE, engine: Engine = Engine()) -> Learner:  # noqa: B008
    return learner_for(net(seed), Normalise.by(recipe, X), F.cross_entropy, recipe, engine)


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def test_a_cpu_gets_the_plain_one() -> None:
    assert isinstance(learner(0), PlainLearner)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_is_that_of_sgd(momentum: float) -> None:
    recipe = Recipe(momentum=momentum, weight_decay=1e-2)
    ours, theirs = learner(0, recipe), net(0)
    optimizer = torch.optim.SGD(theirs.parameters(), 0.1, momentum=momentum, weight_decay=1e-2)
    x = Normalise.by(recipe, X)(X)
    for _ in range(3):
        loss = F.cross_entropy(theirs(x), Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.testing.assert_close(ours.step(X, Y, RATE), loss.detach())
    for p, q in zip(ours.model.state_dict().values(), theirs.state_dict().values(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-6)


def test_the_rate_is_that_of_the_step() -> None:
    ours = learner(0)
    before = copy.deepcopy(ours.model)
    ours.step(X, Y, torch.tensor(0.0, dtype=torch.float64))
    assert all(torch.equal(p, q) for p, q in zip(before.parameters(), ours.model.parameters(), strict=True))


def test_momentum_is_live_and_in_the_order_of_the_parameters() -> None:
    ours = learner(0)
    buffers = list(ours.momentum)
    assert [buffer.shape for buffer in buffers] == [p.shape for p in ours.model.parameters()]
    assert not any(buffer.any() for buffer in buffers)
    ours.step(X, Y, RATE)
    before = [p.detach().clone() for p in ours.model.parameters()]
    ours.step(X, Y, RATE)
    for p, q, buffer in zip(before, ours.model.parameters(), buffers, strict=True):
        torch.testing.assert_close(q, p - 0.1 * buffer, rtol=1e-4, atol=1e-6)


def test_gradients_do_not_outlive_a_step() -> None:
    ours = learner(0)
    ours.step(X, Y, RATE)
    assert all(p.grad is None for p in ours.model.parameters())


def test_logits_are_of_evaluation_mode_and_change_nothing() -> None:
    ours = learner(0)
    ours.step(X, Y, RATE)
    before = copy.deepcopy(ours.model)
    found = ours.logits(X[:5])
    assert same(before, ours.model)
    assert ours.model.training
    expected = before.eval()(Normalise.by(RECIPE, X)(X[:5]))
    torch.testing.assert_close(found, expected)
    assert not found.requires_grad


def test_after_reset_it_is_the_learner_of_the_other_model() -> None:
    again, fresh = learner(0), learner(1)
    tensors = again.tensors()
    for _ in range(3):
        again.step(X, Y, RATE)
    other = Normalise(2 * fresh.prepare.scale, fresh.prepare.shift)  # type: ignore[attr-defined]
    fresh = PlainLearner(net(1), other, F.cross_entropy, RECIPE, Engine())
    again.reset(net(1), other)
    for _ in range(2):
        assert torch.equal(again.step(X, Y, RATE), fresh.step(X, Y, RATE))
    assert same(again.model, fresh.model)
    assert all(a.data_ptr() == b.data_ptr() for a, b in zip(tensors, again.tensors(), strict=True))  # in place


@pytest.mark.parametrize("last", [True, False])
def test_filters_are_channels_last_or_not(last: bool) -> None:
    ours = learner(0, engine=Engine(channels_last=last))
    for tensor in (ours.model[0].weight, ours.momentum[0]):
        assert tensor.is_contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def test_parameters_that_do_not_train_stay() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.frozen, self.unused = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(3, 4)
            self.frozen.requires_grad_(False)

        def forward(self, x: Tensor) -> Tensor:
            return self.used(x) + self.frozen(x)

    model, x = Half(), torch.randn(12, 3)
    before = copy.deepcopy(model)
    PlainLearner(model, Normalise.by(RECIPE, x), F.cross_entropy, RECIPE, Engine()).step(x, Y, RATE)
    assert same(before.frozen, model.frozen)
    assert same(before.unused, model.unused)
    assert not same(before.used, model.used)
