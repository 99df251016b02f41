import numpy as np
import pytest
import torch
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.gradcam import gradcam
from dissensus.models import ResNet18, SmallCNN


def trained_a_little(model, shape):
    with torch.no_grad():
        model(torch.randn(64, *shape))  # batch-norm statistics that are not the initial ones
    return model


@pytest.fixture
def cnn():
    torch.manual_seed(0)
    return trained_a_little(SmallCNN((3, 24, 24), 5, width=6), (3, 24, 24))


@pytest.fixture
def resnet():
    torch.manual_seed(0)
    return trained_a_little(ResNet18((3, 16, 16), 5, width=4), (3, 16, 16))


def by_captum(model, layer, x, classes):
    from captum.attr import LayerGradCam

    return LayerGradCam(model.eval(), layer).attribute(x, target=classes, relu_attributions=True).detach()[:, 0].numpy()


def test_the_last_block_of_a_resnet_as_captum_has_it(resnet):
    x, classes = torch.randn(9, 3, 16, 16), torch.arange(9) % 5
    for layer in (resnet.stages[-1], resnet.stages[3], resnet.stages[2].conv1, resnet.stem):
        expected = by_captum(resnet, layer, x, classes)
        assert expected.max() > 0
        found = gradcam(resnet, layer, x, classes.numpy(), chunk=4)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * expected.max())


def test_a_layer_whose_output_is_overwritten_in_place_as_captum_has_it(cnn):
    x, classes = torch.randn(6, 3, 24, 24), torch.tensor([0, 1, 2, 3, 4, 0])
    assert cnn.trunk[8].inplace
    found = gradcam(cnn, cnn.trunk[7], x, classes)
    expected = by_captum(cnn, cnn.trunk[7], x, classes)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * expected.max())


def test_for_a_mean_over_places_and_a_linear_layer_it_is_the_class_activation_map(cnn):
    """Zhou et al. (2016): there the weights are the layer's own, over the number of places."""
    x, classes = torch.randn(4, 3, 24, 24), [3, 1, 0, 2]
    with torch.no_grad():
        maps = cnn.eval().trunk(x)
        expected = torch.einsum("ic,ichw->ihw", cnn.head.weight[classes], maps).relu() / 9
    np.testing.assert_allclose(gradcam(cnn, cnn.trunk, x, classes), expected, rtol=1e-4, atol=1e-7)


def test_the_model_stays_as_it_was(cnn):
    cnn.train()
    cnn.trunk[1].eval()
    for parameter in cnn.parameters():
        parameter.requires_grad_(False)
    modes = [module.training for module in cnn.modules()]
    state = {name: value.clone() for name, value in cnn.state_dict().items()}
    with torch.no_grad():  # a caller's, and maps all the same
        assert gradcam(cnn, cnn.trunk, np.ones((3, 3, 24, 24), np.float32), [0, 1, 2]).shape == (3, 3, 3)
    assert [module.training for module in cnn.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in cnn.state_dict().items())
    assert all(parameter.grad is None for parameter in cnn.parameters())
    assert not any(module._forward_hooks for module in cnn.modules())


def test_what_cannot_be_mapped_is_told(cnn):
    x = torch.zeros(2, 3, 24, 24)
    with pytest.raises(InputError, match="layer must be a module of SmallCNN"):
        gradcam(cnn, nn.Conv2d(3, 3, 1), x, [0, 1])
    with pytest.raises(InputError, match=r"its output has the shape \(2, 5\)"):
        gradcam(cnn, cnn.head, x, [0, 1])
    with pytest.raises(InputError, match="inputs has 2, classes has 1"):
        gradcam(cnn, cnn.trunk, x, [0])
    with pytest.raises(InputError, match=r"classes must be one class an item, \(items,\), but their shape is \(\)"):
        gradcam(cnn, cnn.trunk, x, 1)
    with pytest.raises(InputError, match="classes must lie in 0 to 4, but item 1 has 5"):
        gradcam(cnn, cnn.trunk, x, [0, 5])
    with pytest.raises(InputError, match="inputs hold no items"):
        gradcam(cnn, cnn.trunk, x[:0], [])
    twice = nn.Sequential(relu := nn.ReLU(), nn.Conv2d(3, 3, 1), relu, nn.Flatten(), nn.Linear(12, 2))
    with pytest.raises(InputError, match="it was used 2 times"):
        gradcam(twice, relu, torch.zeros(1, 3, 2, 2), [0])


@pytest.mark.parametrize("frozen", [False, True])
def test_a_layer_beside_the_way_to_the_logits_is_told(frozen):
    class Aside(nn.Module):
        def __init__(self):
            super().__init__()
            self.aside, self.head = nn.Conv2d(3, 3, 1), nn.Linear(12, 2)

        def forward(self, x):
            self.aside(x)
            return self.head(x.flatten(1))

    model = Aside().requires_grad_(not frozen)
    with pytest.raises(InputError, match="the logits do not depend on what layer puts out"):
        gradcam(model, model.aside, torch.zeros(1, 3, 2, 2), [0])


def test_a_layer_that_puts_out_more_than_a_tensor_is_told():
    class Last(nn.Module):
        def forward(self, found):
            return found[0][:, -1]

    model = nn.Sequential(nn.LSTM(3, 4, batch_first=True), Last(), nn.Linear(4, 2))
    with pytest.raises(InputError, match="must put out a tensor, but LSTM puts out a tuple"):
        gradcam(model, model[0], torch.zeros(1, 5, 3), [0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_maps_on_a_gpu_are_those_on_the_processor(resnet):
    x, classes = torch.randn(9, 3, 16, 16), torch.arange(9) % 5
    expected = gradcam(resnet, resnet.stages[-1], x, classes)
    found = gradcam(resnet.cuda(), resnet.stages[-1], x.cuda(), classes.cuda())
    np.testing.assert_allclose(found, expected, atol=1e-2 * expected.max())
