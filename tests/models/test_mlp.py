from __future__ import annotations

import torch

from dissensus.models import MLP


def test_it_is_linear_layers_with_relu() -> None:
    model = MLP((4,), 3, width=8, layers=2)
    first, second = model.trunk[0], model.trunk[2]
    x = torch.randn(6, 4)
    hidden = torch.relu(torch.relu(x @ first.weight.T + first.bias) @ second.weight.T + second.bias)
    torch.testing.assert_close(model.features(x), hidden)


def test_an_item_alone_is_predicted_as_among_others() -> None:
    model = MLP((4,), 3).train()  # nothing in it looks at the batch, so a last batch of one item is no trouble
    x = torch.randn(6, 4)
    torch.testing.assert_close(model(x)[:1], model(x[:1]))
