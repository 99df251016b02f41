"""The step of our own kernels against autograd and torch.optim.SGD.

Without a GPU the kernels run in triton's interpreter, in fp32 and with the library's convolutions, in a process of
their own: triton decides when it is imported how kernels run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from copy import deepcopy
from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dissensus.models.resnet18 import ResNet18
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner, PlainLearner
from dissensus.training.recipe import Recipe

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")

KINDS = ("labels", "rows", "mixed")


def batch(kind: str, items: int, device: str) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    random = torch.Generator().manual_seed(1)
    x = torch.randint(0, 256, (items, 3, 32, 32), generator=random, dtype=torch.uint8)
    y = torch.randint(0, 10, (items,), generator=random)
    if kind == "rows":
        y = torch.softmax(torch.randn(items, 10, generator=random), 1)
    share = partner = None
    if kind == "mixed":
        share, partner = torch.tensor(0.3).to(device), torch.randperm(items, generator=random).to(device)
    return x.to(device).contiguous(memory_format=torch.channels_last), y.to(device), share, partner


def learners(device: str, precision: str, hopper: bool, **options: object) -> tuple[Learner, Learner]:
    """The plain one in fp32, and ours, with the same initial weights."""
    from dissensus.training.fused.resnet import FusedResNet

    recipe = Recipe(lr=0.1, mean=(0.49, 0.48, 0.44), std=(0.24, 0.24, 0.26), **options)
    torch.manual_seed(0)
    model = ResNet18((3, 32, 32), 10).to(device)
    prepare = Normalise.by(recipe, torch.zeros(1, 3, 32, 32, dtype=torch.uint8)).to(torch.device(device))
    plain = PlainLearner(deepcopy(model), prepare, F.cross_entropy, recipe, Engine())
    ours = FusedResNet(deepcopy(model), prepare, Recipe(**{**vars(recipe), "precision": precision}), hopper=hopper)
    return plain, ours


def distance(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm().clamp_min(1e-9))


def differences(plain: Learner, ours: Learner) -> dict[str, float]:
    """By parameter, how far the momentum (after one step: the gradient) is from that of autograd."""
    names = [name for name, _ in plain.model.named_parameters()]
    return {name: distance(b, a) for name, a, b in zip(names, plain.momentum, ours.momentum, strict=True)}


def stepped(learner: Learner, state: list[Tensor], kind: str, device: str) -> list[Tensor]:
    """The state of a learner after a step from this one, as from a checkpoint; the loss comes last."""
    x, y, share, partner = batch(kind, 2 if device == "cpu" else 64, device)
    with torch.no_grad():
        for mine, saved in zip(learner.tensors(), state, strict=True):
            mine.copy_(saved)
    learner.refresh()
    loss = learner.step(x, y, torch.tensor(0.1, device=device), share, partner)
    return [tensor.clone() for tensor in (*learner.tensors(), loss)]


def apart(one: list[Tensor], other: list[Tensor]) -> float:
    torch.testing.assert_close(one[-1], other[-1], rtol=1e-3, atol=0)
    return max(distance(b, a) for a, b in zip(one, other, strict=True))


def in_the_interpreter() -> None:
    from dissensus.training.fused import norm, stem, update

    # few large programs: each costs the interpreter milliseconds
    norm.TILE, norm.PROGRAMS, stem.PIXELS, update.BLOCK = 1 << 17, 2, 2048, 1 << 20
    rate = torch.tensor(0.1)
    for kind in KINDS:
        plain, ours = learners("cpu", "tf32", hopper=False, nesterov=kind == "rows")
        x, y, share, partner = batch(kind, 2, "cpu")
        loss, same = (learner.step(x, y, rate, share, partner) for learner in (plain, ours))
        torch.testing.assert_close(same, loss, rtol=1e-5, atol=0)
        # two items: a ReLU that is at zero up to rounding may fall to the other side, which moves a few gradients
        found = sorted(differences(plain, ours).values())
        assert found[len(found) // 2] < 1e-4, (kind, found)
        assert found[-1] < 0.02, (kind, found)
        torch.testing.assert_close(ours.logits(x), plain.logits(x), rtol=1e-3, atol=1e-3)
        for name, value in plain.model.state_dict().items():
            assert distance(ours.model.state_dict()[name], value) < 0.02, (kind, name)
            if "running" in name:  # no gradient comes near these
                torch.testing.assert_close(ours.model.state_dict()[name], value, rtol=1e-4, atol=1e-5, msg=name)
        assert not ours.weights.grad.any()  # type: ignore[attr-defined]
        if kind == "rows":
            state = [tensor.clone() for tensor in ours.tensors()]
            other = learners("cpu", "tf32", hopper=False, nesterov=True)[1]
            assert apart(*(stepped(learner, state, kind, "cpu") for learner in (ours, other))) < 1e-4
        fresh = ResNet18((3, 32, 32), 10)
        ours.reset(fresh, ours.prepare)  # type: ignore[attr-defined]
        assert all(torch.equal(a, b) for a, b in zip(ours.model.parameters(), fresh.parameters(), strict=True))
        assert not any(buffer.any() for buffer in ours.momentum)


def test_a_step_is_that_of_autograd_and_sgd() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-W", "ignore", __file__], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hopper", [False, True])
@pytest.mark.parametrize("items", [128, 64, 30])
def test_a_step_in_bf16_is_as_near_to_fp32_as_autocast_is(kind: str, hopper: bool, items: int) -> None:
    from dissensus.training.fused.hopper import usable

    if hopper and not usable(torch.device("cuda")):
        pytest.skip("no Hopper GPU")
    plain, ours = learners("cuda", "bf16", hopper)
    recipe = Recipe(precision="bf16")
    auto = PlainLearner(deepcopy(plain.model), plain.prepare, F.cross_entropy, recipe, Engine())  # type: ignore[attr-defined]
    x, y, share, partner = batch(kind, items, "cuda")
    rate = torch.tensor(0.1, device="cuda")
    torch.backends.cudnn.allow_tf32 = False
    loss, same, _ = (learner.step(x, y, rate, share, partner) for learner in (plain, ours, auto))
    assert distance(same, loss) < 0.01
    found, allowed = differences(plain, ours), differences(plain, auto)
    assert all(found[name] < 1.5 * allowed[name] + 0.02 for name in found), (found, allowed)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_learner_in_bf16_goes_on_from_the_state_of_another() -> None:
    """No farther apart than one learner is from itself.

    Sums whose order is left to the GPU differ in their last digit, and with bf16 that grows to several percent of some
    gradients within one step; momentum or statistics that were forgotten would be half of them and more.
    """
    from dissensus.training.fused.hopper import usable

    first, second = (learners("cuda", "bf16", usable(torch.device("cuda")))[1] for _ in range(2))
    x, y, *_ = batch("labels", 64, "cuda")
    for _ in range(3):
        first.step(x, y, torch.tensor(0.01, device="cuda"))
    state = [tensor.clone() for tensor in first.tensors()]
    once, again, other = (stepped(learner, state, "labels", "cuda") for learner in (first, first, second))
    assert apart(once, other) < 2 * apart(once, again) + 0.02


if __name__ == "__main__":
    in_the_interpreter()
