from __future__ import annotations

from itertools import cycle

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from dissensus.base.streams import stream
from dissensus.models.text import Encoder, FineTuned, FineTuning
from dissensus.models.text.packing import pack


def texts(lengths: list[int], places: int | None = None, seed: int = 0) -> Tensor:
    """Tokens of texts of these lengths."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.full((len(lengths), 2, places or max(lengths)), -1, dtype=torch.int32)
    for item, length in enumerate(lengths):
        x[item, 0, :length] = torch.randint(5, 20, (length,), generator=draw)
        x[item, 1, :length] = torch.randint(0, 2, (length,), generator=draw)
    return x


def packed(x: Tensor) -> Tensor:
    lengths = (x[:, 0] >= 0).sum(1)
    return pack(x, int(lengths.max()), int(lengths.sum()))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(0, 30))
def test_every_token_is_there_once_and_knows_its_place(lengths: list[int], more: int) -> None:
    x = texts(lengths, max(lengths) + more)
    found = packed(x)
    items, _, half = found.shape
    length = 2 * half
    assert length % 16 == 0
    assert length < max(max(lengths), 2 * sum(lengths) / items) + 16
    number, part, place = found.transpose(0, 1).flatten(1)
    assert len(place.unique()) == len(place)  # those of empty places, too: nothing is written twice
    back = torch.full((2, items * length), -1, dtype=torch.int32)
    back[:, place.long()] = torch.stack([number, part])
    back = back.view(2, items, length).transpose(0, 1)
    width = min(length, x.shape[2])
    assert torch.equal(back[:, :, :width], x[:, :, :width])
    assert (back[:, :, width:] == -1).all()


def model_of(encoder: Encoder) -> FineTuned:
    torch.manual_seed(0)
    return FineTuning(encoder, 3)().eval()


def learned(model: FineTuned, x: Tensor) -> list[Tensor]:
    """Logits, and the gradient of every parameter."""
    logits = model(x)
    return [logits.detach(), *torch.autograd.grad(logits.square().sum() + logits[:, 0].sum(), list(model.parameters()))]


LENGTHS = ([3, 17, 9, 30, 4, 4, 5], [20, 20], [7], [2, 31], [1, 1, 1], [64], [64, 60, 64], [1] * 15 + [64])


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("dtype", "exact"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_a_bert_says_the_same_of_them_and_learns_the_same(
    encoder: Encoder, lengths: list[int], dtype: torch.dtype, exact: float
) -> None:
    """As transformers has it, with its own mask; wherever the padding goes and whatever else is in the batch."""
    model, x = model_of(encoder).to(dtype), texts(lengths)
    model.graphable = False
    expected = learned(model, x)
    assert expected[0].std() > 0.01
    for ours, theirs in zip(learned(model, packed(x)), expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=exact, rtol=exact)


def drawn(site: str, *shape: int) -> Tensor:
    return torch.from_numpy(stream(0, site).random(shape))


class ByPlace(nn.Module):
    """Dropout that is drawn for a text, a place in it and a unit, wherever in a batch ``place`` has put them."""

    def __init__(self, site: str, rate: float, place: Tensor, length: int) -> None:
        super().__init__()
        self.site, self.rate, self.place, self.length = site, rate, place, length

    def forward(self, state: Tensor) -> Tensor:
        draws = drawn(self.site, 4, 64, state.shape[-1])
        if state.ndim == 3:
            draws = draws[:, : state.shape[1]]
        else:
            draws = draws[:, 0] if len(state) == 4 else draws[self.place // self.length, self.place % self.length]
        return state * (draws >= self.rate) / (1 - self.rate)


def test_dropout_is_at_the_same_sites_with_the_same_rates(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its draws go with texts and places instead of rows, the two ways learn the same under it, too."""
    model, x, layers = model_of(encoder).double(), texts([3, 17, 9, 30]), cycle("01")
    still, end_to_end = model(x), packed(x)
    place = end_to_end.transpose(0, 1).flatten(1)[2].long()
    for number, (name, module) in enumerate(list(model.net.named_modules())):
        if isinstance(module, nn.Dropout):
            module.p = number / 100  # no two rates are the same
            if not name.endswith("attention.self.dropout"):
                model.net.set_submodule(name, ByPlace(name, module.p, place, 2 * end_to_end.shape[2]))

    def attention(query, key, value, attn_mask, dropout_p, **options) -> Tensor:
        scores = (query @ key.transpose(2, 3) / query.shape[3] ** 0.5).masked_fill(~attn_mask, -torch.inf)
        draws = drawn(f"attention {next(layers)}", 4, 2, 64, 64)[:, :, : scores.shape[2], : scores.shape[3]]
        return scores.softmax(3) * (draws >= dropout_p) / (1 - dropout_p) @ value

    monkeypatch.setattr(F, "scaled_dot_product_attention", attention)
    model.train()
    padded, ours = learned(model, x), learned(model, end_to_end)
    assert not torch.allclose(padded[0], still, atol=0.01)
    for one, other in zip(ours, padded, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_a_recorded_step_is_right_for_other_texts_of_its_shape(encoder: Encoder) -> None:
    """As in a CUDA graph: the operations of one batch, with no number of it, applied to another."""
    model, first = model_of(encoder), texts([3, 17, 9, 30], 32)
    recorded = make_fx(lambda x: learned(model, x))(packed(first))
    for lengths in ([32, 1, 1, 1], [16, 16, 16, 16], [2, 5, 31, 4]):
        x = texts(lengths, 32, seed=1)
        assert packed(x).shape == packed(first).shape
        for ours, theirs in zip(recorded(packed(x)), learned(model, x), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_features_are_the_same(encoder: Encoder) -> None:
    x, model = texts([3, 17, 9, 30]), model_of(encoder)
    torch.testing.assert_close(model.features(packed(x)), model.features(x), atol=1e-5, rtol=1e-4)


def test_texts_that_fill_the_encoder_need_no_places_that_it_lacks(encoder: Encoder) -> None:
    x, model = texts([64, 60, 64]), model_of(encoder)
    assert 2 * packed(x).shape[2] > encoder.most
    torch.testing.assert_close(model(packed(x)), model(x), atol=1e-4, rtol=1e-4)


def test_dropout_is_drawn_in_training_only(encoder: Encoder) -> None:
    x, model = packed(texts([3, 17, 9, 30])), model_of(encoder)
    assert torch.equal(model(x), model(x))
    model.train()
    assert not torch.equal(model(x), model(x))
