"""Texts as the numbers that a transformer takes: pairs as pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.datasets import Texts
from dissensus.models.text.encoder import Encoder
from dissensus.models.text.loading import load_tokenizer


def tokens(texts: Texts, encoder: Encoder, length: int | None = None) -> NDArray[np.int32]:
    """(items, 2, longest): for every place of a text its number in the vocabulary, and which of the two texts it is in.

    -1 where a text is over. Of a pair that is longer than ``length``, the longer text is cut.
    """
    tokenizer = load_tokenizer(encoder)
    found = tokenizer(
        list(texts.first),
        None if texts.second is None else list(texts.second),
        truncation=True,
        max_length=length or encoder.length,
        return_attention_mask=False,
    )
    rows = found["input_ids"]
    parts = found.get("token_type_ids") or [[0] * len(row) for row in rows]
    out = np.full((len(rows), 2, max(map(len, rows))), -1, np.int32)
    for item, (row, part) in enumerate(zip(rows, parts, strict=True)):
        out[item, 0, : len(row)], out[item, 1, : len(row)] = row, part
    return out
