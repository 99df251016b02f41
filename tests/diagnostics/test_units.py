import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.units import unit_groups
from dissensus.models import MLP, MODELS, ResNet18, SmallCNN, make

SHAPE = (3, 16, 16)


@pytest.fixture(params=MODELS)
def model(request):
    return make(request.param, SHAPE, 5, width=4)()


def test_every_model_has_groups_and_they_name_every_axis_of_hidden_units_once(model):
    axes = [member for group in unit_groups(model) for member in group]
    assert len(set(axes)) == len(axes)
    hidden = {
        (name, axis)
        for name, value in model.state_dict().items()
        for axis in range(min(value.ndim, 2))
        if not (name.startswith("head") and axis == 0)  # classes
    } - {(first_weight(model), 1)}  # colours or pixels
    assert set(axes) == hidden


def first_weight(model):
    return next(name for name, value in model.state_dict().items() if value.ndim > 1)


def test_the_axes_of_a_group_are_equally_long(model):
    weights = model.state_dict()
    for group in unit_groups(model):
        assert len({weights[name].shape[axis] for name, axis in group}) == 1


def test_a_resnet_has_a_stream_a_stage_and_a_group_inside_of_every_block():
    groups = unit_groups(ResNet18(SHAPE, 5, width=4))
    assert len(groups) == 4 + 8
    assert sorted(len(group) for group in groups)[:8] == [6] * 8  # out, four of the norm, in


def test_layers_in_a_row_have_a_group_each():
    assert [len(group) for group in unit_groups(SmallCNN(SHAPE, 5))] == [6, 6, 6]
    assert [len(group) for group in unit_groups(MLP(SHAPE, 5, layers=3))] == [3, 3, 3]


def test_an_unknown_model_is_told_what_to_pass():
    with pytest.raises(InputError, match=r"hidden units of Sequential are not known\. Pass groups"):
        unit_groups(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)))


def test_asking_for_groups_draws_no_random_numbers(model):
    before = torch.get_rng_state()
    unit_groups(model)
    assert torch.equal(torch.get_rng_state(), before)
