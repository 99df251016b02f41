"""Features of texts from a frozen encoder, computed once and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from dissensus.base.arrays import UNREADABLE
from dissensus.base.errors import InputError, StoreError, unknown
from dissensus.base.files import one_at_a_time, written_whole
from dissensus.datasets import Texts, data_folder
from dissensus.models.text.encoder import Encoder
from dissensus.models.text.loading import load_model, load_tokenizer
from dissensus.models.text.tokens import Say, numbers

Vectors: TypeAlias = NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], object]

VERSION = 1  # of what the cache holds
BATCH = 32  # texts; of the same length, so that almost nothing is padding

POOLINGS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mean": lambda states, real: (states * real).sum(1) / real.sum(1),
    "cls": lambda states, real: states[:, 0],
    "max": lambda states, real: states.masked_fill(real == 0, -torch.inf).amax(1),
}


def sentence_features(
    texts: Texts,
    encoder: Encoder,
    *,
    pooling: str | None = None,
    unit: bool | None = None,
    length: int | None = None,
    progress: Progress = lambda done, of: None,
    say: Say = lambda line: None,
) -> Vectors:
    """What a head is trained on: :math:`u` for a text, :math:`[u, v, |u - v|, u \\cdot v]` for a pair, a row an item.

    A text's vector is pooled from its tokens as the encoder's publisher documents, unless said otherwise. Vectors are
    kept in the cache of the data folder, under a name made of the content of texts and encoder and of the options; what
    is damaged there is computed again, and ``say`` is told. ``progress`` is given how many of how many texts are done.
    """
    pooling = encoder.pooling if pooling is None else pooling
    if pooling not in POOLINGS:
        raise InputError(unknown("pooling", pooling, POOLINGS))
    options = {
        "pooling": pooling,
        "unit": encoder.unit if unit is None else unit,
        "length": encoder.length if length is None else length,
    }
    path = cache_file(texts, encoder, **options)
    found = _kept(path, texts, say)
    if found is None:
        with one_at_a_time(path):  # workers of a sweep start together
            found = _kept(path, texts, lambda line: None)
            if found is None:
                found = _computed(texts, encoder, progress, say, **options)
                _keep(path, found, say)
    return combined(found["first"], found.get("second"))


def combined(u: Vectors, v: Vectors | None = None) -> Vectors:
    r"""One row an item: :math:`u`, or for pairs :math:`[u, v, |u - v|, u \cdot v]` (Conneau et al., EMNLP 2017).

    >>> combined(np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 1.0]], np.float32))
    array([[1., 2., 3., 1., 2., 1., 3., 2.]], dtype=float32)
    """
    return u if v is None else np.concatenate([u, v, abs(u - v), u * v], axis=1)


def cache_file(texts: Texts, encoder: Encoder, **options: Any) -> Path:
    """Where the vectors of these texts lie, or would lie."""
    content = json.dumps([VERSION, texts.digest(), encoder.digest, options], sort_keys=True)
    return data_folder() / "cache" / f"texts-{hashlib.sha256(content.encode()).hexdigest()[:32]}.npz"


def encode(
    texts: Sequence[str],
    encoder: Encoder,
    *,
    pooling: str,
    unit: bool,
    length: int,
    progress: Progress = lambda done, of: None,
    say: Say = lambda line: None,
) -> Vectors:
    """A vector a text, (texts, width), in fp32, on the GPU where there is one."""
    tokenizer, model = load_tokenizer(encoder), load_model("AutoModel", encoder).eval()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    ids = numbers(tokenizer, texts, None, length, say)["input_ids"]
    order = sorted(range(len(ids)), key=lambda text: len(ids[text]))
    rows = []
    for first in range(0, len(order), BATCH):
        batch = tokenizer.pad({"input_ids": [ids[text] for text in order[first : first + BATCH]]}, return_tensors="pt")
        with torch.inference_mode():
            states = model(**batch.to(device)).last_hidden_state
            vectors = POOLINGS[pooling](states, batch["attention_mask"][:, :, None].to(states.dtype))
            rows.append(torch.nn.functional.normalize(vectors) if unit else vectors)
        progress(min(first + BATCH, len(order)), len(order))
    out = np.empty((len(order), rows[0].shape[1]), np.float32)
    out[order] = torch.cat(rows).cpu().numpy()
    return out


def _computed(texts: Texts, encoder: Encoder, progress: Progress, say: Say, **options: Any) -> dict[str, Vectors]:
    """Every text once: many pairs share a premise."""
    sides = {"first": texts.first} | ({} if texts.second is None else {"second": texts.second})
    place = {
        text: number for number, text in enumerate(dict.fromkeys(text for side in sides.values() for text in side))
    }
    vectors = encode(list(place), encoder, progress=progress, say=say, **options)
    return {name: vectors[[place[text] for text in side]] for name, side in sides.items()}


def _keep(path: Path, found: dict[str, Vectors], say: Say) -> None:
    try:
        with written_whole(path) as part:
            np.savez(part, allow_pickle=False, **found)
    except StoreError as error:
        say(f"the features of the texts are not kept, and will be computed again: {error}")


def _kept(path: Path, texts: Texts, say: Say) -> dict[str, Vectors] | None:
    if not path.exists():
        return None
    sides = ["first", "second"] if texts.pairs else ["first"]
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in sides}
        if all(side.ndim == 2 and len(side) == len(texts) and np.isfinite(side).all() for side in found.values()):
            return found
        reason = "it holds something else"
    except UNREADABLE as error:
        reason = str(error)
    say(f"{path} is damaged ({reason}); the features of the texts are computed again.")
    return None
