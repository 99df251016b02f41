"""Against a second ResNet-18 that shares nothing with ours but the paper: transformers' configurable one."""

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.models import ResNet18, make


def test_it_has_the_published_number_of_parameters():
    model = make("resnet18", (3, 32, 32), 10)()
    assert sum(parameter.numel() for parameter in model.parameters()) == 11_173_962


def test_no_max_pool_and_a_stem_of_stride_one():
    shapes = []
    model = ResNet18((3, 32, 32), 10, width=4).eval()
    for block in model.stages:
        block.register_forward_hook(lambda _module, _given, made: shapes.append(tuple(made.shape[1:])))
    model(torch.zeros(1, 3, 32, 32))
    assert shapes == [(4, 32, 32)] * 2 + [(8, 16, 16)] * 2 + [(16, 8, 8)] * 2 + [(32, 4, 4)] * 2


def test_the_same_weights_give_the_same_logits_as_the_reference():
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    ours = ResNet18((3, 32, 32), 10, width=8)
    for module in ours.modules():  # batch-norm that does something
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias)
            torch.nn.init.normal_(module.running_mean)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    config = ResNetConfig(
        num_channels=3, embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[2, 2, 2, 2], layer_type="basic"
    )
    theirs = ResNetModel(config)
    embedder = theirs.embedder.embedder
    embedder.convolution = torch.nn.Conv2d(
        3, 8, 3, padding=1, bias=False
    )  # theirs is for ImageNet: 7x7, stride 2, pool
    theirs.embedder.pooler = torch.nn.Identity()
    embedder.convolution.load_state_dict(ours.stem.state_dict())
    embedder.normalization.load_state_dict(ours.norm.state_dict())
    blocks = [block for stage in theirs.encoder.stages for block in stage.layers]
    for mine, their in zip(ours.stages, blocks, strict=True):
        for number, (conv, norm) in enumerate([(mine.conv1, mine.norm1), (mine.conv2, mine.norm2)]):
            their.layer[number].convolution.load_state_dict(conv.state_dict())
            their.layer[number].normalization.load_state_dict(norm.state_dict())
        if isinstance(mine.shortcut, torch.nn.Sequential):
            their.shortcut.convolution.load_state_dict(mine.shortcut[0].state_dict())
            their.shortcut.normalization.load_state_dict(mine.shortcut[1].state_dict())
    x = torch.randn(2, 3, 32, 32)
    ours.eval(), theirs.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours.features(x), theirs(x).pooler_output.flatten(1), rtol=1e-4, atol=1e-4)


def test_how_convolutions_begin():
    def spread(init):
        torch.manual_seed(0)
        conv = make("resnet18", (3, 32, 32), 10, init=init)().stages[6].conv1  # 256 -> 512 channels
        return conv.weight.std().item()

    assert spread("torch") == pytest.approx((1 / (3 * 256 * 9)) ** 0.5, rel=0.01)
    assert spread("he") == pytest.approx((2 / (512 * 9)) ** 0.5, rel=0.01)
    with pytest.raises(InputError, match="unknown init 'kaiming'"):
        make("resnet18", (3, 32, 32), 10, init="kaiming")


def test_features_are_refused():
    with pytest.raises(InputError, match="resnet18 needs images"):
        make("resnet18", (7,), 10)
