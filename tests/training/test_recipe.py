from __future__ import annotations

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.training import Recipe, Seeds


def test_the_defaults_never_change() -> None:
    assert dataclasses.asdict(Recipe()) == {
        "epochs": 200,
        "batch_size": 128,
        "lr": 0.1,
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "nesterov": False,
        "schedule": "cosine",
        "crop": 0,
        "flip": False,
        "mixup": 0.0,
        "precision": "fp32",
        "mean": None,
        "std": None,
        "optimizer": "sgd",
        "warmup": 0.0,
    }
    assert Recipe.version == 1


def test_cosine_is_that_of_torch_stepped_once_an_epoch() -> None:
    recipe = Recipe(epochs=17, lr=0.3)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=17)
    for epoch in range(17):
        assert recipe.rate(epoch) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        schedule.step()


def test_constant_stays() -> None:
    recipe = Recipe(epochs=3, lr=0.3, schedule="constant")
    assert [recipe.rate(epoch) for epoch in range(3)] == [0.3, 0.3, 0.3]


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5])
def test_linear_is_that_of_transformers_step_by_step(warmup: float) -> None:
    schedules = pytest.importorskip("transformers").optimization
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    rise = math.ceil(warmup * 35)
    schedule = schedules.get_linear_schedule_with_warmup(optimizer, num_warmup_steps=rise, num_training_steps=35)
    recipe = Recipe(epochs=5, lr=0.3, schedule="linear", warmup=warmup)
    for rate in (rate for epoch in range(5) for rate in recipe.rates(epoch, steps=7)):
        assert rate == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        schedule.step()


def test_a_warm_up_comes_before_any_schedule() -> None:
    recipe = Recipe(epochs=4, lr=1.0, schedule="constant", warmup=0.25)
    assert [recipe.rates(epoch, steps=2) for epoch in range(4)] == [[0.0, 0.5], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    assert recipe.rate(0, steps=2) == 0.25


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"epochs": 0}, "a mistake: epochs must be a whole number of at least 1, but is 0."),
        ({"epochs": 2.0}, "epochs must be a whole number of at least 1, but is 2.0."),
        ({"batch_size": True}, "batch_size must be a whole number of at least 1, but is True."),
        ({"lr": 0}, "lr must be a number above 0, but is 0."),
        ({"lr": float("nan")}, "lr must be a number above 0, but is nan."),
        ({"lr": "0.1"}, "lr must be a number above 0, but is '0.1'."),
        ({"momentum": 1.0}, "momentum must be a number of at least 0 and below 1, but is 1.0."),
        ({"weight_decay": -1e-4}, "weight_decay must be a number of at least 0, but is -0.0001."),
        ({"mixup": float("inf")}, "mixup must be a number of at least 0, but is inf."),
        ({"crop": -1}, "crop must be a whole number of at least 0, but is -1."),
        ({"flip": 1}, "flip must be True or False, but is 1."),
        ({"nesterov": True, "momentum": 0}, "nesterov needs a momentum above 0."),
        ({"optimizer": "adam"}, "unknown optimizer 'adam'; did you mean 'adamw'? Choose one of: sgd, adamw."),
        ({"warmup": 1}, "warmup must be a number of at least 0 and below 1, but is 1."),
        ({"optimizer": "adamw", "nesterov": True}, "nesterov is a form of sgd, but the optimizer is adamw."),
        (
            {"schedule": "cosin"},
            "unknown schedule 'cosin'; did you mean 'cosine'? Choose one of: cosine, constant, linear.",
        ),
        ({"precision": "fp16"}, "unknown precision 'fp16'"),
        ({"mean": [0.5]}, "mean and std belong together, but only mean was given."),
        ({"mean": [0.5], "std": [0.0]}, "std must be above 0, but is (0.0,)."),
        ({"mean": [0.5, 0.5], "std": [1.0]}, "mean and std must be equally long, but have 2 and 1 numbers."),
        ({"mean": 0.5, "std": [1.0]}, "mean must be a list of numbers, one a channel or feature, but is 0.5."),
        ({"mean": ["a"], "std": [1.0]}, "mean must be a list of numbers, one a channel or feature, but is ('a',)."),
    ],
)
def test_a_mistake_is_told(mistake: dict, message: str) -> None:
    with pytest.raises(InputError) as told:
        Recipe(**mistake)
    assert message in str(told.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InputError) as told:
        Recipe(epochs=0, lr=-1, schedule="lineal", std=[1.0])
    assert str(told.value).startswith("this recipe has 4 mistakes:\n  epochs must")
    assert all(word in str(told.value) for word in ("lr", "unknown schedule 'lineal'", "only std was given"))


def test_lists_become_tuples_so_that_recipes_can_be_compared_and_hashed() -> None:
    assert hash(Recipe(mean=[0.5], std=[1.0])) == hash(Recipe(mean=(0.5,), std=(1.0,)))


def test_seeds() -> None:
    assert Seeds.of(3) == Seeds(3, 3)
    assert Seeds.of(Seeds(1, 2)) == Seeds(1, 2)
    assert Seeds.of(np.int64(3)) == Seeds(3, 3)  # a seed out of np.arange
    with pytest.raises(InputError, match=r"the init seed must be a whole number, but is 0\.5"):
        Seeds.of(0.5)  # type: ignore[arg-type]


def test_a_recipe_needs_no_torch() -> None:
    code = "import sys; from dissensus import Recipe; Recipe(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
