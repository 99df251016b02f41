from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

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


def test_a_bert_says_the_same_of_them_and_learns_the_same(encoder: Encoder) -> None:
    model = model_of(encoder)
    for lengths in ([3, 17, 9, 30, 4, 4, 5], [20, 20], [7], [2, 31]):
        x = texts(lengths)
        found = []
        for batch in (x, packed(x)):
            model.zero_grad()
            logits = model(batch)
            (logits.square().sum() + logits[:, 0].sum()).backward()
            found.append([logits.detach(), *(parameter.grad for parameter in model.parameters())])
        assert found[0][0].std() > 0.01
        for padded, ours in zip(*found, strict=True):
            torch.testing.assert_close(ours, padded, atol=1e-4, rtol=1e-4)


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
