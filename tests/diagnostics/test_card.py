"""A card says what its instruments say, of any model, and leaves it as it was."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics import (
    aligned,
    auroc,
    barrier,
    cam_stability,
    card,
    curvature,
    energy,
    gradcam,
    gradient_variance,
    knn,
    last_layer,
    linear_cka,
    renamed,
)
from dissensus.diagnostics.card import sharpness
from dissensus.diagnostics.hvp import Hessian
from dissensus.diagnostics.registry import DIAGNOSTICS, titled
from dissensus.metrics import most_disputed
from dissensus.models import make


@pytest.fixture(scope="module")
def world():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3))
    with torch.no_grad():
        model(torch.randn(100, 4))  # running statistics of its own
    human = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=60)
    return model, torch.randn(60, 4), human, 3 * torch.randn(40, 4), torch.randn(70, 4)


@pytest.fixture(scope="module")
def rows(world):
    model, x, human, outside, bank = world
    found = card(model, x, human, outside={"far": outside}, bank=bank)
    return {(row.name, row.slice): row for row in found}


def test_every_row_has_a_title_a_meaning_and_an_interval(rows):
    for row in rows.values():
        assert row.name in DIAGNOSTICS
        assert titled(row)
        assert row.low <= row.value <= row.high


def test_it_is_what_the_instruments_say(world, rows):
    model, x, human, outside, bank = world
    for part, index in (("all", np.arange(60)), ("disputed", most_disputed(human))):
        found = curvature(model, x[index], human[index])
        assert rows["top_eigenvalue", part].value == pytest.approx(found.top_eigenvalue)
        assert rows["trace", part].value == pytest.approx(found.trace)
        assert rows["trace", part].high - found.trace == pytest.approx(1.96 * found.trace_se, rel=1e-3)
        scaled, units = rows["trace_times_norm", part], found.weight_norm**2
        assert scaled.value == pytest.approx(found.trace_times_norm)
        assert scaled.high - scaled.value == pytest.approx(1.96 * found.trace_se * units, rel=1e-3)
        assert rows["top_eigenvalue", part].items == len(index)
    inside, away, known = (last_layer(model, items) for items in (x, outside, bank))
    assert rows["gradient_variance", "all"].value == pytest.approx(gradient_variance(inside.features, human).mean())
    assert rows["energy_auroc", "all"].value == auroc(energy(inside.logits), energy(away.logits))
    near = [knn(items.features, known.features, 50) for items in (inside, away)]
    assert rows["knn_auroc", "all"].value == auroc(*near)
    assert rows["knn_auroc", "all"].other == "far"


def test_without_probes_the_eigenvalues_are_the_same_and_no_form_is_asked_for(world, rows, monkeypatch):
    model, x, human, _, _ = world
    monkeypatch.setattr(Hessian, "forms", None)
    monkeypatch.setattr(Hessian, "forms_by_item", None)
    found = list(sharpness(model, x, human, probes=0))
    assert [(row.name, row.slice) for row in found] == [
        (name, part) for part in ("all", "disputed") for name in ("top_eigenvalue", "filter_normalised_top")
    ]
    for row in found:
        assert row == rows[row.name, row.slice]


def test_without_a_bank_there_is_no_knn_and_without_other_sets_no_score(world):
    model, x, human, outside, _ = world
    assert "knn_auroc" not in {row.name for row in card(model, x, human, outside={"far": outside})}
    assert not any(row.name.endswith("auroc") for row in card(model, x, human))


def test_items_that_are_whole_numbers_have_all_scores_but_odin(world):
    _, _, human, *_ = world
    model, words = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 3)), torch.randint(9, (60, 2))
    names = {row.name for row in card(model, words, human, outside={"far": words}, bank=words) if row.other}
    assert names == {f"{score}_auroc" for score in ("energy", "msp", "entropy", "margin", "knn")}


def test_the_model_is_left_as_it_was(world):
    model, x, human, outside, bank = world
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    card(model, x, human, outside={"far": outside}, bank=bank)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_bad_input(world):
    model, x, human, *_ = world
    with pytest.raises(InputError, match="inputs has 60, human has 59"):
        card(model, x, human[:59])
    with pytest.raises(InputError, match="sum to 1"):
        card(model, x, 20 * human)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_instrument_takes_a_resnet_on_a_gpu():
    """A ResNet-18 of full size: its card against float64, its maps, and the line to itself with its units renamed."""
    torch.manual_seed(0)
    model = make("resnet18", (3, 32, 32), 10)().cuda()
    x, human = torch.randn(100, 3, 32, 32), np.random.default_rng(0).dirichlet(np.ones(10), 100)
    with torch.no_grad():
        model(x.cuda())  # statistics that are not the initial ones
    one = card(model, x, human, outside={"far": 3 * x}, bank=x)
    two = card(copy.deepcopy(model).double(), x, human, outside={"far": 3 * x}, bank=x)
    for row, truth in zip(one, two, strict=True):
        assert row.name == truth.name
        assert row.value == pytest.approx(truth.value, rel=0.02, abs=0.02), row.name
    maps = gradcam(model, model.stages[-1], x, human.argmax(1))
    assert cam_stability(maps, maps).mean == pytest.approx(1)
    other = renamed(model)
    back = aligned(other, to=model)
    assert not torch.equal(other.stem.weight, model.stem.weight)
    assert all(map(torch.equal, back.parameters(), model.parameters()))
    assert barrier(model, back, x, human, points=3).height == pytest.approx(0, abs=1e-5)
    here, there = (last_layer(each, x).features for each in (model, other))
    assert linear_cka(here, there) == pytest.approx(1, abs=1e-3)
