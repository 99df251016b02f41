import copy

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.diagnostics import Hessian, curvature
from dissensus.diagnostics.curvature import filter_norms
from dissensus.models import make


def test_all_numbers_are_those_of_the_exact_hessian(batch_norm_net):
    told = curvature(*batch_norm_net.given, tolerance=1e-3)
    assert told.top_eigenvalue == pytest.approx(batch_norm_net.values[0], rel=1e-4)
    assert abs(told.trace - batch_norm_net.trace) < 4 * told.trace_se
    assert abs(told.deflated_trace - batch_norm_net.trace) < 4 * told.deflated_trace_se
    assert told.deflated_trace_se < 0.7 * told.trace_se
    weights = torch.cat([value.detach().flatten() for value in batch_norm_net.model.parameters()])
    assert told.weight_norm == pytest.approx(float(weights.norm()))
    assert told.trace_times_norm == pytest.approx(told.trace * told.weight_norm**2)
    scale = filter_norms(Hessian(*batch_norm_net.given)).numpy()
    expected = np.linalg.eigvalsh(scale[:, None] * batch_norm_net.hessian * scale)[-1]
    assert told.filter_normalised_top == pytest.approx(expected, rel=1e-3)
    assert told.products > 50 + 5
    assert told.seconds > 0


def test_the_norm_of_a_filter_stands_for_each_of_its_weights():
    model = nn.Sequential(nn.Conv2d(1, 2, (1, 2)), nn.Flatten())
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([3.0, 4.0, 0.0, 2.0]).reshape(2, 1, 1, 2))
        model[0].bias.copy_(torch.tensor([-7.0, 1.0]))
    hessian = Hessian(model, torch.randn(5, 1, 1, 2), torch.arange(5) % 2)
    assert filter_norms(hessian).tolist() == [5, 5, 2, 2, 7, 1]


def test_the_same_function_with_other_weights_has_the_same_filter_normalised_top():
    """Rectifiers: the weights of one layer times 3, of the next divided by 3; the plain eigenvalue changes."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3)).double()
    scaled = copy.deepcopy(model)
    with torch.no_grad():
        scaled[0].weight *= 3
        scaled[0].bias *= 3
        scaled[2].weight /= 3
    given = torch.randn(40, 5), torch.randint(3, (40,))
    one, other = (curvature(each, *given, probes=2, tolerance=1e-4) for each in (model, scaled))
    assert other.filter_normalised_top == pytest.approx(one.filter_normalised_top, rel=1e-3)
    assert abs(other.top_eigenvalue / one.top_eigenvalue - 1) > 0.5


def test_a_filter_before_a_norm_can_have_any_scale():
    torch.manual_seed(0)
    model = make("small-cnn", (3, 8, 8), 4, width=4)().double()
    inputs, targets = torch.randn(30, 3, 8, 8), torch.randint(4, (30,))
    model(inputs.double())  # the statistics have seen these items
    scaled = copy.deepcopy(model)
    conv, norm = scaled.trunk[0], scaled.trunk[1]
    norm.eps = model.trunk[1].eps = 0.0
    factors = torch.tensor([0.2, 1.0, 3.0, 7.0]).double()
    with torch.no_grad():
        conv.weight *= factors[:, None, None, None]
        norm.running_mean *= factors
        norm.running_var *= factors**2
    one, other = (curvature(each, inputs, targets, probes=2, tolerance=1e-4) for each in (model, scaled))
    assert other.filter_normalised_top == pytest.approx(one.filter_normalised_top, rel=1e-3)
