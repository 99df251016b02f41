"""Texts as the numbers that a transformer takes: pairs as pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.datasets import Texts
from dissensus.models.text.encoder import Encoder
from dissensus.models.text.loading import load_tokenizer

Say: TypeAlias = Callable[[str], object]


def tokens(
    texts: Texts, encoder: Encoder, length: int | None = None, say: Say = lambda line: None
) -> NDArray[np.int32]:
    """(items, 2, places): for every place of a text its number in the vocabulary, and which of the two texts it is in.

    As many places as the longest takes, up to a multiple of 16, by which a GPU reads faster; -1 where a text is over.
    Of a pair that is longer than ``length``, the longer text is cut; ``say`` is told how many.
    """
    found = numbers(load_tokenizer(encoder), texts.first, texts.second, length or encoder.length, say)
    rows = found["input_ids"]
    parts = found.get("token_type_ids") or [[0] * len(row) for row in rows]
    places = min(-(-max(map(len, rows)) // 16) * 16, encoder.most)
    out = np.full((len(rows), 2, places), -1, np.int32)
    for item, (row, part) in enumerate(zip(rows, parts, strict=True)):
        out[item, 0, : len(row)], out[item, 1, : len(row)] = row, part
    return out


def numbers(
    tokenizer: Any, first: Sequence[str], second: Sequence[str] | None, length: int, say: Say
) -> dict[str, list[list[int]]]:
    """What a tokenizer gives, cut at ``length``; and a line of how many texts that concerns."""
    found = tokenizer(
        list(first),
        None if second is None else list(second),
        truncation=True,
        max_length=length,
        return_attention_mask=False,
    )
    if full := sum(len(row) >= length for row in found["input_ids"]):
        say(
            f"{full} of {len(first)} {'texts' if second is None else 'pairs'} fill {length} tokens, where they are cut."
        )
    return found
