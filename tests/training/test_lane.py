from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dissensus.base.errors import InputError
from dissensus.models import make
from dissensus.training.engine import Engine
from dissensus.training.inputs import Normalise
from dissensus.training.lane import Lane, kind_of
from dissensus.training.recipe import Recipe

MLP = make("mlp", (5,), 3)


def kind(model: nn.Module, recipe: Recipe = Recipe(), loss=F.cross_entropy, engine: Engine = Engine()):  # noqa: B008
    return kind_of(model, loss, recipe, engine)


def test_runs_of_one_kind_differ_in_weights_rate_and_images() -> None:
    assert kind(MLP()) == kind(MLP(), Recipe(epochs=3, lr=0.5, schedule="constant", mixup=1.0, mean=[0.1], std=[1.0]))
    dropout = lambda p: nn.Sequential(nn.Linear(5, 3), nn.Dropout(p))  # noqa: E731
    assert kind(dropout(0.1)) == kind(dropout(0.1))


@pytest.mark.parametrize(
    "other",
    [
        kind(make("mlp", (5,), 4)()),
        kind(make("mlp", (5,), 3, layers=3)()),
        kind(MLP(), Recipe(batch_size=64)),
        kind(MLP(), Recipe(precision="bf16")),
        kind(MLP(), Recipe(weight_decay=0.0)),
        kind(MLP(), loss=F.binary_cross_entropy_with_logits),
        kind(MLP(), engine=Engine(graph=False)),
    ],
)
def test_other_kinds_are_told_apart(other: object) -> None:
    assert kind(MLP()) != other


def test_what_the_weights_do_not_show_makes_another_kind() -> None:
    class Scaled(nn.Linear):
        def __init__(self, by: object) -> None:
            super().__init__(5, 3)
            self.by = by

    assert kind(Scaled(2)) == kind(Scaled(2)) != kind(Scaled(3))
    assert kind(Scaled((1, (2,)))) == kind(Scaled((1, (2,))))
    assert kind(nn.Sequential(nn.Dropout(0.1))) != kind(nn.Sequential(nn.Dropout(0.2)))
    function = Scaled(torch.relu)
    assert kind(function) != kind(function)  # it cannot be compared


def test_on_a_cpu_every_run_has_a_learner_of_its_own() -> None:
    lane, x = Lane(keeps=True), torch.randn(4, 5)
    model = MLP()
    learner = lane.learner(model, Normalise.by(Recipe(), x), F.cross_entropy, Recipe(), Engine())
    assert learner.model is model
    assert lane.kept is None


def test_a_model_on_another_gpu_is_refused() -> None:
    lane = Lane()
    lane.check(torch.device("cpu"))
    lane.stream = SimpleNamespace(device=torch.device("cuda", 0))  # type: ignore[assignment]
    lane.check(torch.device("cuda", 0))
    with pytest.raises(
        InputError, match=r"on cuda:1, but the current device is cuda:0. Call torch.cuda.set_device\(1\)"
    ):
        lane.check(torch.device("cuda", 1))


def test_turns_do_not_disturb_each_other() -> None:
    def draws(lanes: list[Lane]) -> list[float]:
        found = []
        for turn in range(3):
            for number, lane in enumerate(lanes):
                with lane.turn() as reseed:
                    reseed(number, "layers", turn)
                    found.append((number, turn, float(torch.rand(1))))
        return sorted(found)

    before = torch.get_rng_state()
    together = draws([Lane(), Lane()])
    assert [draw for draw in together if draw[0] == 0] == draws([Lane()])
    assert torch.equal(torch.get_rng_state(), before)
