from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.text import Encoder, find_encoder, tokens
from dissensus.models.text.loading import load_tokenizer


def test_pairs_are_encoded_as_pairs(encoder: Encoder, pairs: Texts) -> None:
    tokenizer = load_tokenizer(encoder)
    found = tokens(pairs, encoder)
    assert found.shape[:2] == (4, 2)
    for row, first, second in zip(found, pairs.first, pairs.second or (), strict=True):
        expected = tokenizer(first, second)
        length = len(expected["input_ids"])
        assert row[0, :length].tolist() == expected["input_ids"]
        assert row[1, :length].tolist() == expected["token_type_ids"]
        assert (row[:, length:] == -1).all()
    assert found.shape[2] == 16  # the longest has 15
    assert tokens(Texts(["a man " * 40]), encoder).shape[2] == 64  # and no more than the encoder takes


def test_single_texts_have_one_part(encoder: Encoder, pairs: Texts) -> None:
    found = tokens(Texts(pairs.first), encoder)
    assert set(found[:, 1].ravel().tolist()) == {0, -1}


def test_of_a_long_pair_the_longer_text_is_cut(encoder: Encoder, pairs: Texts) -> None:
    told: list[str] = []
    found = tokens(Texts(["a man sleeps in the park ."], ["no ."]), encoder, length=8, say=told.append)
    assert told == ["1 of 1 pairs fill 8 tokens, where they are cut."]
    assert found[0, 1].tolist() == [0] * 5 + [1] * 3 + [-1] * 8


def test_a_tokenizer_without_words_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "mine"))
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink()  # what is left makes one that reads every word as unknown, without a word
    with pytest.raises(InputError, match="knows not one word, so all texts would read alike"):
        load_tokenizer(find_encoder(folder))
